/* Groups of both versions: making, removing. Where they are made: cgroup_site.c; what they count:
 * cgroup_files.c. */
#include "kernel/cgroup.h"
#include "base/entries.h"
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
        cgroup_let_go_files(group);
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

int cgroup_into_fd(const struct cgroup *group)
{
        return group->version == CGROUP_V2 ? group->dir_fds[CGROUP_MEMORY] : -1;
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

        if (str_has_prefix(name + strlen(CGROUP_PREFIX), our_owner))
                return false;
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
        /* A number that the buffer's end cut is another process's: only whole lines count. What is
         * left is swept the next time. */
        for (long pid; (pid = strtol(next, &next, 10)) > 1 && *next == '\n';)
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
        AUTO_CLOSE int dir =
                parent >= 0 ? openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        struct entries entries;
        const char *name;
        unsigned count = 0;

        entries_begin(&entries, dir);
        while (dir >= 0 && (name = entries_next(&entries)))
                if (str_has_prefix(name, CGROUP_PREFIX) && strlen(name) < CGROUP_NAME_MAX &&
                    owner_is_dead(name, site->owner)) {
                        sweep_group(site, name);
                        count++;
                }
        return count;
}
