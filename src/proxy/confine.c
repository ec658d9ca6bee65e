/* What the proxy takes from itself before it hears the guest. */
#include "proxy/proxy.h"
#include "base/mem.h"
#include "kernel/allow_only.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534, DESCRIPTORS_MAX = 256, ADDRESS_SPACE_MAX = 256 << 20 };

static const unsigned allowed_calls[] = {
        SYS_read,         SYS_write,         SYS_writev,
        SYS_recvfrom,     SYS_sendto,        SYS_recvmsg,
        SYS_accept4,      SYS_socket,        SYS_connect,
        SYS_getsockopt,   SYS_setsockopt,    SYS_shutdown,
        SYS_close,        SYS_fcntl,         SYS_ppoll,
        SYS_exit,         SYS_exit_group,    SYS_munmap,
        SYS_rt_sigreturn, SYS_clock_gettime, SYS_restart_syscall,
#ifdef SYS_poll
        SYS_poll,
#endif
};

int confine_identity(void)
{
        if (geteuid() != 0)
                return 0;
        /* Root of a namespace without that id stays what it is: it owns nothing outside. */
        if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) < 0)
                return errno == EINVAL || errno == EPERM ? 0 : -1;
        return 0;
}

static int set_limits(void)
{
        static const struct {
                int resource;
                rlim_t value;
        } limits[] = {
                { RLIMIT_CORE, 0 },
                { RLIMIT_FSIZE, 0 },
                { RLIMIT_NPROC, 0 },
                { RLIMIT_NOFILE, DESCRIPTORS_MAX },
                { RLIMIT_AS, ADDRESS_SPACE_MAX },
        };

        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                struct rlimit limit = { limits[i].value, limits[i].value };

                if (setrlimit((__typeof__(RLIMIT_CORE))limits[i].resource, &limit) < 0)
                        return -1;
        }
        return 0;
}

int confine_rest(void)
{
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* cannot fail with this value */
        if (set_limits() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return allow_only(allowed_calls, ARRAY_SIZE(allowed_calls));
}
