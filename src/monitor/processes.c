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

enum { PIDS_MAX = 4096, MEMFILES_MAX = 1024, TMPFS = 0x01021994 };

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
        unsigned long long user, system, waited_user, waited_system, threads, started;
        long long pages;
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
                              " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu "
                              "%*d %*d %llu %*d %llu %*u %lld",
                              &ret->user, &ret->system, &ret->waited_user, &ret->waited_system,
                              &ret->threads, &ret->started, &ret->pages) == 7;
}

static void add_process(struct accounts *accounts, int proc, long pid, struct totals *totals)
{
        uint64_t us_per_tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
        struct process_numbers numbers;

        if (!read_process(proc, pid, &numbers))
                return; /* it has ended meanwhile */
        totals->cpu_us +=
                (numbers.user + numbers.system + numbers.waited_user + numbers.waited_system) *
                us_per_tick;
        totals->memory +=
                numbers.pages > 0 ? (uint64_t)numbers.pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
        totals->processes += (uint32_t)numbers.threads;
        account(accounts, pid, numbers.started, (numbers.user + numbers.system) * us_per_tick);
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

/* Page tables are memory too, and grow without any page being resident. */
static uint64_t page_table_bytes(int proc, long pid)
{
        char path[32], text[4096];
        const char *line;
        unsigned long long kib;

        (void)snprintf(path, sizeof(path), "%ld/status", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return 0;
        line = strstr(text, "\nVmPTE:");
        return line && sscanf(line + 7, "%llu", &kib) == 1 ? kib * 1024 : 0;
}

/* Proportional memory of one process: shared pages count by their share. False: not to be read. */
static bool read_shares(int proc, long pid, uint64_t *ret_all, uint64_t *ret_shared_files)
{
        char path[48], text[2048];
        const char *line;
        unsigned long long all, shared;

        (void)snprintf(path, sizeof(path), "%ld/smaps_rollup", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return false;
        line = strstr(text, "\nPss:");
        if (!line || sscanf(line + 5, "%llu", &all) != 1)
                return false;
        line = strstr(text, "\nPss_Shmem:");
        if (!line || sscanf(line + 11, "%llu", &shared) != 1)
                shared = 0;
        *ret_all = all * 1024;
        *ret_shared_files = shared * 1024;
        return true;
}

/* Files that exist only because a process holds them open, counted once each: memory files, which
 * need not be mapped to fill memory, or files of a disk that were removed, which no walk of the
 * tree finds. */
struct memfiles {
        bool on_disk; /* the second kind */
        struct {
                dev_t device;
                ino_t inode;
        } seen[MEMFILES_MAX];
        size_t count;
        uint64_t bytes;
};

static void add_memfile(struct memfiles *files, const struct stat *st)
{
        for (size_t i = 0; i < files->count; i++)
                if (files->seen[i].device == st->st_dev && files->seen[i].inode == st->st_ino)
                        return;
        if (files->count < MEMFILES_MAX) {
                files->seen[files->count].device = st->st_dev;
                files->seen[files->count++].inode = st->st_ino;
        }
        files->bytes += (uint64_t)st->st_blocks * 512;
}

static void add_memfiles(int proc, long pid, struct memfiles *files)
{
        char path[32], link[64];
        int fd;
        DIR *dir;
        struct dirent *entry;

        (void)snprintf(path, sizeof(path), "%ld/fd", pid);
        fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!dir) {
                fd_close(fd);
                return;
        }
        while ((entry = readdir(dir))) {
                ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link));
                bool is_memory = n > 7 && memcmp(link, "/memfd:", 7) == 0;
                struct stat st;

                if (n <= 0 || link[0] != '/' || is_memory == files->on_disk ||
                    fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
                        continue;
                if (is_memory || (S_ISREG(st.st_mode) && st.st_nlink == 0))
                        add_memfile(files, &st);
        }
        (void)closedir(dir);
}

static uint64_t filesystem_used(int fd)
{
        struct statfs fs;

        if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS)
                return 0;
        return ((uint64_t)fs.f_blocks - (uint64_t)fs.f_bfree) * (uint64_t)fs.f_bsize;
}

/* Exact, and dearer: only asked for when the plain sum is over the limit. */
static uint64_t sum_shares(int proc, const long *pids, size_t count, const struct memfiles *files,
                           uint64_t fallback)
{
        uint64_t plain = 0, shared = 0;

        for (size_t i = 0; i < count; i++) {
                uint64_t all, part;

                if (!read_shares(proc, pids[i], &all, &part)) {
                        if (errno == EACCES || errno == EPERM)
                                return fallback;
                        continue;
                }
                plain += all - part;
                shared += part;
        }
        return plain + (shared > files->bytes ? shared : files->bytes);
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

struct totals processes_sum(struct watch *watch)
{
        AUTO_CLOSE int host_proc = open_host_proc(watch->run);
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        AUTO_FREE struct memfiles *files = mem_alloc(sizeof(*files));
        struct totals totals = { 0 };
        uint64_t used = filesystem_used(watch->run->workspace_fd), accounted;
        size_t count;
        int proc;

        if (!watch->accounts)
                watch->accounts = mem_alloc(sizeof(*watch->accounts));
        if (!pids || !files || !watch->accounts)
                return totals;
        count = list_processes(watch->run, host_proc, pids, &proc);
        for (size_t i = 0; i < count; i++) {
                add_process(watch->accounts, proc, pids[i], &totals);
                if (watch->sums_memory) {
                        used += page_table_bytes(proc, pids[i]);
                        add_memfiles(proc, pids[i], files);
                }
        }
        accounted = settle_accounts(watch->accounts);
        if (accounted > totals.cpu_us)
                totals.cpu_us = accounted;
        if (totals.processes > 0)
                totals.processes--; /* the keeper is ours */
        totals.memory += used + files->bytes;
        if (watch->sums_memory && totals.memory > watch->order->memory_bytes)
                totals.memory = used + sum_shares(proc, pids, count, files, totals.memory);
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

uint64_t processes_unlinked_bytes(const struct watch *watch)
{
        AUTO_CLOSE int host_proc = open_host_proc(watch->run);
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        AUTO_FREE struct memfiles *files = mem_alloc(sizeof(*files));
        size_t count;
        int proc;

        if (!pids || !files)
                return 0;
        files->on_disk = true;
        count = list_processes(watch->run, host_proc, pids, &proc);
        for (size_t i = 0; i < count; i++)
                add_memfiles(proc, pids[i], files);
        return files->bytes;
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
                if (pids[i] != 1 && pids[i] != watch->run->keeper_pid) /* the keeper is ours */
                        add_io(proc, pids[i], ret_read, ret_written);
}
