#include "kernel/seccomp.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Made by tools/gen-seccomp: static const struct sock_filter filter_main[], _pinned[], ... */
#include "seccomp_filter.h"

static int install(const struct sock_filter *filter, size_t length)
{
        struct sock_fprog program = {
                .len = (unsigned short)length,
                .filter = (struct sock_filter *)(uintptr_t)filter, /* the kernel only reads it */
        };

        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                            &program);
}

static int install_listener(const struct sock_filter *filter, size_t length)
{
        struct sock_fprog program = {
                .len = (unsigned short)length,
                .filter = (struct sock_filter *)(uintptr_t)filter, /* the kernel only reads it */
        };

        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                            &program);
}

int seccomp_apply(bool pin_cpus, bool shares_files, bool is_measured, int *ret_listener)
{
        if (is_measured && install(filter_measured, ARRAY_SIZE(filter_measured)) < 0)
                return -1;
        if (pin_cpus && install(filter_pinned, ARRAY_SIZE(filter_pinned)) < 0)
                return -1;
        if (shares_files && install(filter_shared, ARRAY_SIZE(filter_shared)) < 0)
                return -1;
        if (ret_listener) {
                *ret_listener = install_listener(filter_noted, ARRAY_SIZE(filter_noted));
                if (*ret_listener >= 0)
                        return 0;
        }
        return install(filter_main, ARRAY_SIZE(filter_main));
}

int seccomp_ask_about_forks(bool threads_alone)
{
        return threads_alone ? install_listener(filter_threads, ARRAY_SIZE(filter_threads))
                             : install_listener(filter_forks, ARRAY_SIZE(filter_forks));
}

int seccomp_ask_about_network(bool forks_too, bool threads_alone)
{
        if (install(filter_sockets, ARRAY_SIZE(filter_sockets)) < 0)
                return -1;
        if (!forks_too)
                return install_listener(filter_network, ARRAY_SIZE(filter_network));
        return threads_alone
                       ? install_listener(filter_network_threads,
                                          ARRAY_SIZE(filter_network_threads))
                       : install_listener(filter_network_forks, ARRAY_SIZE(filter_network_forks));
}

int seccomp_note_attempts(bool threads_alone)
{
        return threads_alone
                       ? install_listener(filter_attempts_threads,
                                          ARRAY_SIZE(filter_attempts_threads))
                       : install_listener(filter_attempts_forks, ARRAY_SIZE(filter_attempts_forks));
}

bool seccomp_has_listener(void)
{
        static const struct sock_filter allow[] = { { 0x06, 0, 0, SECCOMP_RET_ALLOW } };
        int fd = install_listener(allow, ARRAY_SIZE(allow));
        bool refused = fd < 0 && errno == EBUSY;

        if (fd >= 0)
                (void)close(fd);
        return refused;
}

bool seccomp_is_active(void)
{
        return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

bool seccomp_is_supported(void)
{
        /* A NULL program: EFAULT where filters are supported, EINVAL or ENOSYS where not. */
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) < 0 && errno == EFAULT;
}

unsigned seccomp_length(void)
{
        return ARRAY_SIZE(filter_main);
}
