/*
 * WebAssembly: the program runs in an engine, and the engine in a worker of ours (src/wasm). The
 * worker is contained like any other guest, so that there are two walls; where the machine allows
 * no namespaces, the second one is Landlock and seccomp.
 */
#include "backend/backend.h"

#include <unistd.h>

/* What the first wall holds, whatever stands behind it. */
static void describe_engine(struct result *result, bool is_alone)
{
        result_set_protection(result, PROTECTION_WEBASSEMBLY, STATE_ENFORCED, "wasmtime",
                              is_alone ? "the only wall beside Landlock and seccomp"
                                       : "within the sandbox that is listed here");
        if (!is_alone)
                return;
        result_set_protection(result, PROTECTION_FILESYSTEM, STATE_ENFORCED, "wasm",
                              "the directories that were given");
        result_set_protection(result, PROTECTION_NETWORK, STATE_ENFORCED, "wasm", "no sockets");
}

static uint64_t required(enum plan_network network)
{
        return backend_container.required(network);
}

static void complete(struct plan *plan)
{
        backend_container.complete(plan);
}

static void describe(const struct run *run, const struct plan *plan, struct result *result)
{
        backend_container.describe(run, plan, result);
        describe_engine(result, false);
}

static uint64_t required_bare(enum plan_network network)
{
        return backend_local.required(network) | PROTECTION_BIT(LANDLOCK) | PROTECTION_BIT(SECCOMP);
}

static void complete_bare(struct plan *plan)
{
        plan->kind = PLAN_LOCAL;
        plan->landlock = 1;
        plan->best_effort = 0;
        plan->required = required_bare(plan->network);
        plan->supervisor_pid = (uint32_t)getpid();
}

static void describe_bare(const struct run *run, const struct plan *plan, struct result *result)
{
        (void)plan;
        backend_describe_seen(run, BACKEND_PROVEN, result);
        describe_engine(result, true);
}

const struct backend backend_wasm = { "wasm", PLAN_CONTAINER, required, complete, describe };
const struct backend backend_wasm_bare = { "wasm", PLAN_LOCAL, required_bare, complete_bare,
                                           describe_bare };
