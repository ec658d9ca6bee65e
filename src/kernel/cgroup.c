/* Groups of both versions: making, reading, removing. Where they are made: cgroup_site.c. */
#include "kernel/cgroup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cgroup_version_name(enum cgroup_version version)
{
        static const char *const names[] = { "none", "cgroup-v1", "cgroup-v2" };

        return names[version];
}

static uint64_t read_number(int dirfd, const char *file)
{
        char text[64];
        uint64_t value = 0;

        if (dirfd < 0 || fd_read_file_at(dirfd, file, text, sizeof(text)) <= 0)
                return 0;
        return sscanf(text, "%" SCNu64, &value) == 1 ? value : 0; /* "max" reads as 0 */
}

/* The number after `key` and a blank, in a file of such lines. */
static uint64_t read_keyed(int dirfd, const char *file, const char *key)
{
        char text[4096];
        uint64_t value = 0;

        if (dirfd < 0 || fd_read_file_at(dirfd, file, text, sizeof(text)) <= 0)
                return 0;
        for (char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (str_has_prefix(line, key) && line[strlen(key)] == ' ')
                        return sscanf(line + strlen(key), "%" SCNu64, &value) == 1 ? value : 0;
        }
        return 0;
}

static int write_number(int dirfd, const char *file, uint64_t value)
{
        char text[32];

        (void)snprintf(text, sizeof(text), "%" PRIu64, value);
        return fd_write_file_at(dirfd, file, text);
}

static int limit_v1(struct cgroup *group, const struct cgroup_limits *limits, struct error *err)
{
        int memory = group->dir_fds[CGROUP_MEMORY], pids = group->dir_fds[CGROUP_PIDS],
            cpu = group->dir_fds[CGROUP_CPU];

        if (memory >= 0) {
                if (write_number(memory, "memory.limit_in_bytes", limits->memory_bytes) < 0)
                        return error_set_errno(err, "set memory.limit_in_bytes");
                /* Absent where swap accounting is off; then swap is what the machine has. */
                if (write_number(memory, "memory.memsw.limit_in_bytes", limits->memory_bytes) < 0 &&
                    errno != ENOENT)
                        return error_set_errno(err, "set memory.memsw.limit_in_bytes");
        }
        if (pids >= 0 && write_number(pids, "pids.max", limits->processes + 1) < 0)
                return error_set_errno(err, "set pids.max");
        /* A new group's period is 100 ms. */
        if (cpu >= 0 && write_number(cpu, "cpu.cfs_quota_us", limits->cpus_milli * 100) < 0)
                return error_set_errno(err, "set cpu.cfs_quota_us");
        return 0;
}

static int limit_v2(struct cgroup *group, const struct cgroup_limits *limits, struct error *err)
{
        int dir = group->dir_fds[CGROUP_MEMORY];
        char text[64];

        if (write_number(dir, "memory.max", limits->memory_bytes) < 0)
                return error_set_errno(err, "set memory.max");
        /* Absent where the kernel has no swap. */
        if (write_number(dir, "memory.swap.max", 0) < 0 && errno != ENOENT)
                return error_set_errno(err, "set memory.swap.max");
        if (write_number(dir, "memory.oom.group", 1) < 0 && errno != ENOENT)
                return error_set_errno(err, "set memory.oom.group");
        if (write_number(dir, "pids.max", limits->processes + 1) < 0)
                return error_set_errno(err, "set pids.max");
        if (group->dir_fds[CGROUP_CPU] >= 0) {
                (void)snprintf(text, sizeof(text), "%" PRIu64 " 100000", limits->cpus_milli * 100);
                if (fd_write_file_at(dir, "cpu.max", text) < 0)
                        return error_set_errno(err, "set cpu.max");
        }
        return 0;
}

/* On version 1 an eventfd is tied to memory.oom_control; on version 2 memory.events wakes a poll
 * for priority data. Without either the monitor's samples still see the kill. */
static void watch_memory(struct cgroup *group)
{
        int memory = group->dir_fds[CGROUP_MEMORY];
        char line[32];

        if (memory < 0)
                return;
        if (group->version == CGROUP_V2) {
                group->event_fd = openat(memory, "memory.events", O_RDONLY | O_CLOEXEC);
                return;
        }
        group->event_file_fd = openat(memory, "memory.oom_control", O_RDONLY | O_CLOEXEC);
        group->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)snprintf(line, sizeof(line), "%d %d", group->event_fd, group->event_file_fd);
        if (group->event_file_fd < 0 ||
            fd_write_file_at(memory, "cgroup.event_control", line) < 0) {
                fd_close(group->event_fd);
                group->event_fd = -1;
        }
}

static int make_directory(struct cgroup *group, int controller, struct error *err)
{
        int parent = group->parent_fds[controller];

        if (parent < 0)
                return 0;
        /* Controllers mounted together, and all of version 2, share one directory. */
        if (mkdirat(parent, group->name, 0755) < 0 && errno != EEXIST)
                return error_set_errno(err, "make control group '%s'", group->name);
        group->dir_fds[controller] =
                openat(parent, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (group->dir_fds[controller] < 0)
                return error_set_errno(err, "open control group '%s'", group->name);
        return 0;
}

void cgroup_name(const struct cgroup_site *site, unsigned number, char ret_name[CGROUP_NAME_MAX])
{
        (void)snprintf(ret_name, CGROUP_NAME_MAX, CGROUP_PREFIX "%s.%u", site->owner, number);
}

int cgroup_open(const struct cgroup_site *site, const char *name,
                const struct cgroup_limits *limits, struct cgroup *ret_group, struct error *err)
{
        struct cgroup group = { .version = site->version, .event_fd = -1, .event_file_fd = -1 };
        int r = 0;

        for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
                group.dir_fds[i] = -1;
                group.parent_fds[i] = site->parent_fds[i];
        }
        (void)snprintf(group.name, sizeof(group.name), "%s", name);
        for (int i = 0; i < CGROUP_CONTROLLERS && r == 0 && site->version != CGROUP_NONE; i++)
                r = make_directory(&group, i, err);
        if (r == 0 && site->version == CGROUP_V1)
                r = limit_v1(&group, limits, err);
        else if (r == 0 && site->version == CGROUP_V2)
                r = limit_v2(&group, limits, err);
        if (r < 0) {
                cgroup_remove(&group);
                cgroup_close(&group);
                return r;
        }
        watch_memory(&group);
        *ret_group = group;
        return 0;
}

void cgroup_close(struct cgroup *group)
{
        for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
                fd_close(group->dir_fds[i]);
                group->dir_fds[i] = -1;
        }
        fd_close(group->event_fd);
        fd_close(group->event_file_fd);
        group->event_fd = group->event_file_fd = -1;
}

unsigned cgroup_remove(struct cgroup *group)
{
        unsigned left = 0;
        int saved = errno;

        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (group->parent_fds[i] >= 0 && group->name[0] &&
                    unlinkat(group->parent_fds[i], group->name, AT_REMOVEDIR) < 0 &&
                    errno != ENOENT) /* the helper may have removed it */
                        left++;
        errno = saved;
        return left;
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

int cgroup_entry_fds(const struct cgroup *group, int ret_fds[CGROUP_CONTROLLERS])
{
        if (group->version != CGROUP_V2)
                return cgroup_join_fds(group, ret_fds);
        ret_fds[0] = openat(group->dir_fds[CGROUP_MEMORY], "cgroup.procs", O_WRONLY | O_CLOEXEC);
        return ret_fds[0] < 0 ? -1 : 1;
}

int cgroup_into_fd(const struct cgroup *group)
{
        return group->version == CGROUP_V2 ? group->dir_fds[CGROUP_MEMORY] : -1;
}

uint64_t cgroup_memory_now(const struct cgroup *group)
{
        return read_number(group->dir_fds[CGROUP_MEMORY], group->version == CGROUP_V2
                                                                  ? "memory.current"
                                                                  : "memory.usage_in_bytes");
}

uint64_t cgroup_memory_kills(const struct cgroup *group)
{
        return read_keyed(group->dir_fds[CGROUP_MEMORY],
                          group->version == CGROUP_V2 ? "memory.events" : "memory.oom_control",
                          "oom_kill");
}

uint64_t cgroup_cpu_us(const struct cgroup *group)
{
        if (group->version == CGROUP_V2)
                return read_keyed(group->dir_fds[CGROUP_CPUACCT], "cpu.stat", "usage_usec");
        return read_number(group->dir_fds[CGROUP_CPUACCT], "cpuacct.usage") / 1000;
}

uint64_t cgroup_processes_now(const struct cgroup *group)
{
        return read_number(group->dir_fds[CGROUP_PIDS], "pids.current");
}

uint64_t cgroup_processes_peak(const struct cgroup *group)
{
        return read_number(group->dir_fds[CGROUP_PIDS], "pids.peak");
}

struct cgroup_reading cgroup_read(const struct cgroup *group)
{
        bool v2 = group->version == CGROUP_V2;
        int memory = group->dir_fds[CGROUP_MEMORY], pids = group->dir_fds[CGROUP_PIDS];

        return (struct cgroup_reading){
                .memory_peak =
                        read_number(memory, v2 ? "memory.peak" : "memory.max_usage_in_bytes"),
                .memory_limit = read_number(memory, v2 ? "memory.max" : "memory.limit_in_bytes"),
                .memory_kills = cgroup_memory_kills(group),
                .cpu_us = cgroup_cpu_us(group),
                .processes_peak = read_number(pids, "pids.peak"),
                .processes_limit = read_number(pids, "pids.max"),
                .fork_refusals = read_keyed(pids, "pids.events", "max"),
                .cpu_is_limited = read_number(group->dir_fds[CGROUP_CPU],
                                              v2 ? "cpu.max" : "cpu.cfs_quota_us") > 0,
        };
}

bool cgroup_reset(const struct cgroup *group)
{
        const struct {
                int dir;
                const char *file;
        } counters[] = {
                { group->dir_fds[CGROUP_MEMORY], "memory.max_usage_in_bytes" },
                { group->dir_fds[CGROUP_CPUACCT], "cpuacct.usage" },
        };

        /* Version 2 forgets its peaks for one descriptor at a time, and only from Linux 6.12. */
        if (group->version == CGROUP_V2)
                return false;
        for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
                if (counters[i].dir >= 0 && write_number(counters[i].dir, counters[i].file, 0) < 0)
                        return false;
        return true;
}

/* When a process was started, in seconds since boot; UINT64_MAX where there is none, 0 where it
 * cannot be told. */
static uint64_t started_at(int pid)
{
        char path[64], stat[1024], *field;
        unsigned long long ticks;

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        if (fd_read_file_at(AT_FDCWD, path, stat, sizeof(stat)) <= 0)
                return errno == ENOENT || errno == ESRCH ? UINT64_MAX : 0;
        field = strrchr(stat, ')');
        if (!field || sscanf(field + 1,
                             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                             "%*d %*d %*d %*d %llu",
                             &ticks) != 1)
                return 0;
        return ticks / (unsigned long)sysconf(_SC_CLK_TCK);
}

/* Whether the owner in "<prefix><pid namespace>.<pid>.<second>.<random>.<number>" is of our pid
 * namespace and dead: its pid is nobody's, or of a process that was started after the group was
 * named. */
static bool owner_is_dead(const char *name, const char *our_owner)
{
        unsigned long long ns, our_ns, named;
        int pid;

        if (sscanf(name, CGROUP_PREFIX "%llu.%d.%llu.", &ns, &pid, &named) != 3 ||
            sscanf(our_owner, "%llu.", &our_ns) != 1 || ns != our_ns)
                return false;
        return started_at(pid) > named + 1;
}

static void end_members(int parent, const char *name)
{
        char path[CGROUP_NAME_MAX + 16], text[4096], *next = text;

        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", name);
        if (fd_read_file_at(parent, path, text, sizeof(text)) <= 0)
                return;
        for (long pid; (pid = strtol(next, &next, 10)) > 1;)
                (void)kill((pid_t)pid, SIGKILL); /* already gone is what we want */
}

/* Removes one group from every hierarchy; the one that is looked through comes last, so that what
 * could not be removed is found again. */
static void sweep_group(const struct cgroup_site *site, const char *name)
{
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (site->parent_fds[i] >= 0)
                        end_members(site->parent_fds[i], name);
        for (int i = CGROUP_CONTROLLERS - 1; i >= 0; i--)
                if (site->parent_fds[i] >= 0)
                        (void)unlinkat(site->parent_fds[i], name,
                                       AT_REMOVEDIR); /* busy: the next one's turn */
}

unsigned cgroup_sweep(const struct cgroup_site *site)
{
        int parent = site->parent_fds[CGROUP_MEMORY] >= 0 ? site->parent_fds[CGROUP_MEMORY]
                                                          : site->parent_fds[CGROUP_PIDS];
        int copy = parent >= 0 ? openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        unsigned count = 0;

        if (!dir) {
                fd_close(copy);
                return 0;
        }
        while ((entry = readdir(dir)))
                if (str_has_prefix(entry->d_name, CGROUP_PREFIX) &&
                    strlen(entry->d_name) < CGROUP_NAME_MAX &&
                    owner_is_dead(entry->d_name, site->owner)) {
                        sweep_group(site, entry->d_name);
                        count++;
                }
        (void)closedir(dir);
        return count;
}
