/* The native container: namespaces, a root of its own, everything of docs/SECURITY-MODEL.md. */
#include "backend/backend.h"
#include "kernel/landlock.h"

#include <unistd.h>

static uint64_t required(enum plan_network network)
{
        uint64_t all = BACKEND_PROVEN;

        if (landlock_abi() == 0)
                all &= ~PROTECTION_BIT(LANDLOCK); /* "where the kernel has it" */
        return network == PLAN_NETWORK_HOST ? all & ~PROTECTION_BIT(NETWORK) : all;
}

static void complete(struct plan *plan)
{
        plan->kind = PLAN_CONTAINER;
        plan->landlock = landlock_abi() > 0;
        plan->required = required(plan->network);
        plan->supervisor_pid = (uint32_t)getpid();
}

static void describe(const struct run *run, const struct plan *plan, struct result *result)
{
        uint64_t asked = BACKEND_PROVEN;

        if (plan->network == PLAN_NETWORK_HOST)
                asked &= ~PROTECTION_BIT(NETWORK);
        backend_describe_seen(run, asked, result);
        if (plan->network == PLAN_NETWORK_ASKED &&
            result->protections[PROTECTION_NETWORK].state == STATE_ENFORCED)
                result_set_protection(result, PROTECTION_NETWORK, STATE_ENFORCED,
                                      "namespace+notify",
                                      "an empty namespace; the supervisor is asked about each "
                                      "connection and makes it, and answers for names");
}

const struct backend backend_container = { "container", PLAN_CONTAINER, required, complete,
                                           describe };
