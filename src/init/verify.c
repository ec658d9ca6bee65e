/*
 * The proof: asks the kernel what holds for this very process, after the last step and right before
 * exec. What cannot be asked is tried. Nothing here looks at what the plan wanted.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/caps.h"
#include "kernel/seccomp.h"
#include "kernel/sys.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FLAG_RDONLY = 1, FLAG_NOSUID = 2, FLAG_NODEV = 4, TMPFS = 0x01021994, PROCFS = 0x9fa0 };

static bool has_flags(const char *path, long flags)
{
        struct statfs fs;

        return statfs(path, &fs) == 0 && ((long)fs.f_flags & flags) == flags;
}

/* A root of our own, read-only, and every path of the host in it read-only, nosuid and nodev. */
static bool root_is_own(const struct init *init)
{
        struct stat root;

        if (stat("/", &root) < 0 ||
            (root.st_dev == init->outer_root[0] && root.st_ino == init->outer_root[1]) ||
            !has_flags("/", FLAG_RDONLY | FLAG_NOSUID | FLAG_NODEV))
                return false;
        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                const struct plan_mount *mount = &init->plan.mounts[i];
                struct statfs fs;
                long flags = FLAG_NOSUID | FLAG_NODEV |
                             (mount->kind == PLAN_MOUNT_WRITE ? 0 : FLAG_RDONLY);

                if (statfs(mount->target, &fs) < 0) {
                        /* An absent system path, or a link that leads nowhere in here. */
                        if (mount->kind == PLAN_MOUNT_SYSTEM &&
                            (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
                                continue;
                        return false;
                }
                if (((long)fs.f_flags & flags) != flags)
                        return false;
        }
        return true;
}

/* Our own processes only, and no way to the kernel's controls. */
static bool proc_is_own(void)
{
        struct statfs fs;

        if (statfs("/proc", &fs) < 0 || fs.f_type != PROCFS || getpid() == 1 ||
            access("/proc/1", F_OK) < 0)
                return false;
        if (statfs("/proc/sys", &fs) < 0)
                return errno == ENOENT && access("/proc/sysrq-trigger", F_OK) < 0;
        return fs.f_type == TMPFS && ((long)fs.f_flags & FLAG_RDONLY);
}

static bool identity_is_unprivileged(const struct init *init)
{
        uid_t r, e, s;
        gid_t rg, eg, sg;

        return init->report.guest_uid != 0 && getresuid(&r, &e, &s) == 0 &&
               getresgid(&rg, &eg, &sg) == 0 && r == e && e == s && e != 0 && rg == eg &&
               eg == sg && eg != 0 && (!init->change_uid || getgroups(0, NULL) == 0);
}

static bool may_be_looked_into(void)
{
        return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

/* Landlock cannot be asked; our own name may be written but for its rule on /proc. */
static bool own_name_is_closed(void)
{
        AUTO_CLOSE int fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);

        return fd < 0 && errno == EACCES;
}

bool verify_landlock(void)
{
        bool was_open = may_be_looked_into(), is_closed;

        if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
                return false;
        is_closed = own_name_is_closed();
        (void)prctl(PR_SET_DUMPABLE, was_open, 0, 0, 0);
        return is_closed;
}

static bool host_name_is_hidden(void)
{
        struct utsname name;

        return uname(&name) == 0 && strcmp(name.nodename, GUEST_HOST_NAME) == 0;
}

static bool only_streams_are_open(const struct init *init)
{
        AUTO_CLOSE int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char buffer[2048] __attribute__((aligned(8)));
        long n = dir < 0 ? -1 : syscall(SYS_getdents64, dir, buffer, sizeof(buffer));

        for (long at = 0; at < n;) {
                const struct dirent *entry = (const struct dirent *)(buffer + at);
                int fd = entry->d_name[0] == '.' ? 0 : atoi(entry->d_name);

                bool is_ours = init->plan.waits && (fd == PARK_SOCKET || fd == PARK_LIBRARY);

                if (fd > (init->plan.report_fd ? REPORT_FILE : HELPER_SOCKET) && fd != dir &&
                    fd != init->fork_listener && !is_ours)
                        return false;
                at += entry->d_reclen;
        }
        /* The socket closes itself by exec, as does what asks about forks. */
        return n > 0 && (fcntl(HELPER_SOCKET, F_GETFD) & FD_CLOEXEC);
}

static bool session_is_own(void)
{
        AUTO_CLOSE int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

        return terminal < 0 && getsid(0) == getpid();
}

static bool limit_is(int resource, uint64_t most)
{
        struct rlimit now;

        return getrlimit(resource, &now) == 0 && now.rlim_cur <= most && now.rlim_max <= most;
}

static uint64_t namespaces_that_differ(const struct init *init)
{
        AUTO_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        uint64_t now[NAMESPACE_COUNT];

        namespace_inodes(proc, now);
        return namespace_changed(init->outer_namespaces, now);
}

/* Pinned to no more CPUs than the plan says; not asked where a group or nothing holds the share. */
static bool cpus_are_pinned(const struct init *init)
{
        cpu_set_t now;

        return init->plan.pin_cpus > 0 && sched_getaffinity(0, sizeof(now), &now) == 0 &&
               (uint32_t)CPU_COUNT(&now) <= init->plan.pin_cpus;
}

uint64_t verify_protections(const struct init *init)
{
        bool container = init->plan.kind == PLAN_CONTAINER;
        uint64_t seen;
        const struct {
                bool holds;
                enum protection protection;
        } found[] = {
                { container && root_is_own(init), PROTECTION_FILESYSTEM },
                { container && proc_is_own(), PROTECTION_PROC },
                { identity_is_unprivileged(init), PROTECTION_IDENTITY },
                { caps_are_empty(container || init->change_uid), PROTECTION_CAPABILITIES },
                { prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, PROTECTION_NO_NEW_PRIVS },
                { seccomp_is_active(), PROTECTION_SECCOMP },
                { may_be_looked_into() && own_name_is_closed(), PROTECTION_LANDLOCK },
                { only_streams_are_open(init), PROTECTION_DESCRIPTORS },
                { session_is_own(), PROTECTION_SESSION },
                { limit_is(RLIMIT_CORE, 0), PROTECTION_CORE_DUMPS },
                { cpus_are_pinned(init), PROTECTION_CPUS },
        };

        seen = namespaces_that_differ(init);
        if (container && !host_name_is_hidden())
                seen &= ~PROTECTION_BIT(UTS_NAMESPACE);
        /* Connections out of the namespace are made by who is asked; nobody would be. */
        if (init->plan.network == PLAN_NETWORK_ASKED && !seccomp_has_listener())
                seen &= ~PROTECTION_BIT(NETWORK);
        for (size_t i = 0; i < ARRAY_SIZE(found); i++)
                if (found[i].holds)
                        seen |= UINT64_C(1) << found[i].protection;
        return seen;
}

bool verify_open_files(const struct init *init)
{
        return limit_is(RLIMIT_NOFILE, init->plan.open_files);
}
