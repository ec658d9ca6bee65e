/*
 * Owner maps. A mount can be told to show owners through a user namespace's map; such a namespace
 * must exist, so a child makes one, the warden (privileged, in the host's pid namespace) writes its
 * map, takes a descriptor of it, and the child ends. Made before the keeper, which inherits them.
 */
#include "init/init.h"
#include "base/fd.h"
#include "kernel/sys.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int write_map(const struct init *init, pid_t pid, const char *file, uint32_t from,
                     uint32_t to)
{
        char path[64], line[64];

        (void)snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
        (void)snprintf(line, sizeof(line), "%u %u 1\n", from, to);
        return fd_write_file_at(init->host_proc, path, line);
}

static int make_namespace(const struct init *init, uint32_t owner, uint32_t group)
{
        struct sys_clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
        pid_t pid = sys_clone3(&args);
        char path[64];
        int fd = -1;

        if (pid < 0)
                return -1;
        if (pid == 0)
                for (;;)
                        (void)pause();
        if (write_map(init, pid, "uid_map", owner, init->guest_uid) == 0 &&
            write_map(init, pid, "gid_map", group, init->guest_uid) == 0) {
                (void)snprintf(path, sizeof(path), "%d/ns/user", (int)pid);
                fd = openat(init->host_proc, path, O_RDONLY | O_CLOEXEC);
        }
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, __WALL);
        return fd;
}

static int make_map(const struct init *init, const char *source)
{
        AUTO_CLOSE int fd =
                sys_openat2(AT_FDCWD, source, O_PATH | O_NOFOLLOW, SYS_RESOLVE_NO_SYMLINKS);
        struct stat st;

        return fd < 0 || fstat(fd, &st) < 0 ? -1 : make_namespace(init, st.st_uid, st.st_gid);
}

void owner_maps_make(struct init *init)
{
        const struct plan *plan = &init->plan;
        bool useful = plan->kind == PLAN_CONTAINER && init->change_uid;

        for (uint32_t i = 0; i < plan->mount_count; i++) {
                bool handed_in = plan->mounts[i].kind == PLAN_MOUNT_READ ||
                                 plan->mounts[i].kind == PLAN_MOUNT_WRITE;

                init->owner_maps[i] =
                        useful && handed_in ? make_map(init, plan->mounts[i].source) : -1;
        }
        init->owner_maps[plan->mount_count] =
                useful && plan->workspace[0] ? make_map(init, plan->workspace) : -1;
}
