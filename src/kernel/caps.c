#include "kernel/caps.h"
#include "kernel/sys.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
        CAPS_LAST_TRIED = 63,
        /* NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off, NO_CAP_AMBIENT_RAISE, each locked. */
        CAPS_SECUREBITS = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80,
};

static int caps_set(uint64_t permitted, uint64_t effective)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = {
                { .permitted = (uint32_t)permitted, .effective = (uint32_t)effective },
                { .permitted = (uint32_t)(permitted >> 32),
                  .effective = (uint32_t)(effective >> 32) },
        };

        return (int)syscall(SYS_capset, &header, data);
}

static int caps_get(struct __user_cap_data_struct data[2])
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

        return (int)syscall(SYS_capget, &header, data);
}

static int drop_bounding(void)
{
        for (int cap = 0; cap <= CAPS_LAST_TRIED; cap++)
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
                        return errno == EINVAL && cap > 0 ? 0 : -1; /* past the last one there is */
        return 0;
}

int caps_drop_all(bool allow_bounding)
{
        if (drop_bounding() < 0 && !allow_bounding)
                return -1;
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -1;
        if (prctl(PR_SET_SECUREBITS, CAPS_SECUREBITS, 0, 0, 0) < 0 && !allow_bounding)
                return -1;
        return caps_set(0, 0);
}

int caps_keep_only(int capability)
{
        return caps_keep(UINT64_C(1) << capability);
}

int caps_keep(uint64_t capabilities)
{
        struct __user_cap_data_struct data[2];

        if (caps_get(data) < 0)
                return -1;
        capabilities &= (uint64_t)data[1].permitted << 32 | data[0].permitted;
        return caps_set(capabilities, capabilities);
}

bool caps_are_empty(bool check_bounding)
{
        struct __user_cap_data_struct data[2];

        if (caps_get(data) < 0)
                return false;
        for (int i = 0; i < 2; i++)
                if (data[i].effective || data[i].permitted || data[i].inheritable)
                        return false;
        /* The ambient set is always within permitted and inheritable: it is empty too. */
        for (int cap = 0; check_bounding && cap <= CAPS_LAST_TRIED; cap++) {
                int held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

                if (held < 0)
                        break;
                if (held)
                        return false;
        }
        return !check_bounding || prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == CAPS_SECUREBITS;
}

bool caps_are_known(void)
{
        struct __user_cap_data_struct data[2];

        return caps_get(data) == 0;
}

int caps_become(uid_t uid, gid_t gid)
{
        struct __user_cap_data_struct data[2];

        /* Raw calls: the C library's versions signal threads that this process does not have. */
        if (caps_get(data) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
                return -1;
        if (syscall(SYS_setgroups, 0, NULL) < 0 && errno != EPERM)
                return -1;
        if (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
                return -1;
        return caps_set((uint64_t)data[1].permitted << 32 | data[0].permitted,
                        (uint64_t)data[1].permitted << 32 | data[0].permitted);
}
