/*
 * What groups of both versions count, by file: read, set back, and entered.
 *
 * A group that many runs use one after another (a nest's) keeps these files open: to open one takes
 * the kernel longer than to read it. The numbers of descriptors are the caller's, so only low ones
 * are taken; what is not kept is opened each time.
 */
#include "kernel/cgroup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_BELOW = 256, LINES_MAX = 4096 };

enum file {
        FILE_MEMORY_NOW,
        FILE_MEMORY_PEAK,
        FILE_MEMORY_LIMIT,
        FILE_MEMORY_EVENTS,
        FILE_CPU_USED,
        FILE_CPU_SHARE,
        FILE_PIDS_NOW,
        FILE_PIDS_PEAK,
        FILE_PIDS_LIMIT,
        FILE_PIDS_EVENTS,
        FILE_COUNT
};

static const struct {
        enum cgroup_controller controller;
        const char *v1, *v2;
        bool is_reset; /* on version 1: counts from zero again when "0" is written */
} files[FILE_COUNT] = {
        [FILE_MEMORY_NOW] = { CGROUP_MEMORY, "memory.usage_in_bytes", "memory.current", false },
        [FILE_MEMORY_PEAK] = { CGROUP_MEMORY, "memory.max_usage_in_bytes", "memory.peak", true },
        [FILE_MEMORY_LIMIT] = { CGROUP_MEMORY, "memory.limit_in_bytes", "memory.max", false },
        [FILE_MEMORY_EVENTS] = { CGROUP_MEMORY, "memory.oom_control", "memory.events", false },
        [FILE_CPU_USED] = { CGROUP_CPUACCT, "cpuacct.usage", "cpu.stat", true },
        [FILE_CPU_SHARE] = { CGROUP_CPU, "cpu.cfs_quota_us", "cpu.max", false },
        [FILE_PIDS_NOW] = { CGROUP_PIDS, "pids.current", "pids.current", false },
        [FILE_PIDS_PEAK] = { CGROUP_PIDS, "pids.peak", "pids.peak", false },
        [FILE_PIDS_LIMIT] = { CGROUP_PIDS, "pids.max", "pids.max", false },
        [FILE_PIDS_EVENTS] = { CGROUP_PIDS, "pids.events", "pids.events", false },
};

struct cgroup_files {
        int fds[FILE_COUNT]; /* or -1 */
        int entries[CGROUP_CONTROLLERS];
        int entry_count; /* 0: not kept */
};

static const char *name_of(const struct cgroup *group, enum file file)
{
        return group->version == CGROUP_V2 ? files[file].v2 : files[file].v1;
}

/* Opens one to be kept, or -1. */
static int keep(const struct cgroup *group, enum file file)
{
        bool is_reset = files[file].is_reset && group->version == CGROUP_V1;
        int dir = group->dir_fds[files[file].controller];
        int fd = dir < 0 ? -1
                         : openat(dir, name_of(group, file),
                                  (is_reset ? O_RDWR : O_RDONLY) | O_CLOEXEC);

        if (fd < KEPT_BELOW)
                return fd;
        fd_close(fd);
        return -1;
}

void cgroup_keep_files(struct cgroup *group)
{
        struct cgroup_files *kept = mem_alloc(sizeof(*kept));
        int entries[CGROUP_CONTROLLERS];
        int count;

        if (!kept || group->files || group->version == CGROUP_NONE) {
                mem_free(kept);
                return;
        }
        for (int i = 0; i < FILE_COUNT; i++)
                kept->fds[i] = keep(group, (enum file)i);
        count = cgroup_entry_fds(group, entries, NULL);
        kept->entry_count = count > 0 && entries[count - 1] < KEPT_BELOW ? count : 0;
        for (int i = 0; i < count; i++) {
                kept->entries[i] = entries[i];
                if (kept->entry_count == 0)
                        fd_close(entries[i]);
        }
        group->files = kept;
}

void cgroup_let_go_files(struct cgroup *group)
{
        for (int i = 0; group->files && i < FILE_COUNT; i++)
                fd_close(group->files->fds[i]);
        for (int i = 0; group->files && i < group->files->entry_count; i++)
                fd_close(group->files->entries[i]);
        mem_free(group->files);
        group->files = NULL;
}

int cgroup_join_fds(const struct cgroup *group, int ret_fds[CGROUP_CONTROLLERS])
{
        int count = 0;

        if (group->version != CGROUP_V1)
                return 0;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
                if (group->dir_fds[i] < 0)
                        continue;
                /* "tasks", not "cgroup.procs": moving a single thread takes no global lock. */
                ret_fds[count] = openat(group->dir_fds[i], "tasks", O_WRONLY | O_CLOEXEC);
                if (ret_fds[count] < 0) {
                        while (count > 0)
                                fd_close(ret_fds[--count]);
                        return -1;
                }
                count++;
        }
        return count;
}

int cgroup_entry_fds(const struct cgroup *group, int ret_fds[CGROUP_CONTROLLERS],
                     bool *ret_are_kept)
{
        int kept = ret_are_kept && group->files ? group->files->entry_count : 0;

        if (ret_are_kept)
                *ret_are_kept = kept > 0;
        if (kept > 0) {
                memcpy(ret_fds, group->files->entries, (size_t)kept * sizeof(*ret_fds));
                return kept;
        }
        if (group->version != CGROUP_V2)
                return cgroup_join_fds(group, ret_fds);
        ret_fds[0] = openat(group->dir_fds[CGROUP_MEMORY], "cgroup.procs", O_WRONLY | O_CLOEXEC);
        return ret_fds[0] < 0 ? -1 : 1;
}

static int kept_fd(const struct cgroup *group, enum file file)
{
        if (group->files)
                return group->files->fds[file];
        if (file != FILE_MEMORY_EVENTS) /* which is watched */
                return -1;
        return group->version == CGROUP_V2 ? group->event_fd : group->event_file_fd;
}

static bool read_text(const struct cgroup *group, enum file file, char *text, size_t size)
{
        int dir = group->dir_fds[files[file].controller];
        int kept = kept_fd(group, file);
        AUTO_CLOSE int opened =
                kept < 0 && dir >= 0 ? openat(dir, name_of(group, file), O_RDONLY | O_CLOEXEC) : -1;
        /* The kernel hands these out whole. */
        ssize_t n = pread(kept < 0 ? opened : kept, text, size - 1, 0);

        text[n > 0 ? n : 0] = '\0';
        return n > 0;
}

static uint64_t read_number(const struct cgroup *group, enum file file)
{
        char text[64];

        /* "max" reads as 0, and so does "-1". */
        return read_text(group, file, text, sizeof(text)) && text[0] != '-'
                       ? strtoull(text, NULL, 10)
                       : 0;
}

/* The number after `key` and a blank, in a file of such lines. */
static uint64_t read_keyed(const struct cgroup *group, enum file file, const char *key)
{
        char text[LINES_MAX];

        if (!read_text(group, file, text, sizeof(text)))
                return 0;
        for (char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (str_has_prefix(line, key) && line[strlen(key)] == ' ')
                        return strtoull(line + strlen(key), NULL, 10);
        }
        return 0;
}

uint64_t cgroup_memory_now(const struct cgroup *group)
{
        return read_number(group, FILE_MEMORY_NOW);
}

uint64_t cgroup_memory_kills(const struct cgroup *group)
{
        return read_keyed(group, FILE_MEMORY_EVENTS, "oom_kill");
}

uint64_t cgroup_cpu_us(const struct cgroup *group)
{
        if (group->version == CGROUP_V2)
                return read_keyed(group, FILE_CPU_USED, "usage_usec");
        return read_number(group, FILE_CPU_USED) / 1000;
}

uint64_t cgroup_processes_now(const struct cgroup *group)
{
        return read_number(group, FILE_PIDS_NOW);
}

uint64_t cgroup_processes_peak(const struct cgroup *group)
{
        return read_number(group, FILE_PIDS_PEAK);
}

struct cgroup_reading cgroup_read(const struct cgroup *group)
{
        return (struct cgroup_reading){
                .memory_peak = read_number(group, FILE_MEMORY_PEAK),
                .memory_limit = read_number(group, FILE_MEMORY_LIMIT),
                .memory_kills = cgroup_memory_kills(group),
                .cpu_us = cgroup_cpu_us(group),
                .processes_peak = read_number(group, FILE_PIDS_PEAK),
                .processes_limit = read_number(group, FILE_PIDS_LIMIT),
                .fork_refusals = read_keyed(group, FILE_PIDS_EVENTS, "max"),
                .cpu_is_limited = group->had_cpu_limit || read_number(group, FILE_CPU_SHARE) > 0,
        };
}

void cgroup_lift_cpus(struct cgroup *group)
{
        int dir = group->version == CGROUP_NONE ? -1 : group->dir_fds[CGROUP_CPU];

        if (dir < 0)
                return;
        group->had_cpu_limit |= read_number(group, FILE_CPU_SHARE) > 0;
        /* They end in any case, later without it. */
        (void)fd_write_file_at(dir, name_of(group, FILE_CPU_SHARE),
                               group->version == CGROUP_V2 ? "max" : "-1");
}

static bool reset(const struct cgroup *group, enum file file)
{
        int kept = group->files ? group->files->fds[file] : -1;
        int dir = group->dir_fds[files[file].controller];

        if (kept >= 0)
                return pwrite(kept, "0", 1, 0) == 1;
        return dir < 0 || fd_write_file_at(dir, name_of(group, file), "0") == 0;
}

bool cgroup_reset(const struct cgroup *group)
{
        if (!cgroup_can_reset(group))
                return false;
        for (int i = 0; i < FILE_COUNT; i++)
                if (files[i].is_reset && !reset(group, (enum file)i))
                        return false;
        return true;
}
