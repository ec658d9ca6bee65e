/* A step of the guest's: the rules of Landlock, by the paths that it may use. */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "kernel/landlock.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What lies below something that may be read as well needs no rule of its own: links lead to paths
 * that have one, or out of the container, where there is nothing. */
static bool is_covered(const struct init *init, const struct plan_mount *mount)
{
        if (init->plan.kind != PLAN_CONTAINER || mount->kind == PLAN_MOUNT_WRITE)
                return false;
        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                const struct plan_mount *other = &init->plan.mounts[i];

                if (other->kind != PLAN_MOUNT_WRITE && path_is_below(mount->target, other->target))
                        return true;
        }
        return path_is_below(mount->target, "/etc");
}

/* In a container what was handed in is a mount by now; in a local run it is the host's own. */
static int allow_mount(const struct init *init, int rules, int abi, const struct plan_mount *mount)
{
        enum landlock_access access =
                mount->kind == PLAN_MOUNT_WRITE ? LANDLOCK_WRITE : LANDLOCK_READ;

        if (init->plan.kind == PLAN_CONTAINER)
                return landlock_allow(rules, abi, mount->target, access);
        if (mount->kind == PLAN_MOUNT_SYSTEM)
                return landlock_allow(rules, abi, mount->source, access);
        return landlock_allow_handed_in(rules, abi, mount->source, access);
}

/* The same file rules once more; in a local run, the only ones. */
static int allow_paths(const struct init *init, int rules, int abi)
{
        static const struct {
                const char *path;
                enum landlock_access access;
                bool in_container;
        } fixed[] = {
                { "/", LANDLOCK_LIST, true },
                { "/proc", LANDLOCK_READ, true },
                { "/proc", LANDLOCK_READ, false },
                /* A container's /dev holds nothing but what it may use; the host's holds more. */
                { "/dev", LANDLOCK_DEVICE, true },
                { "/dev/null", LANDLOCK_DEVICE, false },
                { "/dev/zero", LANDLOCK_DEVICE, false },
                { "/dev/full", LANDLOCK_DEVICE, false },
                { "/dev/random", LANDLOCK_READ, false },
                { "/dev/urandom", LANDLOCK_READ, false },
                { "/dev/shm", LANDLOCK_WRITE, true },
                { "/tmp", LANDLOCK_WRITE, true },
                { "/workspace", LANDLOCK_WRITE, true },
                { "/code", LANDLOCK_READ, true },
                { "/etc", LANDLOCK_READ, true },
        };
        bool container = init->plan.kind == PLAN_CONTAINER;

        for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
                if (container == fixed[i].in_container &&
                    landlock_allow(rules, abi, fixed[i].path, fixed[i].access) < 0)
                        return -1;
        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                const struct plan_mount *mount = &init->plan.mounts[i];

                if (!is_covered(init, mount) && allow_mount(init, rules, abi, mount) < 0)
                        return -1;
        }
        return 0;
}

static int allow_scratch(const struct init *init, int rules, int abi)
{
        static const struct {
                const char *name;
                enum landlock_access access;
        } parts[] = {
                { "code", LANDLOCK_READ },
                { "workspace", LANDLOCK_WRITE },
                { "tmp", LANDLOCK_WRITE },
        };
        char path[4200];

        for (size_t i = 0; i < ARRAY_SIZE(parts) && init->plan.scratch[0]; i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", init->plan.scratch, parts[i].name);
                if (landlock_allow(rules, abi, path, parts[i].access) < 0)
                        return -1;
        }
        return (guest_is_handed_in(init) ? landlock_allow_handed_in : landlock_allow)(
                rules, abi, init->plan.directory, LANDLOCK_WRITE);
}

int access_apply(struct init *init)
{
        int abi = landlock_abi();
        AUTO_CLOSE int rules = -1;

        if (!init->plan.landlock)
                return 0;
        if (abi == 0) {
                errno = ENOSYS;
                return -1;
        }
        /* Where the supervisor is asked it makes every connection itself, and none is the guest's.
         */
        rules = landlock_new(abi, abi >= 6,
                             abi >= 4 && (init->plan.network == PLAN_NETWORK_NONE ||
                                          init->plan.network == PLAN_NETWORK_ASKED));
        if (rules < 0 || allow_paths(init, rules, abi) < 0)
                return -1;
        if (init->plan.kind == PLAN_LOCAL && allow_scratch(init, rules, abi) < 0)
                return -1;
        init->report.landlock_abi = abi;
        if (landlock_apply(rules) < 0)
                return -1;
        if (verify_landlock())
                init->report.seen |= PROTECTION_BIT(LANDLOCK);
        return 0;
}
