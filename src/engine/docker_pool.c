/*
 * Containers of an engine's that wait for a run: they are nests of the engine's like any other
 * (nests.h), each used once. What a container is made by is its kind; what a run brings itself
 * comes with the order to hatch it. src/docker/pool.c is the other side.
 */
#include "engine/nests.h"
#include "engine/passage.h"
#include "base/str.h"

#include <jansson.h>
#include <stdlib.h>

#define CODE_BYTES (UINT64_C(8) << 20) /* so much of a run's own has room in it */

bool docker_fits_pool(const struct plan *plan)
{
        bool fits =
                (plan->network == PLAN_NETWORK_NONE || plan->network == PLAN_NETWORK_LOCALHOST) &&
                plan->root_bytes <= CODE_BYTES;

        for (uint32_t i = 0; i < plan->mount_count && fits; i++)
                fits = plan->mounts[i].kind != PLAN_MOUNT_READ &&
                       plan->mounts[i].kind != PLAN_MOUNT_WRITE;
        return fits;
}

/* The order without what is said to each program. Caller frees. */
static char *order_of_kind(const char *order)
{
        static const char *const own[] = { "cpu_us", "language",    "runtimes", "strict",
                                           "tools",  "wants_files", "usage_ms" };
        json_t *json = json_loads(order, 0, NULL);
        char *text;

        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                (void)json_object_del(json, own[i]);
        text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        return text;
}

static void encode(const struct plan *plan, const char *order, struct strbuf *out)
{
        const char *arguments[] = { "nest", NULL };
        struct plan template = {
                .kind = plan->kind,
                .network = plan->network,
                .waits = 1, /* a keeper knows by it that one run is all that it is for */
                .cpu_seconds = plan->cpu_seconds,
                .disk_bytes = plan->disk_bytes,
                .disk_inodes = plan->disk_inodes,
                .file_bytes = plan->file_bytes,
                .open_files = plan->open_files,
                .root_bytes = CODE_BYTES,
                .group_name = "",
                .workspace = "",
                .directory = "/",
                .scratch = "",
                .program = "",
                .docker = order,
                .arguments = arguments,
                .argument_count = 1,
        };

        plan_encode(&template, out);
}

int docker_kind_make(const struct passage *passage, const struct plan_draft *draft,
                     struct nest_kind *ret_kind)
{
        char *order = order_of_kind(draft->plan.docker);
        struct hash hash;

        *ret_kind = (struct nest_kind){ .is_once = true };
        if (!order)
                return -1;
        encode(&draft->plan, order, &ret_kind->nest_plan);
        free(order);
        if (ret_kind->nest_plan.failed) {
                nest_kind_done(ret_kind);
                return -1;
        }
        hash_init(&hash);
        hash_update_part(&hash, ret_kind->nest_plan.data, ret_kind->nest_plan.length);
        (void)hash_update_identity(&hash, passage->docker.helper);
        (void)hash_update_identity(&hash, passage->docker.inside);
        hash_final(&hash, ret_kind->name);
        return 0;
}
