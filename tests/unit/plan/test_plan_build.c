/* From policy and language to the order of one step. */
#include "build_helpers.h"

static void python_runs_its_file_with_the_arguments(void **state)
{
        struct bench bench;
        const struct plan_file *code;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        build(&bench);
        has_arguments(&bench.draft.plan,
                      (const char *const[]){ "/usr/bin/tool", "/code/main.py", "one", "", NULL });
        assert_string_equal(bench.draft.plan.directory, "/workspace");
        assert_string_equal(bench.draft.plan.workspace, "");
        assert_string_equal(bench.draft.plan.scratch, "");
        code = file_at(&bench.draft.plan, "/code/main.py");
        assert_non_null(code);
        assert_int_equal(code->mode, 0644);
        assert_int_equal(code->fd_number, 0);
        assert_int_equal(code->length, 4);
        assert_memory_equal(code->data, "text", 4);
        assert_non_null(mount_at(&bench.draft.plan, "/usr/lib"));
        assert_int_equal(mount_at(&bench.draft.plan, "/usr/lib")->kind, PLAN_MOUNT_SYSTEM);
        tear_down(&bench);
}

static void a_local_run_lives_below_its_scratch_directory(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_LOCAL);
        build(&bench);
        has_arguments(&bench.draft.plan,
                      (const char *const[]){ "/usr/bin/tool", "/tmp/scratch/code/main.py", "one",
                                             "", NULL });
        assert_string_equal(bench.draft.plan.directory, "/tmp/scratch/workspace");
        assert_string_equal(bench.draft.plan.scratch, "/tmp/scratch");
        assert_string_equal(variable(&bench.draft.plan, "HOME"), "/tmp/scratch/workspace");
        assert_string_equal(variable(&bench.draft.plan, "TMPDIR"), "/tmp/scratch/tmp");
        /* The files of /etc are the host's there: none are written. */
        assert_int_equal(bench.draft.plan.file_count, 1);
        assert_non_null(file_at(&bench.draft.plan, "/tmp/scratch/code/main.py"));
        tear_down(&bench);
}

static void the_compiler_gets_the_source_and_no_arguments(void **state)
{
        struct bench bench;

        set_up(&bench, "c", PLAN_STEP_COMPILE, PLAN_CONTAINER);
        assert_int_equal(policy_add_mount(&bench.policy, "/srv", "/srv", "ro", NULL), 0);
        bench.policy.network_mode = NETWORK_HOST;
        build(&bench);
        has_arguments(&bench.draft.plan,
                      (const char *const[]){ "/usr/bin/tool", "-O2", "-std=gnu17", "-o",
                                             "/workspace/main", "/code/main.c", "-lm", NULL });
        assert_int_equal(file_at(&bench.draft.plan, "/code/main.c")->mode, 0644);
        assert_non_null(mount_at(&bench.draft.plan, "/usr/include"));
        assert_null(mount_at(&bench.draft.plan, "/srv"));
        assert_int_equal(bench.draft.plan.network, PLAN_NETWORK_NONE);
        tear_down(&bench);
}

static void the_compiled_program_sees_no_compiler(void **state)
{
        struct bench bench;
        const struct plan_file *program;

        set_up(&bench, "c", PLAN_STEP_RUN, PLAN_CONTAINER);
        has_built(&bench, "main", 1 << 20);
        build(&bench);
        has_arguments(&bench.draft.plan, (const char *const[]){ "/code/main", "one", "", NULL });
        program = file_at(&bench.draft.plan, "/code/main");
        assert_non_null(program);
        assert_int_equal(program->mode, 0755);
        assert_int_equal(program->fd_number, 1);
        assert_int_equal(program->size, 1 << 20);
        assert_false(program->by_guest);
        assert_null(file_at(&bench.draft.plan, "/code/main.c"));
        assert_null(mount_at(&bench.draft.plan, "/usr/include"));
        assert_null(mount_at(&bench.draft.plan, "/usr/bin"));
        assert_true(bench.draft.plan.root_bytes > 1 << 20);
        tear_down(&bench);
}

static void a_binary_is_executed_itself(void **state)
{
        struct bench bench;

        set_up(&bench, "binary", PLAN_STEP_RUN, PLAN_CONTAINER);
        bench.input.tool = "";
        build(&bench);
        assert_string_equal(bench.draft.plan.program, bench.draft.plan.arguments[0]);
        assert_true(strncmp(bench.draft.plan.program, "/code/", 6) == 0);
        assert_int_equal(file_at(&bench.draft.plan, bench.draft.plan.program)->mode, 0755);
        assert_string_equal(bench.draft.plan.arguments[1], "one");
        tear_down(&bench);
}

static void a_program_of_the_host_is_mounted_and_not_copied(void **state)
{
        struct bench bench;
        const struct plan_mount *mount;

        set_up(&bench, "binary", PLAN_STEP_RUN, PLAN_CONTAINER);
        bench.input.program_path = "/opt/tool/program";
        bench.input.program_data = NULL;
        build(&bench);
        mount = mount_at(&bench.draft.plan, bench.draft.plan.program);
        assert_non_null(mount);
        assert_int_equal(mount->kind, PLAN_MOUNT_PLAIN);
        assert_string_equal(mount->source, "/opt/tool/program");
        assert_null(file_at(&bench.draft.plan, bench.draft.plan.program));
        tear_down(&bench);
}

static void the_policy_replaces_what_is_usual_in_the_environment(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        assert_int_equal(policy_set(&bench.policy, "env.PATH", "/mine", NULL), 0);
        assert_int_equal(policy_set(&bench.policy, "env.PATHS", "other", NULL), 0);
        assert_int_equal(policy_set(&bench.policy, "env.PYTHONDONTWRITEBYTECODE", "", NULL), 0);
        assert_int_equal(policy_set(&bench.policy, "env.MINE", "a=b", NULL), 0);
        build(&bench);
        assert_string_equal(variable(&bench.draft.plan, "PATH"), "/mine");
        assert_string_equal(variable(&bench.draft.plan, "PATHS"), "other");
        assert_string_equal(variable(&bench.draft.plan, "PYTHONDONTWRITEBYTECODE"), "");
        assert_string_equal(variable(&bench.draft.plan, "MINE"), "a=b");
        assert_string_equal(variable(&bench.draft.plan, "USER"), "sandbox");
        assert_string_equal(variable(&bench.draft.plan, "HOME"), "/workspace");
        assert_string_equal(variable(&bench.draft.plan, "LC_ALL"), "C.UTF-8");
        assert_null(bench.draft.plan.environment[bench.draft.plan.environment_count]);
        tear_down(&bench);
}

static void nothing_of_the_callers_environment_enters(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        assert_int_equal(setenv("SECRET_OF_THE_CALLER", "x", 1), 0);
        build(&bench);
        assert_null(variable(&bench.draft.plan, "SECRET_OF_THE_CALLER"));
        tear_down(&bench);
}

static void ten_thousand_variables_are_no_burden(void **state)
{
        struct bench bench;
        uint64_t started;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        for (int i = 0; i < 10000; i++) {
                char text[64];

                (void)snprintf(text, sizeof(text), "VARIABLE_NUMBER_%d=%d", i, i);
                assert_int_equal(strlist_add(&bench.policy.env, text), 0);
        }
        started = clock_now_ns();
        build(&bench);
        /* Far above what it takes, far below what comparing each with each would. */
        assert_true(clock_now_ns() - started < UINT64_C(2000000000));
        assert_string_equal(variable(&bench.draft.plan, "VARIABLE_NUMBER_9999"), "9999");
        tear_down(&bench);
}

static void volumes_are_mounted_as_the_policy_says(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        assert_int_equal(policy_add_mount(&bench.policy, "/srv/in", "/in", "ro", NULL), 0);
        assert_int_equal(policy_add_mount(&bench.policy, "/srv/out", "/out", "rw", NULL), 0);
        build(&bench);
        assert_int_equal(mount_at(&bench.draft.plan, "/in")->kind, PLAN_MOUNT_READ);
        assert_string_equal(mount_at(&bench.draft.plan, "/in")->source, "/srv/in");
        assert_int_equal(mount_at(&bench.draft.plan, "/out")->kind, PLAN_MOUNT_WRITE);
        tear_down(&bench);
}

static void a_workspace_of_the_callers_is_the_programs_and_not_the_compilers(void **state)
{
        struct bench bench;

        set_up(&bench, "c", PLAN_STEP_RUN, PLAN_CONTAINER);
        assert_int_equal(policy_set(&bench.policy, "filesystem.workspace", "/srv/work", NULL), 0);
        build(&bench);
        assert_string_equal(bench.draft.plan.workspace, "/srv/work");
        assert_string_equal(bench.draft.plan.directory, "/workspace");
        plan_draft_done(&bench.draft);
        choose_step(&bench, PLAN_STEP_COMPILE);
        build(&bench);
        assert_string_equal(bench.draft.plan.workspace, "");
        plan_draft_done(&bench.draft);
        choose_step(&bench, PLAN_STEP_RUN);
        bench.input.kind = PLAN_LOCAL;
        bench.input.scratch = "/tmp/scratch";
        build(&bench);
        assert_string_equal(bench.draft.plan.directory, "/srv/work");
        tear_down(&bench);
}

static void the_hosts_resolver_comes_with_the_hosts_network_alone(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        build(&bench);
        assert_int_equal(bench.draft.plan.network, PLAN_NETWORK_NONE);
        assert_non_null(file_at(&bench.draft.plan, "/etc/resolv.conf"));
        assert_null(mount_at(&bench.draft.plan, "/etc/resolv.conf"));
        plan_draft_done(&bench.draft);
        bench.policy.network_mode = NETWORK_HOST;
        bench.input.resolver = "/run/resolver.conf";
        build(&bench);
        assert_int_equal(bench.draft.plan.network, PLAN_NETWORK_HOST);
        assert_null(file_at(&bench.draft.plan, "/etc/resolv.conf"));
        assert_string_equal(mount_at(&bench.draft.plan, "/etc/resolv.conf")->source,
                            "/run/resolver.conf");
        tear_down(&bench);
}

static void limits_become_numbers_of_the_plan(void **state)
{
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        bench.policy.limits.disk_bytes = 8192;
        bench.policy.limits.open_files = 77;
        bench.policy.limits.cpu_time_ms = 1500;
        bench.policy.enforcement = ENFORCEMENT_BEST_EFFORT;
        bench.policy.network_mode = NETWORK_LOCALHOST;
        build(&bench);
        assert_int_equal(bench.draft.plan.disk_bytes, 8192);
        assert_int_equal(bench.draft.plan.file_bytes, 8192);
        assert_int_equal(bench.draft.plan.open_files, 77);
        assert_true(bench.draft.plan.cpu_seconds >= 2); /* behind the monitor's 1.5 */
        assert_int_equal(bench.draft.plan.best_effort, 1);
        assert_int_equal(bench.draft.plan.network, PLAN_NETWORK_LOCALHOST);
        plan_draft_done(&bench.draft);
        bench.policy.enforcement = ENFORCEMENT_STRICT;
        bench.policy.limits.disk_bytes = UINT64_C(1) << 42;
        build(&bench);
        assert_int_equal(bench.draft.plan.best_effort, 0);
        assert_true(bench.draft.plan.disk_inodes <= 1000000);
        tear_down(&bench);
}

/* What was built is taken by the decoder as it is. */
static void what_is_built_can_be_decoded(void **state)
{
        static const struct {
                const char *language;
                enum plan_step step;
                enum plan_kind kind;
        } all[] = {
                { "python", PLAN_STEP_RUN, PLAN_CONTAINER },
                { "python", PLAN_STEP_RUN, PLAN_LOCAL },
                { "c", PLAN_STEP_COMPILE, PLAN_CONTAINER },
                { "c", PLAN_STEP_RUN, PLAN_CONTAINER },
                { "c", PLAN_STEP_COMPILE, PLAN_LOCAL },
                { "binary", PLAN_STEP_RUN, PLAN_LOCAL },
                { "shell", PLAN_STEP_RUN, PLAN_CONTAINER },
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                AUTO_STRBUF struct strbuf bytes = { 0 };
                AUTO_FREE void *arena = NULL;
                struct bench bench;
                struct plan plan;

                set_up(&bench, all[i].language, all[i].step, all[i].kind);
                build(&bench);
                plan_encode(&bench.draft.plan, &bytes);
                assert_false(bytes.failed);
                arena = mem_alloc(plan_arena_size(bytes.length));
                assert_non_null(arena);
                assert_null(plan_decode(bytes.data, bytes.length, arena,
                                        plan_arena_size(bytes.length), &plan));
                assert_string_equal(plan.program, bench.draft.plan.program);
                tear_down(&bench);
        }
}

static void sweep(const char *language, enum plan_step step, enum plan_kind kind,
                  const char *program_path)
{
        struct bench bench;
        int r = SBX_ENOMEM;
        uint64_t n;

        set_up(&bench, language, step, kind);
        bench.input.program_path = program_path;
        assert_int_equal(policy_set(&bench.policy, "env.PATH", "/mine", NULL), 0);
        assert_int_equal(policy_add_mount(&bench.policy, "/srv/in", "/in", "ro", NULL), 0);
        for (n = 0; r != 0 && n < 1000; n++) {
                AUTO_STRBUF struct strbuf bytes = { 0 };
                struct error err = { 0 };

                mem_fail_after(n);
                r = plan_build(&bench.input, &bench.draft, &err);
                if (r == 0)
                        plan_encode(&bench.draft.plan, &bytes);
                mem_fail_after(UINT64_MAX);
                assert_int_equal(r, err.code);
                assert_true(r == 0 || r == SBX_ENOMEM);
                if (bytes.failed) {
                        r = SBX_ENOMEM;
                        plan_draft_done(&bench.draft);
                }
        }
        assert_int_equal(r, 0);
        assert_true(n > 10);
        tear_down(&bench);
}

static void building_survives_every_failing_allocation(void **state)
{
        sweep("python", PLAN_STEP_RUN, PLAN_CONTAINER, NULL);
        sweep("python", PLAN_STEP_RUN, PLAN_LOCAL, NULL);
        sweep("c", PLAN_STEP_COMPILE, PLAN_CONTAINER, NULL);
        sweep("c", PLAN_STEP_RUN, PLAN_LOCAL, NULL);
        sweep("binary", PLAN_STEP_RUN, PLAN_CONTAINER, "/opt/program");
}

static void the_launchers_text_goes_where_the_language_says_and_nowhere_else(void **state)
{
        const char *const command[] = {
                "{tool}", "-e", "{launcher}", "a,{launcher};", "{file}", "{launcher}{file}", NULL
        };
        struct language_park way = { 0 };
        struct strlist words = { 0 };
        struct bench bench;

        set_up(&bench, "python", PLAN_STEP_RUN, PLAN_CONTAINER);
        way = bench.input.language->park;
        way.command = command;
        way.launcher = "print({file})";
        bench.input.park = &way;
        bench.input.file = "{launcher}.py"; /* a name that a project may have */
        build(&bench);
        assert_string_equal(bench.draft.park.arguments.items[2], "{launcher}");
        assert_int_equal(plan_park_words(&bench.draft.park, &words), 0);
        assert_int_equal(words.count, 6);
        assert_string_equal(words.items[0], "/usr/bin/tool");
        assert_string_equal(words.items[2], "print({file})");
        assert_string_equal(words.items[3], "a,print({file});");
        assert_string_equal(words.items[4], "/code/{launcher}.py");
        assert_string_equal(words.items[5], "print({file})/code/{launcher}.py");
        strlist_done(&words);
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(python_runs_its_file_with_the_arguments),
                cmocka_unit_test(a_local_run_lives_below_its_scratch_directory),
                cmocka_unit_test(the_compiler_gets_the_source_and_no_arguments),
                cmocka_unit_test(the_compiled_program_sees_no_compiler),
                cmocka_unit_test(a_binary_is_executed_itself),
                cmocka_unit_test(a_program_of_the_host_is_mounted_and_not_copied),
                cmocka_unit_test(the_policy_replaces_what_is_usual_in_the_environment),
                cmocka_unit_test(nothing_of_the_callers_environment_enters),
                cmocka_unit_test(ten_thousand_variables_are_no_burden),
                cmocka_unit_test(volumes_are_mounted_as_the_policy_says),
                cmocka_unit_test(a_workspace_of_the_callers_is_the_programs_and_not_the_compilers),
                cmocka_unit_test(the_hosts_resolver_comes_with_the_hosts_network_alone),
                cmocka_unit_test(limits_become_numbers_of_the_plan),
                cmocka_unit_test(the_launchers_text_goes_where_the_language_says_and_nowhere_else),
                cmocka_unit_test(what_is_built_can_be_decoded),
                cmocka_unit_test(building_survives_every_failing_allocation),
        };

        return RUN(tests);
}
