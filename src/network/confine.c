#include "network/confine.h"
#include "base/mem.h"
#include "kernel/allow_only.h"
#include "kernel/caps.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers of descriptors up to the most that a guest can have: see kernel/poll_move.c. */
enum { DESCRIPTORS_MAX = 65536, ADDRESS_SPACE_MAX = 256 << 20 };

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/*
 * Theory of operation. To copy a descriptor and memory of a guest takes the right to trace it. That
 * has, without any capability, the user who owns the guest's user namespace: the guest's own user
 * where root started the run, and the caller itself where not. So we become that one, and root's
 * files are as closed to us as to the guest. Of files we need /proc alone; where we may, it becomes
 * our root. (Landlock would forbid all others to an ordinary caller too, but a process under
 * Landlock can trace nobody who is not beneath the same rules.)
 */

/* Nothing here changes a file, executes one, signals a process or writes into its memory. */
static const unsigned allowed_calls[] = {
        /* sockets */
        SYS_connect,
        SYS_bind,
        SYS_listen,
        SYS_accept4,
        SYS_getsockname,
        SYS_getsockopt,
        SYS_setsockopt,
        SYS_recvfrom,
        SYS_recvmsg,
        SYS_sendto,
        SYS_sendmsg,
        SYS_shutdown,
        /* waiting */
        SYS_ppoll,
        SYS_epoll_pwait,
        SYS_epoll_ctl,
        SYS_timerfd_settime,
        SYS_setitimer,
        SYS_read,
        SYS_rt_sigreturn,
        SYS_rt_sigprocmask,
        SYS_restart_syscall,
        SYS_clock_gettime,
        /* the guest */
        SYS_pidfd_open,
        SYS_pidfd_getfd,
        SYS_process_vm_readv,
        SYS_getdents64,
        SYS_readlinkat,
        SYS_newfstatat,
        SYS_fstat,
        SYS_fcntl,
        SYS_close,
        SYS_dup3,
        SYS_lseek,
        /* the child of poll_move */
        SYS_wait4,
        SYS_exit,
        SYS_exit_group,
        /* memory */
        SYS_brk,
        SYS_mmap,
        SYS_munmap,
        SYS_mremap,
        SYS_madvise,
        SYS_getrandom,
        SYS_futex,
#ifdef SYS_poll
        SYS_poll,
        SYS_epoll_wait,
        SYS_readlink,
        SYS_stat,
        SYS_dup2,
#endif
#ifdef SYS_statx
        SYS_statx,
#endif
        SYS_gettid,
        SYS_readv,
};

/* Opening a file to change it, or making one. */
#define CHANGES ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)))
#define ANY_BIT UINT32_C(0xffffffff)

static const struct allow_argument narrow_calls[] = {
        { SYS_openat, 2, CHANGES, O_RDONLY },
#ifdef SYS_open
        { SYS_open, 1, CHANGES, O_RDONLY },
#endif
        { SYS_socket, 0, ANY_BIT, AF_INET },
        { SYS_socket, 0, ANY_BIT, AF_INET6 },
        { SYS_clone, 0, ANY_BIT, CLONE_VM | CLONE_VFORK }, /* see kernel/poll_move.c */
        { SYS_ioctl, 1, ANY_BIT, (uint32_t)SECCOMP_IOCTL_NOTIF_RECV },
        { SYS_ioctl, 1, ANY_BIT, (uint32_t)SECCOMP_IOCTL_NOTIF_SEND },
        { SYS_ioctl, 1, ANY_BIT, (uint32_t)SECCOMP_IOCTL_NOTIF_ID_VALID },
        { SYS_ioctl, 1, ANY_BIT, (uint32_t)SECCOMP_IOCTL_NOTIF_ADDFD },
        { SYS_ioctl, 1, ANY_BIT, SIOCGSKNS },
};

static int set_limits(void)
{
        const struct {
                int resource;
                rlim_t most;
        } limits[] = {
                { RLIMIT_CORE, 0 },
                { RLIMIT_FSIZE, 0 },
                { RLIMIT_AS, ADDRESS_SPACE_MAX },
        };
        struct rlimit files;

        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                struct rlimit limit = { limits[i].most, limits[i].most };

                if (setrlimit((__typeof__(RLIMIT_CORE))limits[i].resource, &limit) < 0)
                        return -1;
        }
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -1;
        files.rlim_cur = files.rlim_max < DESCRIPTORS_MAX ? files.rlim_max : DESCRIPTORS_MAX;
        return setrlimit(RLIMIT_NOFILE, &files);
}

/* Becomes the guest's user, of whom nothing is left but the ids: no group, no capability. */
static int become(uint32_t uid, uint64_t needed)
{
        const char *proc = chroot("/proc") < 0 ? "/proc" : "/"; /* not every root may */

        if (chdir(proc) < 0 || caps_become(uid, uid) < 0)
                return -1;
        return caps_keep(needed);
}

int confine(uint32_t uid, bool has_udp)
{
        /* For the ports of UDP destinations in the guest's namespace, where root made it. */
        static const uint64_t bind = UINT64_C(1) << CAP_NET_BIND_SERVICE;
        /* Where there is no user to become: the guest is another's, and /proc asks for the second
         * one there. An ordinary caller has none of them and needs none. */
        static const uint64_t trace =
                UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
        uint64_t needed = has_udp ? bind : 0;
        int r = uid ? become(uid, needed) : chdir("/proc") < 0 ? -1 : caps_keep(needed | trace);

        if (r < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || set_limits() < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return 0;
}

int confine_calls(void)
{
        return allow_only_with(allowed_calls, ARRAY_SIZE(allowed_calls), narrow_calls,
                               ARRAY_SIZE(narrow_calls));
}
