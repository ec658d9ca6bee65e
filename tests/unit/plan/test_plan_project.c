/* Projects in a plan: where their files stand, and the words that name them. */
#include "build_helpers.h"

static void a_project_stands_where_the_program_starts_as_its_own(void **state)
{
        struct bench bench;
        const struct plan_file *file;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        has_built(&bench, "app/main.py", 10);
        bench.input.bundles[0].place = bench.input.source_place = "/workspace";
        bench.input.file = "app/main.py";
        build(&bench);
        assert_string_equal(bench.draft.plan.arguments[1], "/workspace/app/main.py");
        file = file_at(&bench.draft.plan, "/workspace/app/main.py");
        assert_non_null(file);
        assert_true(file->by_guest);
        tear_down(&bench);
}

static void a_local_project_is_in_the_scratch_directory(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_LOCAL);
        has_built(&bench, "main.py", 10);
        bench.input.bundles[0].place = bench.input.source_place = "/workspace";
        build(&bench);
        assert_string_equal(bench.draft.plan.arguments[1], "/tmp/scratch/workspace/main.py");
        assert_non_null(file_at(&bench.draft.plan, "/tmp/scratch/workspace/main.py"));
        tear_down(&bench);
}

static void all_sources_are_words_of_their_own(void **state)
{
        static const char *const command[] = { "{tool}",    "-o",      "{output}",
                                               "{sources}", "-I{dir}", NULL };
        struct bench bench;

        set_up(&bench, "c", PLAN_STEP_COMPILE, PLAN_CONTAINER);
        assert_int_equal(strlist_add(&bench.sources, "a.c"), 0);
        assert_int_equal(strlist_add(&bench.sources, "lib/b.c"), 0);
        bench.input.source_place = "/workspace";
        bench.input.command = command;
        build(&bench);
        has_arguments(&bench.draft.plan,
                      (const char *const[]){ "/usr/bin/tool", "-o", "/workspace/main",
                                             "/workspace/a.c", "/workspace/lib/b.c", "-I/workspace",
                                             NULL });
        tear_down(&bench);
}

static void placeholders_stand_inside_words_too(void **state)
{
        static const char *const command[] = { "{root}/lib:{memory_mib}", "{not one}", "{", "{tool",
                                               NULL };
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        bench.policy.limits.memory_bytes = 64 << 20;
        bench.input.command = command;
        build(&bench);
        has_arguments(&bench.draft.plan,
                      (const char *const[]){ "/usr/lib:64", "{not one}", "{", "{tool", "one", "",
                                             NULL }); /* the arguments come last by themselves */
        tear_down(&bench);
}

static void what_a_listed_path_holds_is_mounted_once(void **state)
{
        static const char *const paths[] = { "/usr/lib",   "{root}/lib", "{root}/lib/x",
                                             "/usr/lib64", "{root}/lib", NULL };
        struct language language;
        struct bench bench;
        uint32_t system_paths = 0;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        language = *bench.input.language;
        language.paths = paths;
        bench.input.language = &language;
        build(&bench);
        for (uint32_t i = 0; i < bench.draft.plan.mount_count; i++)
                system_paths += bench.draft.plan.mounts[i].kind == PLAN_MOUNT_SYSTEM;
        assert_int_equal(system_paths, 2);
        tear_down(&bench);
}

static void what_runs_the_tool_has_placeholders_too(void **state)
{
        static const char *const command[] = { "{runtime}", "{runtime_root}/lib", "{tool}",
                                               "{args}", NULL };
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        bench.input.command = command;
        bench.input.runtime = "/opt/node/bin/node";
        build(&bench);
        has_arguments(&bench.draft.plan,
                      (const char *const[]){ "/opt/node/bin/node", "/opt/node/lib", "/usr/bin/tool",
                                             "one", "", NULL });
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_project_stands_where_the_program_starts_as_its_own),
                cmocka_unit_test(a_local_project_is_in_the_scratch_directory),
                cmocka_unit_test(all_sources_are_words_of_their_own),
                cmocka_unit_test(placeholders_stand_inside_words_too),
                cmocka_unit_test(what_a_listed_path_holds_is_mounted_once),
                cmocka_unit_test(what_runs_the_tool_has_placeholders_too),
        };

        return RUN(tests);
}
