/* What the helper measured, put into the result: who enforced what, in words. */
#include "backend/backend.h"
#include "kernel/seccomp.h"

#include <string.h>

/* By which mechanism each is held, where the helper saw that it is. */
static const char *const mechanisms[PROTECTION_COUNT] = {
        [PROTECTION_USER_NAMESPACE] = "namespace",
        [PROTECTION_MOUNT_NAMESPACE] = "namespace",
        [PROTECTION_PID_NAMESPACE] = "namespace",
        [PROTECTION_NETWORK] = "namespace",
        [PROTECTION_IPC_NAMESPACE] = "namespace",
        [PROTECTION_UTS_NAMESPACE] = "namespace",
        [PROTECTION_CGROUP_NAMESPACE] = "namespace",
        [PROTECTION_FILESYSTEM] = "pivot_root",
        [PROTECTION_PROC] = "mount",
        [PROTECTION_IDENTITY] = "setresuid",
        [PROTECTION_CAPABILITIES] = "capset",
        [PROTECTION_NO_NEW_PRIVS] = "prctl",
        [PROTECTION_SECCOMP] = "filter",
        [PROTECTION_LANDLOCK] = "ruleset",
        [PROTECTION_DESCRIPTORS] = "close_range",
        [PROTECTION_SESSION] = "setsid",
        [PROTECTION_CORE_DUMPS] = "rlimit",
        [PROTECTION_CLEANUP] = "parent-death-signal",
        [PROTECTION_OPEN_FILES] = "rlimit",
};

static void add_details(const struct report *ready, struct result *result)
{
        struct result_protection *all = result->protections;

        if (all[PROTECTION_SECCOMP].state == STATE_ENFORCED)
                result_set_protection(result, PROTECTION_SECCOMP, STATE_ENFORCED, "filter",
                                      "%u instructions, unknown calls are ENOSYS",
                                      seccomp_length());
        if (all[PROTECTION_LANDLOCK].state == STATE_ENFORCED)
                result_set_protection(
                        result, PROTECTION_LANDLOCK, STATE_ENFORCED, "ruleset", "version %d%s",
                        ready->landlock_abi,
                        ready->landlock_abi >= 6 ? ", signals and abstract sockets scoped" : "");
        if (all[PROTECTION_IDENTITY].state == STATE_ENFORCED && ready->guest_groups > 0)
                result_set_protection(
                        result, PROTECTION_IDENTITY, STATE_ENFORCED, "setresuid",
                        "uid %u on the host, with %u supplementary groups of the caller's",
                        ready->guest_uid, ready->guest_groups);
        else if (all[PROTECTION_IDENTITY].state == STATE_ENFORCED)
                result_set_protection(result, PROTECTION_IDENTITY, STATE_ENFORCED, "setresuid",
                                      "uid %u on the host, no groups", ready->guest_uid);
}

void backend_describe_seen(const struct run *run, uint64_t asked, struct result *result)
{
        for (int id = 0; id < PROTECTION_COUNT; id++) {
                uint64_t bit = UINT64_C(1) << id;
                bool seen = run->is_ready && (run->ready.seen & bit);

                if (asked & bit)
                        result_set_protection(result, (enum protection)id,
                                              seen ? STATE_ENFORCED : STATE_MISSING,
                                              seen ? mechanisms[id] : NULL, "%s", "");
        }
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
                static const struct {
                        enum stage stage;
                        enum protection protection;
                } effects[] = {
                        { STAGE_PROC, PROTECTION_PROC },
                        { STAGE_GROUP_NAMESPACE, PROTECTION_CGROUP_NAMESPACE },
                        { STAGE_GUEST_NAMESPACE, PROTECTION_USER_NAMESPACE },
                        { STAGE_LANDLOCK, PROTECTION_LANDLOCK },
                        { STAGE_SECCOMP, PROTECTION_SECCOMP },
                };

                for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
                        if (effects[i].stage == (enum stage)stage && run->ready.skipped[stage])
                                result_set_protection(result, effects[i].protection, STATE_MISSING,
                                                      NULL, "cannot %s: %s",
                                                      stage_sentence((enum stage)stage),
                                                      strerror(run->ready.skipped[stage]));
        }
        if (run->is_ready)
                add_details(&run->ready, result);
}
