/* What to do where a machine cannot give a protection: one table by step and reason. */
#include "backend/backend.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum who { ANYBODY, ROOT, USER };

struct remedy {
        enum stage stage;
        int sys_errno; /* 0: any */
        enum who who;
        enum protection protection; /* which one is missing then */
        const char *hint;
};

#define LINK_HINT "a link that lies in a workspace or volume is not followed: remove it"
#define USERNS_HINT                                                                                \
        "allow user namespaces: 'sysctl -w kernel.unprivileged_userns_clone=1' (Debian), "         \
        "'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0' (Ubuntu 24.04), "              \
        "'sysctl -w user.max_user_namespaces=15000'; inside Docker start the container with "      \
        "'--security-opt seccomp=unconfined --security-opt apparmor=unconfined'"
#define NAMESPACES_HINT                                                                            \
        "raise the limits on namespaces: 'sysctl -w user.max_user_namespaces=15000 "               \
        "user.max_mnt_namespaces=15000 user.max_pid_namespaces=15000 "                             \
        "user.max_net_namespaces=15000 user.max_ipc_namespaces=15000 "                             \
        "user.max_uts_namespaces=15000 user.max_cgroup_namespaces=15000'"
#define NESTED_HINT                                                                                \
        "inside a container, start it with '--privileged' (or '--cap-add SYS_ADMIN "               \
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined')"
#define PROC_HINT                                                                                  \
        "the surrounding container hides parts of /proc; start it with "                           \
        "'--security-opt systempaths=unconfined' (Docker) or '--security-opt unmask=ALL' (Podman)"
#define LANDLOCK_HINT                                                                              \
        "boot a kernel of at least 5.13 with CONFIG_SECURITY_LANDLOCK and 'landlock' in the lsm= " \
        "list"

#define CROWDED_HINT                                                                               \
        "programs of this user, maybe in another sandbox, keep many descriptors on their way "     \
        "through sockets, which the kernel counts together: end them, or try again later"

static const struct remedy remedies[] = {
        { STAGE_ORDER, ETOOMANYREFS, ANYBODY, PROTECTION_COUNT, CROWDED_HINT },
        { STAGE_FORK, ETOOMANYREFS, ANYBODY, PROTECTION_COUNT, CROWDED_HINT },
        { STAGE_NAMESPACES, ENOSYS, ANYBODY, PROTECTION_PID_NAMESPACE,
          "Linux 5.12 or newer is needed (clone3)" },
        { STAGE_NAMESPACES, ENOSPC, ANYBODY, PROTECTION_USER_NAMESPACE, NAMESPACES_HINT },
        { STAGE_NAMESPACES, EAGAIN, ANYBODY, PROTECTION_PID_NAMESPACE,
          "too many processes: raise 'ulimit -u' or the pids limit of the surrounding control "
          "group" },
        { STAGE_NAMESPACES, 0, ROOT, PROTECTION_MOUNT_NAMESPACE, NESTED_HINT },
        { STAGE_NAMESPACES, 0, USER, PROTECTION_USER_NAMESPACE, USERNS_HINT },
        { STAGE_NOTIFY, EBUSY, ANYBODY, PROTECTION_NETWORK,
          "a supervisor around this process (a container engine's, or another sandbox) is asked "
          "about "
          "its system calls already, and a process has one: run outside of it, or with another "
          "network mode" },
        { STAGE_NOTIFY, 0, ANYBODY, PROTECTION_NETWORK,
          "Linux 5.9 or newer with CONFIG_SECCOMP_FILTER is needed (user notification); use "
          "another "
          "network mode" },
        { STAGE_NETWORK, ENOSPC, ANYBODY, PROTECTION_NETWORK, NAMESPACES_HINT },
        { STAGE_GROUP_NAMESPACE, ENOSPC, ANYBODY, PROTECTION_CGROUP_NAMESPACE, NAMESPACES_HINT },
        { STAGE_GUEST_NAMESPACE, ENOSPC, ANYBODY, PROTECTION_USER_NAMESPACE, NAMESPACES_HINT },
        { STAGE_NETWORK, 0, ANYBODY, PROTECTION_NETWORK, NESTED_HINT },
        { STAGE_USER_MAP, 0, ANYBODY, PROTECTION_USER_NAMESPACE, USERNS_HINT },
        { STAGE_PRIVATE, 0, ROOT, PROTECTION_MOUNT_NAMESPACE, NESTED_HINT },
        { STAGE_PRIVATE, 0, USER, PROTECTION_MOUNT_NAMESPACE, USERNS_HINT },
        { STAGE_ROOT, ENOSYS, ANYBODY, PROTECTION_FILESYSTEM,
          "Linux 5.12 or newer is needed (mount_setattr)" },
        { STAGE_ROOT, EPERM, ANYBODY, PROTECTION_FILESYSTEM, USERNS_HINT },
        { STAGE_ROOT, EACCES, ROOT, PROTECTION_FILESYSTEM,
          "its file system cannot show another owner on this kernel (tmpfs from Linux 6.3): put it "
          "on another one, "
          "make it writable for everybody, or run as its owner" },
        { STAGE_ROOT, EACCES, USER, PROTECTION_FILESYSTEM,
          "this user must be able to reach the path" },
        { STAGE_PROC, 0, ANYBODY, PROTECTION_PROC, PROC_HINT },
        { STAGE_GUEST_NAMESPACE, 0, ANYBODY, PROTECTION_USER_NAMESPACE, USERNS_HINT },
        { STAGE_LANDLOCK, 0, ANYBODY, PROTECTION_LANDLOCK, LANDLOCK_HINT },
        { STAGE_SECCOMP, 0, ANYBODY, PROTECTION_SECCOMP,
          "a kernel with CONFIG_SECCOMP_FILTER is needed" },
        { STAGE_GROUP, 0, ANYBODY, PROTECTION_MEMORY,
          "the control group could not be entered; see 'sandbox doctor'" },
        { STAGE_VOLUMES, EOVERFLOW, ANYBODY, PROTECTION_COUNT,
          "a volume inside a persistent workspace needs its directory there: make it first" },
        { STAGE_VOLUMES, ELOOP, ANYBODY, PROTECTION_COUNT, LINK_HINT },
        { STAGE_FILES, ELOOP, ANYBODY, PROTECTION_COUNT, LINK_HINT },
        { STAGE_FILES, EEXIST, ANYBODY, PROTECTION_COUNT,
          "a volume lies where the sandbox puts a file of its own: mount it elsewhere" },
        { STAGE_WORKSPACE, ENOENT, ANYBODY, PROTECTION_FILESYSTEM, "make the directory first" },
        { STAGE_DIRECTORY, EACCES, ANYBODY, PROTECTION_FILESYSTEM,
          "the program's unprivileged user must be able to enter it: 'chmod o+x', or run sandbox "
          "as its owner" },
        { STAGE_EXEC, E2BIG, ANYBODY, PROTECTION_COUNT,
          "give fewer or shorter arguments and variables" },
        { STAGE_EXEC, ENOEXEC, ANYBODY, PROTECTION_COUNT,
          "the file is not a program for this machine" },
        { STAGE_EXEC, ENOENT, ANYBODY, PROTECTION_COUNT,
          "the program, its interpreter or its dynamic loader is not visible inside the sandbox" },
        { STAGE_EXEC, EACCES, ANYBODY, PROTECTION_COUNT,
          "the file must be executable for everybody" },
};

static bool fits(const struct remedy *remedy, bool as_root)
{
        return remedy->who == ANYBODY || (remedy->who == ROOT) == as_root;
}

/* musl has no words for it. */
static const char *reason_of(int sys_errno)
{
        return sys_errno == ETOOMANYREFS ? "Too many references" : strerror(sys_errno);
}

int backend_failure(const struct report *report, bool as_root, struct error *err)
{
        const char *colon = report->detail[0] ? ": " : "";

        error_set(err, SBX_EREFUSED, "cannot %s%s%s: %s", stage_sentence((enum stage)report->stage),
                  colon, report->detail, reason_of(report->sys_errno));
        if (err)
                err->sys_errno = report->sys_errno;
        for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
                if (remedies[i].stage == report->stage && fits(&remedies[i], as_root) &&
                    (remedies[i].sys_errno == 0 || remedies[i].sys_errno == report->sys_errno)) {
                        error_hint(err, "%s", remedies[i].hint);
                        break;
                }
        return SBX_EREFUSED;
}

const char *backend_remedy(enum protection protection, bool as_root)
{
        for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
                if (remedies[i].protection == protection && remedies[i].sys_errno == 0 &&
                    fits(&remedies[i], as_root))
                        return remedies[i].hint;
        return NULL;
}
