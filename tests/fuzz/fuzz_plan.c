/*
 * The plan from foreign bytes, as the helper would decode it: into an arena of exactly the promised
 * size. Whatever is accepted is walked to its last byte, and encoded again it is the same.
 */
#include "base/str.h"
#include "plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s\n", what);
        abort();
}

static void check_path(const char *path)
{
        size_t length = strlen(path);

        require(path[0] == '/' && !strstr(path, "/../") && length < 4096,
                "a path that is not plain");
        require(length < 3 || strcmp(path + length - 3, "/..") != 0, "a path that leads up");
}

static void check_list(const char **items, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                require(strlen(items[i]) < PLAN_BYTES_MAX, "a string without an end");
        require(items[count] == NULL, "a list without an end");
}

static void check_plan(const struct plan *plan)
{
        for (uint32_t i = 0; i < plan->mount_count; i++) {
                require(plan->mounts[i].kind < PLAN_MOUNT_KINDS, "a mount of no kind");
                check_path(plan->mounts[i].source);
                check_path(plan->mounts[i].target);
        }
        for (uint32_t i = 0; i < plan->file_count; i++) {
                check_path(plan->files[i].path);
                require((plan->files[i].mode & ~0777u) == 0, "a mode with privileges");
        }
        require(plan->argument_count > 0, "nothing to run");
        require(plan->kind <= PLAN_LOCAL && plan->network <= PLAN_NETWORK_HOST,
                "a choice of no kind");
        check_list(plan->arguments, plan->argument_count);
        check_list(plan->environment, plan->environment_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct strbuf again = { 0 };
        struct plan plan;
        size_t arena_size = plan_arena_size(size);
        void *arena = malloc(arena_size);
        const char *fault = arena ? plan_decode(data, size, arena, arena_size, &plan) : "no memory";

        if (!fault) {
                check_plan(&plan);
                plan_encode(&plan, &again);
                require(!again.failed && again.length == size &&
                                memcmp(again.data, data, size) == 0,
                        "what was read is not what was written");
        }
        strbuf_done(&again);
        free(arena);
        return 0;
}
