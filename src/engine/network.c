/* The network of a step, where the policy lets it resolve names or reach others. */
#include "engine/passage.h"
#include "base/mem.h"
#include "network/agent.h"

int step_open_network(const struct passage *passage, const struct plan *plan,
                      struct agent **ret_agent, struct error *err)
{
        const struct policy_values *policy = &passage->policy;
        const struct network_order order = {
                .resolve_all = policy->network_dns,
                .connects = policy->network_mode == NETWORK_ALLOWLIST,
                .allow = &policy->network_allow,
                .deny = &policy->network_deny,
                .connections_max = policy->network_connections,
                .bytes_max = policy->network_bytes,
                .rate_max = policy->network_rate,
                .becomes_guest = plan->uid_span > 0,
        };
        AUTO_FREE char *program = NULL;

        if (plan->network != PLAN_NETWORK_ASKED)
                return 0;
        if (plan->kind != PLAN_CONTAINER) {
                int r = error_set(err, SBX_EREFUSED,
                                  "network mode '%s': the local backend has no "
                                  "network of its own to control",
                                  policy_network_name(policy->network_mode));

                error_hint(err, "use the container backend");
                return r;
        }
        program = engine_need_beside(passage->engine, "sandbox-network", "network/program", err);
        if (!program)
                return err->code;
        return agent_start(program, &order, ret_agent, err);
}
