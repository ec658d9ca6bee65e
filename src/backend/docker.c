/* A container of a container engine's: what holds it is the engine's word for what it made. */
#include "backend/backend.h"

#include <unistd.h>

static uint64_t required(enum plan_network network)
{
        uint64_t all =
                PROTECTION_BIT(MOUNT_NAMESPACE) | PROTECTION_BIT(PID_NAMESPACE) |
                PROTECTION_BIT(NETWORK) | PROTECTION_BIT(IPC_NAMESPACE) |
                PROTECTION_BIT(UTS_NAMESPACE) | PROTECTION_BIT(FILESYSTEM) | PROTECTION_BIT(PROC) |
                PROTECTION_BIT(IDENTITY) | PROTECTION_BIT(CAPABILITIES) |
                PROTECTION_BIT(NO_NEW_PRIVS) | PROTECTION_BIT(SECCOMP) |
                PROTECTION_BIT(DESCRIPTORS) | PROTECTION_BIT(SESSION) | PROTECTION_BIT(CORE_DUMPS) |
                PROTECTION_BIT(CLEANUP) | PROTECTION_BIT(OPEN_FILES) | PROTECTION_BIT(MEMORY) |
                PROTECTION_BIT(CPUS) | PROTECTION_BIT(PROCESSES) | PROTECTION_BIT(DISK);

        return network == PLAN_NETWORK_HOST ? all & ~PROTECTION_BIT(NETWORK) : all;
}

static void complete(struct plan *plan)
{
        plan->landlock = 0;
        plan->required = required(plan->network);
        plan->supervisor_pid = (uint32_t)getpid();
}

/* What a container engine leaves to the machine that it runs on. */
static const struct {
        enum protection protection;
        const char *why;
} absent[] = {
        { PROTECTION_USER_NAMESPACE, "a matter of the engine's: rootless or userns-remap" },
        { PROTECTION_LANDLOCK, "not used in the containers of an engine" },
};

static void describe(const struct run *run, const struct plan *plan, struct result *result)
{
        uint64_t asked = required(plan->network) | PROTECTION_BIT(CGROUP_NAMESPACE);

        for (int id = 0; id < PROTECTION_COUNT; id++) {
                uint64_t bit = UINT64_C(1) << id;
                bool seen = run->is_ready && (run->ready.seen & bit);

                if (asked & bit)
                        result_set_protection(result, (enum protection)id,
                                              seen ? STATE_ENFORCED : STATE_MISSING,
                                              seen ? "engine" : NULL, "%s", "");
        }
        for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
                result_set_protection(result, absent[i].protection, STATE_MISSING, NULL, "%s",
                                      absent[i].why);
        if (run->ready.seen & PROTECTION_BIT(USER_NAMESPACE))
                result_set_protection(result, PROTECTION_USER_NAMESPACE, STATE_ENFORCED, "engine",
                                      "%.*s", (int)sizeof(run->ready.hint), run->ready.hint);
        if (run->ready.seen & PROTECTION_BIT(IDENTITY))
                result_set_protection(result, PROTECTION_IDENTITY, STATE_ENFORCED, "engine",
                                      "uid %u in the container", run->ready.guest_uid);
        if (run->ready.seen & PROTECTION_BIT(DISK))
                result_set_protection(result, PROTECTION_DISK, STATE_ENFORCED, "tmpfs",
                                      "workspace, /tmp and /dev/shm each");
        result_set_protection(result, PROTECTION_TIMEOUT, STATE_ENFORCED, "monitor", "%s", "");
        result_set_protection(result, PROTECTION_OUTPUT, STATE_ENFORCED, "monitor", "%s", "");
        result_set_protection(result, PROTECTION_CPU_TIME, STATE_ENFORCED, "inside",
                              "counted every 20 ms by the container's first process");
}

const struct backend backend_docker = { "docker", PLAN_CONTAINER, required, complete, describe };
