/*
 * Samples: what the run uses now. Control groups count it for us; where there are none, this sums
 * over the processes: all of the guest's /proc, or the tree below the keeper of a local run.
 */
#include "monitor/watch.h"
#include "base/clock.h"
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

enum { PIDS_MAX = 4096, MEMFILES_MAX = 1024, TREE_ENTRIES_MAX = 200000, TREE_DEPTH_MAX = 32 };

struct totals {
        uint64_t memory;
        uint64_t cpu_us;
        uint32_t processes;
};

/* Numbers of the line after the process's name, which may itself hold blanks and brackets. */
static bool add_process(int proc, long pid, struct totals *totals)
{
        char path[32], text[1024], *rest;
        unsigned long long user, system, waited_user, waited_system, threads;
        long long pages;
        long ticks = sysconf(_SC_CLK_TCK);

        (void)snprintf(path, sizeof(path), "%ld/stat", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return false;
        rest = strrchr(text, ')');
        if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu "
                                      "%*d %*d %llu %*d %*u %*u %lld",
                            &user, &system, &waited_user, &waited_system, &threads, &pages) != 6)
                return false;
        totals->cpu_us += (user + system + waited_user + waited_system) * 1000000 / (uint64_t)ticks;
        totals->memory += pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
        totals->processes += (uint32_t)threads;
        return true;
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

static size_t list_tree(int proc, long root, long *pids)
{
        size_t count = 0;

        pids[count++] = root;
        for (size_t i = 0; i < count; i++) {
                char path[64], text[4096], *next = text;

                (void)snprintf(path, sizeof(path), "%ld/task/%ld/children", pids[i], pids[i]);
                if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                        continue;
                for (long pid; count < PIDS_MAX && (pid = strtol(next, &next, 10)) > 0;)
                        pids[count++] = pid;
        }
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

/* Memory files that a process holds open, counted once each: they need not be mapped to fill memory. */
struct memfiles {
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
                struct stat st;

                if (n > 7 && memcmp(link, "/memfd:", 7) == 0 && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
                        add_memfile(files, &st);
        }
        (void)closedir(dir);
}

static uint64_t filesystem_used(int fd)
{
        struct statfs fs;

        if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != 0x01021994 /* tmpfs */)
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

static struct totals sum_processes(struct watch *watch)
{
        struct run *run = watch->run;
        AUTO_CLOSE int host_proc = run->proc_fd < 0 ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        int proc = run->proc_fd >= 0 ? run->proc_fd : host_proc;
        AUTO_FREE long *pids = mem_alloc(PIDS_MAX * sizeof(*pids));
        AUTO_FREE struct memfiles *files = mem_alloc(sizeof(*files));
        struct totals totals = { 0 };
        uint64_t used = filesystem_used(run->workspace_fd);
        size_t count;

        if (!pids || !files || proc < 0)
                return totals;
        count = run->proc_fd >= 0 ? list_all(proc, pids) : list_tree(proc, run->keeper_pid, pids);
        for (size_t i = 0; i < count; i++) {
                (void)add_process(proc, pids[i], &totals); /* it may have ended meanwhile */
                if (watch->sums_memory) {
                        used += page_table_bytes(proc, pids[i]);
                        add_memfiles(proc, pids[i], files);
                }
        }
        if (totals.processes > 0)
                totals.processes--; /* the keeper is ours */
        totals.memory += used + files->bytes;
        if (watch->sums_memory && totals.memory > watch->order->memory_bytes)
                totals.memory = used + sum_shares(proc, pids, count, files, totals.memory);
        return totals;
}

static struct totals read_group(const struct watch *watch)
{
        const struct cgroup *group = &watch->run->group;
        uint64_t processes = cgroup_processes_now(group);

        return (struct totals){ cgroup_memory_now(group), cgroup_cpu_us(group),
                                processes > 1 ? (uint32_t)processes - 1 : 0 };
}

/* The sooner the nearer the CPU limit is; often where this is what enforces memory. */
static uint64_t next_sample(const struct watch *watch, uint64_t now)
{
        uint64_t limit_us = watch->order->cpu_time_ms * 1000;
        uint64_t left_us = limit_us > watch->cpu_us ? limit_us - watch->cpu_us : 0;
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        uint64_t wait_us = left_us / (uint64_t)(cpus > 0 ? cpus : 1);
        bool often = watch->sums_memory || watch->sums_processes || watch->order->disk_is_counted;
        uint64_t most_us = (often ? MONITOR_SHORT_SAMPLE_MS : MONITOR_SAMPLE_MS) * 1000;

        if (wait_us > most_us)
                wait_us = most_us;
        if (wait_us < 1000)
                wait_us = 1000;
        return now + wait_us * 1000;
}

bool sample_disk_is_over(struct watch *watch)
{
        uint64_t before = clock_now_ns(), bytes;

        if (!watch->order->disk_is_counted)
                return false;
        bytes = sample_workspace_bytes(watch->run->workspace_fd);
        /* Measuring a large tree takes time: a tenth of ours at the most goes into it. */
        watch->disk_ns = before + (clock_now_ns() - before) * 10;
        return bytes > watch->disk_before + watch->order->disk_bytes;
}

static void judge(struct watch *watch, const struct totals *totals)
{
        const struct monitor_order *order = watch->order;

        if (watch->sums_memory && totals->memory > order->memory_bytes)
                watch_end(watch, OUTCOME_MEMORY_LIMIT, false);
        else if (watch->sums_processes && totals->processes > order->processes)
                watch_end(watch, OUTCOME_PROCESS_LIMIT, false);
        else if (totals->cpu_us >= order->cpu_time_ms * 1000)
                watch_end(watch, OUTCOME_CPU_LIMIT, false);
        else if (cgroup_memory_kills(&watch->run->group) > 0)
                watch_end(watch, OUTCOME_MEMORY_LIMIT, false);
        else if (clock_now_ns() >= watch->disk_ns && sample_disk_is_over(watch))
                watch_end(watch, OUTCOME_DISK_LIMIT, false);
}

void sample_take(struct watch *watch, uint64_t now)
{
        bool has_group = !watch->sums_memory && !watch->sums_processes &&
                         watch->run->group.dir_fds[CGROUP_CPUACCT] >= 0;
        struct totals totals = has_group ? read_group(watch) : sum_processes(watch);

        if (totals.memory > watch->memory_peak)
                watch->memory_peak = totals.memory;
        if (totals.processes > watch->processes_peak)
                watch->processes_peak = totals.processes;
        if (totals.cpu_us > watch->cpu_us)
                watch->cpu_us = totals.cpu_us;
        judge(watch, &totals);
        if (now >= watch->usage_ns && watch->order->listener.usage) {
                watch->order->listener.usage(watch->order->listener.context, totals.memory, totals.cpu_us,
                                             totals.processes);
                watch->usage_ns += MONITOR_SAMPLE_MS * UINT64_C(1000000);
        }
        watch->sample_ns = next_sample(watch, now);
}

bool sample_may_fork(void *context)
{
        struct watch *watch = context;
        uint32_t now = sum_processes(watch).processes;

        if (now > watch->processes_peak)
                watch->processes_peak = now;
        if (now < watch->order->processes)
                return true;
        watch->refusals++;
        return false;
}

/* Bytes below a directory that a guest may be changing: no link followed, no other file system. */
static uint64_t tree_bytes(int dirfd, int depth, unsigned *entries)
{
        int copy = sys_openat2(dirfd, ".", O_RDONLY | O_DIRECTORY, SYS_RESOLVE_BENEATH);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        uint64_t bytes = 0;

        if (!dir) {
                fd_close(copy);
                return 0;
        }
        while ((entry = readdir(dir)) && (*entries)++ < TREE_ENTRIES_MAX) {
                struct stat st;

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                bytes += (uint64_t)st.st_blocks * 512;
                if (S_ISDIR(st.st_mode) && depth < TREE_DEPTH_MAX) {
                        AUTO_CLOSE int below = sys_openat2(dirfd, entry->d_name, O_RDONLY | O_DIRECTORY,
                                                           SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS |
                                                                   SYS_RESOLVE_NO_XDEV);

                        if (below >= 0)
                                bytes += tree_bytes(below, depth + 1, entries);
                }
        }
        (void)closedir(dir);
        return bytes;
}

uint64_t sample_workspace_bytes(int workspace_fd)
{
        unsigned entries = 0;

        return workspace_fd < 0 ? 0 : tree_bytes(workspace_fd, 0, &entries);
}

bool sample_disk_is_full(int workspace_fd)
{
        struct statfs fs;

        return workspace_fd >= 0 && fstatfs(workspace_fd, &fs) == 0 && fs.f_type == 0x01021994 &&
               (fs.f_bavail == 0 || fs.f_ffree == 0);
}
