/* A plain subprocess with limits: for trusted code, and for machines that allow nothing else.
 * Landlock and seccomp are applied where the kernel has them; the result says what was not
 * contained. */
#include "backend/backend.h"
#include "kernel/landlock.h"

#include <unistd.h>

static uint64_t required(enum plan_network network)
{
        (void)network;
        return PROTECTION_BIT(NO_NEW_PRIVS) | PROTECTION_BIT(DESCRIPTORS) |
               PROTECTION_BIT(SESSION) | PROTECTION_BIT(CORE_DUMPS) | PROTECTION_BIT(OPEN_FILES);
}

static void complete(struct plan *plan)
{
        plan->kind = PLAN_LOCAL;
        plan->landlock = landlock_abi() > 0;
        plan->best_effort = 1;
        plan->required = required(plan->network);
        plan->supervisor_pid = (uint32_t)getpid();
}

static void describe(const struct run *run, const struct plan *plan, struct result *result)
{
        backend_describe_seen(run, BACKEND_PROVEN, result);
        if (run->is_ready && (run->ready.seen & PROTECTION_BIT(CAPABILITIES)) &&
            plan->uid_span == 0)
                result_set_protection(result, PROTECTION_CAPABILITIES, STATE_ENFORCED, "capset",
                                      "but for the bounding set, which an ordinary user cannot "
                                      "empty; no_new_privs keeps from gaining any of it");
        if (run->is_ready && (run->ready.seen & PROTECTION_BIT(LANDLOCK))) {
                result_set_protection(result, PROTECTION_FILESYSTEM, STATE_MISSING, "landlock",
                                      "contents are protected; modes, owners and times of the "
                                      "user's files are not");
                if (run->ready.landlock_abi >= 4)
                        result_set_protection(result, PROTECTION_NETWORK, STATE_MISSING, "landlock",
                                              "TCP is refused, other traffic is not");
        }
}

const struct backend backend_local = { "local", PLAN_LOCAL, required, complete, describe };
