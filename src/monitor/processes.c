/*
 * What the processes of a run use, summed over them where no control group counts it: all of the
 * guest's /proc, or the tree below the keeper of a local run. The guest can make this dear but not
 * wrong: what it cannot see is said in the result (src/engine/limits.c).
 */
#include "monitor/watch.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { PIDS_MAX = MONITOR_PROCESSES_MAX + 96, EXACT_LOOKS = 3, TMPFS = 0x01021994 };

/* What is known of one process from the last look: its own CPU time goes into the total when it is
 * gone, because a child that nobody waited for is in nobody's account. */
struct account {
        long pid;
        uint64_t started, cpu_us;
        bool is_there;
};

struct accounts {
        struct account items[PIDS_MAX];
        size_t count;
        uint64_t gone_us;
};

static void account(struct accounts *accounts, long pid, uint64_t started, uint64_t cpu_us)
{
        size_t i = 0;

        while (i < accounts->count &&
               (accounts->items[i].pid != pid || accounts->items[i].started != started))
                i++;
        if (i == PIDS_MAX)
                return;
        if (i == accounts->count)
                accounts->count++;
        accounts->items[i] = (struct account){ pid, started, cpu_us, true };
}

/* Closes the accounts of those that are gone, and starts the next round. All of it, in
 * microseconds. */
static uint64_t settle_accounts(struct accounts *accounts)
{
        uint64_t total = 0;
        size_t kept = 0;

        for (size_t i = 0; i < accounts->count; i++) {
                struct account *item = &accounts->items[i];

                if (!item->is_there) {
                        accounts->gone_us += item->cpu_us;
                        continue;
                }
                total += item->cpu_us;
                accounts->items[kept] = *item;
                accounts->items[kept++].is_there = false;
        }
        accounts->count = kept;
        return total + accounts->gone_us;
}

struct process_numbers {
        char state;
        unsigned long long user, system, waited_user, waited_system, threads, started;
};

/* Numbers of the line after the process's name, which may itself hold blanks and brackets. */
static bool read_process(int proc, long pid, struct process_numbers *ret)
{
        char path[32], text[1024], *rest;

        (void)snprintf(path, sizeof(path), "%ld/stat", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return false;
        rest = strrchr(text, ')');
        return rest && sscanf(rest + 1,
                              " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu "
                              "%*d %*d %llu %*d %llu",
                              &ret->state, &ret->user, &ret->system, &ret->waited_user,
                              &ret->waited_system, &ret->threads, &ret->started) == 7;
}

static bool has_ended(const struct process_numbers *numbers)
{
        return numbers->state == 'Z' || numbers->state == 'X';
}

/* A process whose first thread has ended shows nothing but its times: its memory and descriptors
 * are seen through a thread that lives; 0 where there is none. */
static long living_thread(int proc, long pid, const struct process_numbers *numbers)
{
        char path[32];
        int fd;
        DIR *dir;
        struct dirent *entry;
        long found = 0;

        if (!has_ended(numbers))
                return pid;
        (void)snprintf(path, sizeof(path), "%ld/task", pid);
        fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!dir) {
                fd_close(fd);
                return 0;
        }
        while (!found && (entry = readdir(dir))) {
                struct process_numbers thread;
                long id = atol(entry->d_name);

                /* A thread is found beside the processes, though it is not listed there. */
                if (id > 0 && id != pid && read_process(dirfd(dir), id, &thread) &&
                    !has_ended(&thread))
                        found = id;
        }
        (void)closedir(dir);
        return found;
}

/* Returns where its memory is to be looked up, or 0. */
static long add_process(struct accounts *accounts, int proc, long pid, struct totals *totals)
{
        uint64_t us_per_tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
        struct process_numbers numbers;

        if (!read_process(proc, pid, &numbers))
                return 0; /* it has ended meanwhile */
        totals->cpu_us +=
                (numbers.user + numbers.system + numbers.waited_user + numbers.waited_system) *
                us_per_tick;
        totals->processes += (uint32_t)numbers.threads;
        account(accounts, pid, numbers.started, (numbers.user + numbers.system) * us_per_tick);
        return living_thread(proc, pid, &numbers);
}

static size_t list_all(int proc, long *pids)
{
        int copy = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        size_t count = 0;

        if (!dir) {
                fd_close(copy);
                return 0;
        }
        while ((entry = readdir(dir)) && count < PIDS_MAX)
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
                        pids[count++] = atol(entry->d_name);
        (void)closedir(dir);
        return count;
}

/* Adds the children of every thread of a process. */
static size_t list_children(int proc, long parent, long *pids, size_t count)
{
        char path[64], text[16384];
        int fd;
        DIR *dir;
        struct dirent *entry;

        (void)snprintf(path, sizeof(path), "%ld/task", parent);
        fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!dir) {
                fd_close(fd);
                return count;
        }
        while ((entry = readdir(dir))) {
                char *next = text;

                (void)snprintf(path, sizeof(path), "%.20s/children", entry->d_name);
                if (entry->d_name[0] == '.' ||
                    fd_read_file_at(dirfd(dir), path, text, sizeof(text)) <= 0)
                        continue;
                for (long pid; count < PIDS_MAX && (pid = strtol(next, &next, 10)) > 0;)
                        pids[count++] = pid;
        }
        (void)closedir(dir);
        return count;
}

static size_t list_tree(int proc, long root, long *pids)
{
        size_t count = 0;

        pids[count++] = root;
        for (size_t i = 0; i < count; i++)
                count = list_children(proc, pids[i], pids, count);
        return count;
}

/* The run's own file system in memory, where it has one: what it holds. */
static uint64_t filesystem_used(int fd, dev_t *ret_device)
{
        struct statfs fs;
        struct stat st;

        if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS || fstat(fd, &st) < 0)
                return 0;
        *ret_device = st.st_dev;
        return ((uint64_t)fs.f_blocks - (uint64_t)fs.f_bfree) * (uint64_t)fs.f_bsize;
}

/* The processes of the run: the count, in `pids`; `ret_proc` is where they are looked up,
 * `host_proc` an open /proc of the host that is used where the run has none of its own. */
static size_t list_processes(const struct run *run, int host_proc, long *pids, int *ret_proc)
{
        *ret_proc = run->proc_fd >= 0 ? run->proc_fd : host_proc;
        if (*ret_proc < 0)
                return 0;
        return run->proc_fd >= 0 ? list_all(*ret_proc, pids)
                                 : list_tree(*ret_proc, run->keeper_pid, pids);
}

static int open_host_proc(const struct run *run)
{
        return run->proc_fd < 0 ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static bool is_keeper(const struct run *run, long pid)
{
        return run->proc_fd >= 0 ? pid == 1 : pid == run->keeper_pid;
}

/* The sum over processes that are not ours. Exact is dearer: only asked for when the plain sum is
 * over the limit; and again when it is, for a process that lets go of a file while it is looked at
 * is seen with it and without it. Where something is held that cannot be seen, and not for a moment
 * only, all that the machine's shared memory grew by counts: who closes himself to us cannot ask to
 * be told apart.
 */
static uint64_t sum_memory(struct watch *watch, int proc, const long *pids, size_t count)
{
        AUTO_FREE struct held *held = mem_alloc(sizeof(*held));
        uint64_t files, unseen = 0;
        struct memory memory;

        if (!held)
                return 0;
        files = filesystem_used(watch->run->workspace_fd, &held->memory_device);
        for (size_t i = 0; i < count; i++)
                held_add(held, proc, pids[i]);
        files += held->bytes;
        watch->memory_unseen = held->has_unseen ? watch->memory_unseen + 1 : 0;
        if (watch->memory_unseen >= MONITOR_UNSEEN_LOOKS)
                unseen = watch_less(memory_shared_by_all(), watch->shared_before + files);
        memory = memory_plain(proc, pids, count);
        for (int look = 0;
             look < EXACT_LOOKS && files + memory.own + memory.shared > watch->order->memory_bytes;
             look++)
                memory = memory_exact(proc, pids, count, held);
        return files + memory.own + (memory.shared > unseen ? memory.shared : unseen);
}

struct totals processes_sum(struct watch *watch)
{
        AUTO_CLOSE int host_proc = open_host_proc(watch->run);
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        struct totals totals = { 0 };
        uint64_t accounted;
        size_t count, others = 0;
        int proc;

        if (!watch->accounts)
                watch->accounts = mem_alloc(sizeof(*watch->accounts));
        if (!pids || !watch->accounts)
                return totals;
        count = list_processes(watch->run, host_proc, pids, &proc);
        for (size_t i = 0; i < count; i++) {
                bool is_ours = is_keeper(watch->run, pids[i]);
                long id = add_process(watch->accounts, proc, pids[i], &totals);

                if (!is_ours && id)
                        pids[others++] = id;
        }
        accounted = settle_accounts(watch->accounts);
        if (accounted > totals.cpu_us)
                totals.cpu_us = accounted;
        if (totals.processes > 0)
                totals.processes--; /* the keeper is ours */
        totals.memory = watch->sums_memory ? sum_memory(watch, proc, pids, others)
                                           : cgroup_memory_now(&watch->run->group);
        return totals;
}

uint32_t processes_count(const struct watch *watch)
{
        AUTO_CLOSE int host_proc = open_host_proc(watch->run);
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        uint32_t threads = 0;
        size_t count;
        int proc;

        if (!pids)
                return UINT32_MAX; /* rather refuse one too many */
        count = list_processes(watch->run, host_proc, pids, &proc);
        for (size_t i = 0; i < count; i++) {
                struct process_numbers numbers;

                if (read_process(proc, pids[i], &numbers))
                        threads += (uint32_t)numbers.threads;
        }
        return threads > 0 ? threads - 1 : 0; /* the keeper is ours */
}

void processes_hold(const struct watch *watch, struct held *held)
{
        AUTO_CLOSE int host_proc = open_host_proc(watch->run);
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        size_t count;
        int proc;

        if (!pids)
                return;
        count = list_processes(watch->run, host_proc, pids, &proc);
        for (size_t i = 0; i < count; i++) {
                struct process_numbers numbers;
                long id = 0;

                if (!is_keeper(watch->run, pids[i]) && read_process(proc, pids[i], &numbers))
                        id = living_thread(proc, pids[i], &numbers);
                if (id)
                        held_add(held, proc, id);
        }
}

/* What one process moved by its calls; none where we may not look. */
static void add_io(int proc, long pid, uint64_t *read_bytes, uint64_t *written)
{
        char path[32], text[512];
        const char *at;

        (void)snprintf(path, sizeof(path), "%ld/io", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return;
        at = strstr(text, "rchar: ");
        *read_bytes += at ? strtoull(at + 7, NULL, 10) : 0;
        at = strstr(text, "wchar: ");
        *written += at ? strtoull(at + 7, NULL, 10) : 0;
}

void processes_io(const struct watch *watch, uint64_t *ret_read, uint64_t *ret_written)
{
        AUTO_CLOSE int host_proc = open_host_proc(watch->run);
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        size_t count = 0;
        int proc = -1;

        *ret_read = *ret_written = 0;
        if (pids)
                count = list_processes(watch->run, host_proc, pids, &proc);
        for (size_t i = 0; i < count; i++)
                if (!is_keeper(watch->run, pids[i])) /* ours */
                        add_io(proc, pids[i], ret_read, ret_written);
}
