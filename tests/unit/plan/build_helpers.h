/* What the tests of plan_build() share: an input with everything given, and looking into the plan.
 */
#ifndef TESTS_UNIT_PLAN_BUILD_HELPERS_H
#define TESTS_UNIT_PLAN_BUILD_HELPERS_H

#include "unit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "plan/build.h"

/* What a test changes before it builds; everything in it is given. */
struct bench {
        struct languages *languages;
        struct policy_values policy;
        struct strlist arguments, sources;
        struct bundle built;
        struct plan_input input;
        struct plan_draft draft;
};

/* The compiler's step, or the program's. */
static inline void choose_step(struct bench *bench, enum plan_step step)
{
        const struct language *language = bench->input.language;

        bench->input.step = step;
        bench->input.build = step == PLAN_STEP_COMPILE ? &language->compile : NULL;
        bench->input.command = bench->input.build ? language->compile.command : language->run;
}

static inline void set_up(struct bench *bench, const char *language, enum plan_step step,
                          enum plan_kind kind)
{
        *bench = (struct bench){ .languages = languages_new() };
        assert_non_null(bench->languages);
        assert_int_equal(policy_defaults(&bench->policy, NULL), 0);
        assert_int_equal(strlist_add(&bench->arguments, "one"), 0);
        assert_int_equal(strlist_add(&bench->arguments, ""), 0);
        bench->input = (struct plan_input){
                .kind = kind,
                .step = step,
                .policy = &bench->policy,
                .limits = &bench->policy.limits,
                .language = languages_by_name(bench->languages, language),
                .tool = "/usr/bin/tool",
                .source_place = "/code",
                .sources = &bench->sources,
                .has_program = true,
                .arguments = &bench->arguments,
                .scratch = kind == PLAN_LOCAL ? "/tmp/scratch" : "",
                .program_data = "text",
                .program_bytes = 4,
        };
        assert_non_null(bench->input.language);
        bench->input.file = bench->input.language->file;
        bench->input.output = bench->input.language->compile.output;
        bench->input.output = bench->input.output ? bench->input.output : "";
        choose_step(bench, step);
        bundle_init(&bench->built);
}

/* What a compiler made, instead of the code. */
static inline void has_built(struct bench *bench, const char *name, size_t length)
{
        char *bytes = mem_alloc(length);

        assert_non_null(bytes);
        assert_int_equal(bundle_add(&bench->built, name, 0755, bytes, length, NULL), 0);
        mem_free(bytes);
        bench->input.has_program = false;
        bench->input.program_data = NULL;
        bench->input.program_bytes = 0;
        bench->input.bundles[0] = (struct plan_bundle){ &bench->built, "/code", 1 };
        bench->input.bundle_count = 1;
}

static inline void build(struct bench *bench)
{
        struct error err = { 0 };

        if (plan_build(&bench->input, &bench->draft, &err) != 0)
                fail_msg("%s", err.message);
}

static inline void tear_down(struct bench *bench)
{
        plan_draft_done(&bench->draft);
        languages_free(bench->languages);
        policy_values_done(&bench->policy);
        strlist_done(&bench->arguments);
        strlist_done(&bench->sources);
        bundle_done(&bench->built);
}

static inline void has_arguments(const struct plan *plan, const char *const *expected)
{
        uint32_t count = 0;

        for (; expected[count]; count++) {
                assert_true(count < plan->argument_count);
                assert_string_equal(plan->arguments[count], expected[count]);
        }
        assert_int_equal(plan->argument_count, count);
        assert_null(plan->arguments[count]);
        assert_string_equal(plan->program, expected[0]);
}

/* The value of a variable; NULL where it is not there; the test fails where it is there twice. */
static inline const char *variable(const struct plan *plan, const char *name)
{
        size_t length = strlen(name);
        const char *found = NULL;

        for (uint32_t i = 0; i < plan->environment_count; i++)
                if (strncmp(plan->environment[i], name, length) == 0 &&
                    plan->environment[i][length] == '=') {
                        assert_null(found);
                        found = plan->environment[i] + length + 1;
                }
        return found;
}

static inline const struct plan_mount *mount_at(const struct plan *plan, const char *target)
{
        for (uint32_t i = 0; i < plan->mount_count; i++)
                if (strcmp(plan->mounts[i].target, target) == 0)
                        return &plan->mounts[i];
        return NULL;
}

static inline const struct plan_file *file_at(const struct plan *plan, const char *path)
{
        for (uint32_t i = 0; i < plan->file_count; i++)
                if (strcmp(plan->files[i].path, path) == 0)
                        return &plan->files[i];
        return NULL;
}

#endif
