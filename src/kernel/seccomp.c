#include "kernel/seccomp.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Made by tools/gen-seccomp: static const struct sock_filter filter_main[], _pinned[], _shared[]. */
#include "seccomp_filter.h"

static int install(const struct sock_filter *filter, size_t length)
{
        struct sock_fprog program = {
                .len = (unsigned short)length,
                .filter = (struct sock_filter *)(uintptr_t)filter, /* the kernel only reads it */
        };

        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int seccomp_apply(bool pin_cpus, bool shares_files)
{
        if (pin_cpus && install(filter_pinned, ARRAY_SIZE(filter_pinned)) < 0)
                return -1;
        if (shares_files && install(filter_shared, ARRAY_SIZE(filter_shared)) < 0)
                return -1;
        return install(filter_main, ARRAY_SIZE(filter_main));
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
