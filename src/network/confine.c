#include "network/confine.h"
#include "base/mem.h"
#include "kernel/allow_only.h"
#include "kernel/caps.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Numbers of descriptors up to the most that a guest can have: see kernel/poll_move.c. */
enum { DESCRIPTORS_MAX = 65536, ADDRESS_SPACE_MAX = 256 << 20 };

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Nothing here changes a file, executes one, signals a process or writes into its memory. */
static const unsigned allowed_calls[] = {
        /* sockets */
        SYS_socket,
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
        SYS_ioctl,
        SYS_pidfd_open,
        SYS_pidfd_getfd,
        SYS_process_vm_readv,
        SYS_openat,
        SYS_getdents64,
        SYS_readlinkat,
        SYS_newfstatat,
        SYS_fstat,
        SYS_fcntl,
        SYS_close,
        SYS_dup3,
        SYS_lseek,
        /* the child of poll_move */
        SYS_clone,
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
        SYS_open,
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

int confine(void)
{
        /* The guest is another user's, and /proc asks for the second one there; the third is for
         * the ports of UDP destinations in the guest's namespace. An ordinary caller has none and
         * needs none: the guest's user namespace is its own. */
        static const uint64_t needed = UINT64_C(1) << CAP_SYS_PTRACE |
                                       UINT64_C(1) << CAP_DAC_READ_SEARCH |
                                       UINT64_C(1) << CAP_NET_BIND_SERVICE;

        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || caps_keep(needed) < 0 || set_limits() < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return allow_only(allowed_calls, ARRAY_SIZE(allowed_calls));
}
