/* What the tests of the plan's codec share: a full plan, and decoding into an arena of exact size.
 */
#ifndef TESTS_UNIT_PLAN_HELPERS_H
#define TESTS_UNIT_PLAN_HELPERS_H

#include "unit.h"
#include "base/mem.h"
#include "plan/plan.h"

/* A plan with something in every field. */
static inline struct plan full_plan(void)
{
        static struct plan_mount mounts[] = {
                { PLAN_MOUNT_SYSTEM, "/usr/lib", "/usr/lib" },
                { PLAN_MOUNT_READ, "/srv/data", "/data" },
                { PLAN_MOUNT_WRITE, "/srv/out", "/out" },
        };
        static struct plan_file files[] = {
                { .path = "/code/main.py", .mode = 0644, .data = "a\0b", .length = 3 },
                { .path = "/code/program",
                  .mode = 0755,
                  .fd_number = 1,
                  .offset = 5,
                  .size = 77,
                  .data = "" },
                { .path = "/workspace/in",
                  .mode = 0120777,
                  .by_guest = 1,
                  .fd_number = 2,
                  .data = "" },
        };
        static const char *arguments[] = { "/usr/bin/python3", "/code/main.py", "", NULL };
        static const char *environment[] = { "A=b", "EMPTY=", NULL };
        struct plan plan = { 0 };
        uint32_t next = 0;

#define U32(field) plan.field = 100 + next++;
#define U64(field) plan.field = (UINT64_C(7) << 40) + next++;
#define STR(field) plan.field = "/" #field;
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        plan.kind = PLAN_LOCAL;
        plan.network = PLAN_NETWORK_LOCALHOST;
        plan.mounts = mounts;
        plan.mount_count = ARRAY_SIZE(mounts);
        plan.files = files;
        plan.file_count = ARRAY_SIZE(files);
        plan.arguments = arguments;
        plan.argument_count = ARRAY_SIZE(arguments) - 1;
        plan.environment = environment;
        plan.environment_count = ARRAY_SIZE(environment) - 1;
        return plan;
}

/* Decodes from a copy of exactly this length into an arena of exactly the promised size, so that
 * the address sanitizer sees any step beyond; the plan is looked at by `look` while both are there.
 */
static inline const char *decode_exactly(const void *data, size_t length,
                                         void (*look)(const struct plan *plan))
{
        char *copy = malloc(length ? length : 1);
        size_t size = plan_arena_size(length);
        void *arena = malloc(size);
        struct plan plan;
        const char *fault;

        assert_non_null(copy);
        assert_non_null(arena);
        if (length)
                memcpy(copy, data, length);
        fault = plan_decode(copy, length, arena, size, &plan);
        if (!fault && look)
                look(&plan);
        free(arena);
        free(copy);
        return fault;
}

/* Reads everything that was decoded, so that a bad pointer or an open string shows. */
static inline void walk_plan(const struct plan *plan)
{
        volatile size_t sum = 0;

#define U32(field) sum += plan->field;
#define U64(field) sum += plan->field;
#define STR(field) sum += strlen(plan->field);
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        for (uint32_t i = 0; i < plan->mount_count; i++)
                sum += plan->mounts[i].kind + strlen(plan->mounts[i].source) +
                       strlen(plan->mounts[i].target);
        for (uint32_t i = 0; i < plan->file_count; i++) {
                sum += strlen(plan->files[i].path) + plan->files[i].mode +
                       plan->files[i].fd_number + plan->files[i].offset + plan->files[i].size +
                       plan->files[i].by_guest;
                for (uint32_t at = 0; at < plan->files[i].length; at++)
                        sum += (unsigned char)plan->files[i].data[at];
        }
        for (uint32_t i = 0; i < plan->argument_count; i++)
                sum += strlen(plan->arguments[i]);
        for (uint32_t i = 0; i < plan->environment_count; i++)
                sum += strlen(plan->environment[i]);
        assert_true(sum > 0);
        assert_null(plan->arguments[plan->argument_count]);
        assert_null(plan->environment[plan->environment_count]);
}

#endif
