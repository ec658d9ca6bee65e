/* The result: messages, protections, violations, and the exit code it means. */
#include "unit.h"

#include "result/result.h"

#include <string.h>

static int set_up(void **state)
{
        *state = result_new();
        return *state ? 0 : -1;
}

static int tear_down(void **state)
{
        result_free(*state);
        return 0;
}

static void a_new_result_has_an_identifier_and_a_time(void **state)
{
        struct result *result = *state, *other = result_new();

        assert_non_null(other);
        assert_int_equal(strlen(result->id), 26);
        assert_int_equal(strlen(result->started_at), 24);
        assert_string_not_equal(result->id, other->id);
        assert_int_equal(result->run.exit_code, -1);
        assert_int_equal(result->compile.exit_code, -1);
        result_free(other);
        result_free(NULL);
}

static void each_outcome_has_the_name_of_the_contract(void **state)
{
        static const char *const names[] = {
                "ok",           "failed",         "signaled",       "timeout",
                "cpu_limit",    "memory_limit",   "process_limit",  "disk_limit",
                "output_limit", "fuel_exhausted", "compile_error",  "blocked",
                "refused",      "cancelled",      "internal_error",
        };

        assert_int_equal(ARRAY_SIZE(names), OUTCOME_COUNT);
        for (unsigned i = 0; i < OUTCOME_COUNT; i++)
                assert_string_equal(outcome_name((enum outcome)i), names[i]);
        assert_string_equal(outcome_name((enum outcome)99), "internal_error");
        assert_string_equal(outcome_name((enum outcome)(-1)), "internal_error");
}

static void a_message_replaces_the_one_before(void **state)
{
        struct result *result = *state;

        assert_int_equal(result_set_message(result, "first"), 0);
        assert_int_equal(result_set_message(result, "timed out after %ds", 5), 0);
        assert_string_equal(result->message, "timed out after 5s");
}

static void a_message_that_could_not_be_made_leaves_the_one_before(void **state)
{
        struct result *result = *state;

        assert_int_equal(result_set_message(result, "first"), 0);
        mem_fail_after(0);
        assert_int_equal(result_set_message(result, "second"), SBX_ENOMEM);
        mem_fail_after(UINT64_MAX);
        assert_string_equal(result->message, "first");
}

static void a_new_result_is_null_when_memory_is_out(void **state)
{
        mem_fail_after(0);
        assert_null(result_new());
        mem_fail_after(UINT64_MAX);
}

static void a_protection_is_kept_with_mechanism_and_detail(void **state)
{
        struct result *result = *state;
        const struct result_protection *memory = &result->protections[PROTECTION_MEMORY];

        assert_int_equal(memory->state, STATE_NOT_ASKED);
        result_set_protection(result, PROTECTION_MEMORY, STATE_ENFORCED, "cgroup-v2", "%d MiB", 64);
        assert_int_equal(memory->state, STATE_ENFORCED);
        assert_string_equal(memory->by, "cgroup-v2");
        assert_string_equal(memory->detail, "64 MiB");
        result_set_protection(result, PROTECTION_MEMORY, STATE_MISSING, NULL, NULL);
        assert_int_equal(memory->state, STATE_MISSING);
        assert_string_equal(memory->detail, "");
}

static void a_detail_is_not_cut_inside_of_a_character(void **state)
{
        struct result *result = *state;
        char text[400] = "";

        /* 3 bytes each, and the room of 159 less the 'x' is no multiple of that. */
        for (int i = 0; i < 100; i++)
                strcat(text, "\xe2\x82\xac");
        result_set_protection(result, PROTECTION_MEMORY, STATE_MISSING, NULL, "x%s", text);
        assert_int_equal(strlen(result->protections[PROTECTION_MEMORY].detail), 157);
        assert_true(str_is_utf8(result->protections[PROTECTION_MEMORY].detail, 157));
}

static void violations_of_the_same_kind_and_what_are_counted_together(void **state)
{
        struct result *result = *state;

        result_add_violation(result, "network", "connect 1.2.3.4:80", "network is none", 2);
        result_add_violation(result, "network", "connect 1.2.3.4:81", "network is none", 1);
        result_add_violation(result, "network", "connect 1.2.3.4:80", "network is none", 3);
        assert_int_equal(result->violation_count, 2);
        assert_int_equal(result->violations[0].count, 5);
        assert_int_equal(result->violations[1].count, 1);
}

static void violations_beyond_the_maximum_are_dropped(void **state)
{
        struct result *result = *state;
        char what[32];

        for (int i = 0; i < RESULT_VIOLATIONS_MAX + 5; i++) {
                (void)snprintf(what, sizeof(what), "call %d", i);
                result_add_violation(result, "syscall", what, "refused", 1);
        }
        assert_int_equal(result->violation_count, RESULT_VIOLATIONS_MAX);
        result_add_violation(result, "syscall", "call 0", "refused", 1);
        assert_int_equal(result->violations[0].count, 2);
}

static void long_violations_are_cut_and_still_counted_together(void **state)
{
        struct result *result = *state;
        char what[300];

        memset(what, 'a', sizeof(what) - 1);
        what[sizeof(what) - 1] = '\0';
        result_add_violation(result, what, what, what, 1);
        result_add_violation(result, what, what, what, 1);
        assert_int_equal(result->violation_count, 1);
        assert_int_equal(result->violations[0].count, 2);
        assert_int_equal(strlen(result->violations[0].what), 95);
}

/* ---- the exit code ---- */

static void every_outcome_means_the_exit_code_of_the_contract(void **state)
{
        static const struct {
                enum outcome outcome;
                int exit_code, signal, expected;
        } cases[] = {
                { OUTCOME_OK, 0, 0, 0 },
                { OUTCOME_FAILED, 1, 0, 1 },
                { OUTCOME_FAILED, 255, 0, 255 },
                { OUTCOME_FAILED, 124, 0, 124 },
                { OUTCOME_SIGNALED, -1, 11, 139 },
                { OUTCOME_SIGNALED, -1, 64, 192 },
                { OUTCOME_TIMEOUT, -1, 9, 124 },
                { OUTCOME_TIMEOUT, 0, 0, 124 },
                { OUTCOME_CPU_LIMIT, -1, 9, 124 },
                { OUTCOME_FUEL_EXHAUSTED, -1, 0, 124 },
                { OUTCOME_MEMORY_LIMIT, -1, 9, 137 },
                { OUTCOME_MEMORY_LIMIT, 1, 0, 137 },
                { OUTCOME_PROCESS_LIMIT, 1, 0, 1 },
                { OUTCOME_PROCESS_LIMIT, -1, 6, 134 },
                { OUTCOME_DISK_LIMIT, 2, 0, 2 },
                { OUTCOME_DISK_LIMIT, -1, 25, 153 },
                { OUTCOME_OUTPUT_LIMIT, -1, 9, 137 },
                { OUTCOME_OUTPUT_LIMIT, -1, 0, 137 },
                { OUTCOME_BLOCKED, -1, 0, 126 },
                { OUTCOME_REFUSED, -1, 0, 125 },
                { OUTCOME_INTERNAL_ERROR, -1, 0, 125 },
                { OUTCOME_CANCELLED, -1, 15, 130 },
        };
        struct result *result = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                result->run.outcome = cases[i].outcome;
                result->run.exit_code = cases[i].exit_code;
                result->run.signal = cases[i].signal;
                if (result_process_exit_code(result) != cases[i].expected)
                        fail_msg("%s gives %d instead of %d", outcome_name(cases[i].outcome),
                                 result_process_exit_code(result), cases[i].expected);
        }
}

static void a_compile_error_has_the_exit_code_of_the_compiler(void **state)
{
        struct result *result = *state;

        result->run.outcome = OUTCOME_COMPILE_ERROR;
        result->compiled = true;
        result->compile.exit_code = 4;
        assert_int_equal(result_process_exit_code(result), 4);
        result->compile.exit_code = -1;
        result->compile.signal = 11;
        assert_int_equal(result_process_exit_code(result), 139);
}

static void a_compile_error_is_never_a_success(void **state)
{
        struct result *result = *state;

        result->run.outcome = OUTCOME_COMPILE_ERROR;
        assert_int_equal(result_process_exit_code(result), 1);
        result->compile.exit_code = 0;
        assert_int_equal(result_process_exit_code(result), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_new_result_has_an_identifier_and_a_time),
                TEST(each_outcome_has_the_name_of_the_contract),
                TEST(a_message_replaces_the_one_before),
                TEST(a_message_that_could_not_be_made_leaves_the_one_before),
                TEST(a_new_result_is_null_when_memory_is_out),
                TEST(a_protection_is_kept_with_mechanism_and_detail),
                TEST(a_detail_is_not_cut_inside_of_a_character),
                TEST(violations_of_the_same_kind_and_what_are_counted_together),
                TEST(violations_beyond_the_maximum_are_dropped),
                TEST(long_violations_are_cut_and_still_counted_together),
                TEST(every_outcome_means_the_exit_code_of_the_contract),
                TEST(a_compile_error_has_the_exit_code_of_the_compiler),
                TEST(a_compile_error_is_never_a_success),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
