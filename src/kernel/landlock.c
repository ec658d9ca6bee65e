#include "kernel/landlock.h"
#include "kernel/sys.h"
#include "base/fd.h"

#include <errno.h>
#include <stdint.h>

/* The kernel's layout, complete up to version 6; older kernels take the shorter sizes. */
struct ruleset_attr {
        uint64_t handled_access_fs;
        uint64_t handled_access_net;
        uint64_t scoped;
};

struct path_attr {
        uint64_t allowed_access;
        int32_t parent_fd;
} __attribute__((packed));

enum { RULE_PATH = 1, CREATE_VERSION = 1 };

#define ACCESS_EXECUTE    (1u << 0)
#define ACCESS_WRITE_FILE (1u << 1)
#define ACCESS_READ_FILE  (1u << 2)
#define ACCESS_READ_DIR   (1u << 3)
#define ACCESS_MAKE_CHAR  (1u << 6)
#define ACCESS_MAKE_BLOCK (1u << 11)
#define ACCESS_TRUNCATE   (1u << 14)
#define ACCESS_IOCTL_DEV  (1u << 15)
/* What may stand in a rule on a file that is not a directory. */
#define ACCESS_FILE                                                                                \
        (ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)
#define ACCESS_NET 3u /* bind and connect TCP */
#define SCOPE_ALL  3u /* abstract sockets, signals */

/* Rights that each version of Landlock can handle. */
static uint64_t known_rights(int abi)
{
        static const unsigned bits[] = { 0, 13, 14, 15, 15, 16 };
        unsigned index = abi < 5 ? (unsigned)abi : 5;

        return (UINT64_C(1) << bits[index]) - 1;
}

static uint64_t rights_of(enum landlock_access access)
{
        switch (access) {
        case LANDLOCK_LIST:
                return ACCESS_READ_DIR;
        case LANDLOCK_READ:
                return ACCESS_READ_FILE | ACCESS_READ_DIR | ACCESS_EXECUTE;
        case LANDLOCK_DEVICE:
                return ACCESS_READ_FILE | ACCESS_READ_DIR | ACCESS_WRITE_FILE | ACCESS_TRUNCATE |
                       ACCESS_IOCTL_DEV;
        case LANDLOCK_WRITE:
                return ~(uint64_t)(ACCESS_MAKE_CHAR | ACCESS_MAKE_BLOCK | ACCESS_IOCTL_DEV);
        }
        return 0;
}

int landlock_abi(void)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

        return abi > 0 ? (int)abi : 0;
}

int landlock_new(int abi, bool scope, bool deny_tcp)
{
        struct ruleset_attr attr = {
                .handled_access_fs = known_rights(abi),
                .handled_access_net = deny_tcp ? ACCESS_NET : 0,
                .scoped = scope ? SCOPE_ALL : 0,
        };
        size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;

        return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

static int allow(int ruleset, int abi, int fd, enum landlock_access access)
{
        struct path_attr attr = { .allowed_access = rights_of(access) & known_rights(abi),
                                  .parent_fd = fd };
        int r;

        r = (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &attr, 0);
        if (r == 0 || errno != EINVAL || !(attr.allowed_access & ~(uint64_t)ACCESS_FILE))
                return r;
        /* Most paths are directories, so nobody asks which are: the kernel says it of the rest. */
        attr.allowed_access &= ACCESS_FILE;
        return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &attr, 0);
}

int landlock_allow(int ruleset, int abi, const char *path, enum landlock_access access)
{
        AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

        if (fd < 0)
                return errno == ENOENT ? 0 : -1;
        return allow(ruleset, abi, fd, access);
}

int landlock_allow_handed_in(int ruleset, int abi, const char *path, enum landlock_access access)
{
        AUTO_CLOSE int fd = sys_openat2(AT_FDCWD, path, O_PATH, SYS_RESOLVE_NO_SYMLINKS);

        if (fd < 0) /* nothing is allowed there; all other rules hold */
                return errno == ENOENT || errno == ELOOP || errno == EACCES || errno == ENOTDIR
                               ? 0
                               : -1;
        return allow(ruleset, abi, fd, access);
}

int landlock_apply(int ruleset)
{
        return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
