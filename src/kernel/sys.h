/*
 * System calls that the C libraries we build with do not wrap, and constants newer than their
 * headers. Every wrapper returns what the call returns: -1 with errno on failure. Safe between
 * clone and exec.
 */
#ifndef KERNEL_SYS_H
#define KERNEL_SYS_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The numbers of these are the same on every architecture. */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define SYS_IOPRIO_WHO_PROCESS      1
#define SYS_OPEN_TREE_CLONE         1u
#define SYS_AT_RECURSIVE            0x8000u
#define SYS_MOVE_MOUNT_F_EMPTY_PATH 4u
#define SYS_MOVE_MOUNT_T_EMPTY_PATH 0x40u
#define SYS_MOUNT_ATTR_RDONLY       0x1u
#define SYS_MOUNT_ATTR_NOSUID       0x2u
#define SYS_MOUNT_ATTR_NODEV        0x4u
#define SYS_MOUNT_ATTR_NOEXEC       0x8u
#define SYS_MOUNT_ATTR_IDMAP        0x100000u

#define SYS_RESOLVE_NO_XDEV       0x01u
#define SYS_RESOLVE_NO_MAGICLINKS 0x02u
#define SYS_RESOLVE_NO_SYMLINKS   0x04u
#define SYS_RESOLVE_BENEATH       0x08u
#define SYS_RESOLVE_IN_ROOT       0x10u

#define SYS_CLONE_INTO_CGROUP 0x200000000ULL
#define SYS_CLONE_PIDFD       0x1000ULL

struct sys_mount_attr {
        uint64_t attr_set, attr_clr, propagation, userns_fd;
};

struct sys_open_how {
        uint64_t flags, mode, resolve;
};

struct sys_clone_args {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
                set_tid_size, cgroup;
};

static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
        return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int sys_move_mount(int from_fd, const char *from, int to_fd, const char *to,
                                 unsigned flags)
{
        return (int)syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned flags,
                                    struct sys_mount_attr *attr)
{
        return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof(*attr));
}

static inline int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
        struct sys_open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };

        return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline pid_t sys_clone3(struct sys_clone_args *args)
{
        return (pid_t)syscall(SYS_clone3, args, sizeof(*args));
}

/* The same by the older call, for the profiles of container engines, which hide the new one; that
 * knows no control group to be born in. */
static inline pid_t sys_clone(const struct sys_clone_args *args)
{
        return (pid_t)syscall(SYS_clone, (args->flags & ~SYS_CLONE_INTO_CGROUP) | args->exit_signal,
                              NULL, (int *)(uintptr_t)args->pidfd, NULL, NULL);
}

static inline int sys_pidfd_open(pid_t pid)
{
        return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int sys_pidfd_send_signal(int pidfd, int signal)
{
        return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

static inline int sys_close_range(unsigned first, unsigned last)
{
        return (int)syscall(SYS_close_range, first, last, 0);
}

/* The C library's own functions for these answer "not implemented" (musl), or are not there. */
static inline int sys_sched_getscheduler(void)
{
        return (int)syscall(SYS_sched_getscheduler, 0);
}

static inline int sys_sched_setscheduler(int policy, const struct sched_param *param)
{
        return (int)syscall(SYS_sched_setscheduler, 0, policy, param);
}

static inline int sys_ioprio_get(void)
{
        return (int)syscall(SYS_ioprio_get, SYS_IOPRIO_WHO_PROCESS, 0);
}

static inline int sys_ioprio_set(int priority)
{
        return (int)syscall(SYS_ioprio_set, SYS_IOPRIO_WHO_PROCESS, 0, priority);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
        return (int)syscall(SYS_pivot_root, new_root, put_old);
}

#endif
