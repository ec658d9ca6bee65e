/* The report for a person. */
#include "unit.h"

#include "result/result.h"

#include <string.h>

static int set_up(void **state)
{
        struct result *result = result_new();

        if (!result)
                return -1;
        result->title = mem_strdup("Python");
        result->version = mem_strdup("3.11.2");
        result->backend = "container";
        result->run.exit_code = 0;
        *state = result;
        return 0;
}

static int tear_down(void **state)
{
        result_free(*state);
        return 0;
}

static void report_holds(const struct result *result, bool color, const char *part)
{
        AUTO_FREE char *text = result_to_text(result, color);

        assert_non_null(text);
        if (!strstr(text, part))
                fail_msg("no '%s' in:\n%s", part, text);
}

static void report_lacks(const struct result *result, bool color, const char *part)
{
        AUTO_FREE char *text = result_to_text(result, color);

        assert_non_null(text);
        if (strstr(text, part))
                fail_msg("'%s' in:\n%s", part, text);
}

static void a_short_run_is_told_in_a_few_lines(void **state)
{
        struct result *result = *state;
        AUTO_FREE char *text = NULL;

        strbuf_adds(&result->run.out.kept, "42");
        result->run.usage = (struct usage){ .wall_ns = 3100000,
                                            .cpu_us = 2100000,
                                            .memory_peak = 3 << 20,
                                            .startup_ns = 1100000,
                                            .processes_peak = 1 };
        assert_int_equal(strlist_add(&result->created, "out.csv"), 0);
        assert_int_equal(strlist_add(&result->deleted, "old"), 0);
        result_set_protection(result, PROTECTION_SECCOMP, STATE_ENFORCED, "filter", NULL);
        result_set_protection(result, PROTECTION_MEMORY, STATE_ENFORCED, "cgroup-v2", NULL);
        text = result_to_text(result, false);
        assert_non_null(text);
        assert_string_equal(text,
                            "Python 3.11.2 | container | ok (exit code 0)\n"
                            "--- stdout ---\n"
                            "42\n"
                            "--- metrics ---\n"
                            "time 3.1 ms, cpu 2.10 s, memory 3 MiB, startup 1.1 ms, processes 1, "
                            "read 0 B, written 0 B\n"
                            "files: +out.csv -old\n"
                            "enforced: seccomp memory\n");
}

static void a_refusal_tells_message_and_hint_and_no_figures(void **state)
{
        struct result *result = *state;

        result->run.outcome = OUTCOME_REFUSED;
        result->run.exit_code = -1;
        assert_int_equal(result_set_message(result, "no user namespaces"), 0);
        result->hint = mem_strdup("sysctl x=1");
        report_holds(result, false, "| refused\nmessage: no user namespaces\nhint: sysctl x=1\n");
        report_lacks(result, false, "metrics");
}

static void a_signal_is_told(void **state)
{
        struct result *result = *state;

        result->run.outcome = OUTCOME_SIGNALED;
        result->run.signal = 11;
        result->run.exit_code = -1;
        report_holds(result, false, "signaled (signal 11)");
}

static void missing_protections_stand_in_red_on_their_own_lines(void **state)
{
        struct result *result = *state;

        result_set_protection(result, PROTECTION_MEMORY, STATE_MISSING, NULL, "no cgroup");
        report_holds(result, false, "\nmissing: memory: no cgroup\n");
        report_holds(result, true, "\033[31mmissing: memory: no cgroup\033[0m\n");
}

static void color_is_used_only_where_it_is_asked_for(void **state)
{
        report_holds(*state, true, "\033[32mok\033[0m");
        report_lacks(*state, false, "\033");
}

static void a_failure_is_red(void **state)
{
        struct result *result = *state;

        result->run.outcome = OUTCOME_TIMEOUT;
        report_holds(result, true, "\033[31mtimeout\033[0m");
}

static void the_compiler_is_told_before_the_program(void **state)
{
        struct result *result = *state;

        result->run.outcome = OUTCOME_COMPILE_ERROR;
        result->compiled = true;
        result->compile.outcome = OUTCOME_FAILED;
        result->compile.exit_code = 1;
        strbuf_adds(&result->compile.err.kept, "main.c:1: error\n");
        report_holds(result, false,
                     "compile: failed (exit code 1), 0.000 s\n"
                     "--- compiler stderr ---\nmain.c:1: error\n");
        report_lacks(result, false, "metrics");
}

static void a_cut_stream_is_marked(void **state)
{
        struct result *result = *state;

        strbuf_adds(&result->run.err.kept, "abc");
        result->run.err.truncated = true;
        result->run.err.bytes = 1000;
        report_holds(result, false, "--- stderr ---\nabc\n[cut: 3 of 1000 bytes kept]\n");
}

static void a_stream_cut_to_nothing_is_marked(void **state)
{
        struct result *result = *state;

        result->run.out.truncated = true;
        result->run.out.bytes = 5;
        report_holds(result, false, "--- stdout ---\n[cut: 0 of 5 bytes kept]\n");
}

static void violations_are_told(void **state)
{
        result_add_violation(*state, "network", "connect 1.2.3.4:80", "network is none", 2);
        report_holds(*state, false,
                     "violation: network: connect 1.2.3.4:80: network is none (2)\n");
}

/* ---- hostile output ---- */

static void control_characters_are_shown_escaped(void **state)
{
        static const struct {
                const char *written, *shown;
        } cases[] = {
                { "\033[2J", "\\x1b[2J\n" },
                { "a\rb", "a\\x0db\n" },
                { "\b\a\x7f", "\\x08\\x07\\x7f\n" },
                { "\xc2\x9b"
                  "31m",
                  "\\xc2\\x9b31m\n" },
                { "\x9b"
                  "31m",
                  "\\x9b31m\n" },
                { "\xff\xc3", "\\xff\\xc3\n" },
                { "\xe2\x80\xae", "\\xe2\\x80\\xae\n" },
                { "\xe2\x81\xa6", "\\xe2\\x81\\xa6\n" },
                { "caf\xc3\xa9\t\xe2\x82\xac\xf0\x9f\x98\x80\n",
                  "caf\xc3\xa9\t\xe2\x82\xac\xf0\x9f\x98\x80\n" },
                { "\xc0\xaf", "\\xc0\\xaf\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct result *result = *state;
                char expected[128];

                strbuf_done(&result->run.out.kept);
                strbuf_adds(&result->run.out.kept, cases[i].written);
                (void)snprintf(expected, sizeof(expected), "--- stdout ---\n%s--- metrics",
                               cases[i].shown);
                report_holds(result, false, expected);
        }
}

static void a_nul_byte_is_shown_escaped(void **state)
{
        struct result *result = *state;

        strbuf_add(&result->run.out.kept, "a\0b", 3);
        report_holds(result, false, "\na\\x00b\n");
}

static void a_file_name_cannot_begin_a_line_or_drive_the_terminal(void **state)
{
        struct result *result = *state;

        assert_int_equal(strlist_add(&result->modified, "x\nenforced: all\033[0m"), 0);
        report_holds(result, false, "files: ~x\\x0aenforced: all\\x1b[0m\n");
}

static void our_own_lines_hold_no_control_characters_of_others(void **state)
{
        struct result *result = *state;

        result->name = mem_strdup("job\033[1m\n");
        assert_int_equal(result_set_message(result, "no module \033]0;x\a"), 0);
        report_holds(result, false, "| job\\x1b[1m\\x0a\n");
        report_holds(result, false, "message: no module \\x1b]0;x\\x07\n");
}

static void the_report_is_null_when_memory_is_out(void **state)
{
        AUTO_FREE char *text = NULL;
        uint64_t n = 0;

        for (; !text && n < 1000; n++) {
                mem_fail_after(n);
                text = result_to_text(*state, true);
                mem_fail_after(UINT64_MAX);
        }
        assert_non_null(text);
        assert_true(n > 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_short_run_is_told_in_a_few_lines),
                TEST(a_refusal_tells_message_and_hint_and_no_figures),
                TEST(a_signal_is_told),
                TEST(missing_protections_stand_in_red_on_their_own_lines),
                TEST(color_is_used_only_where_it_is_asked_for),
                TEST(a_failure_is_red),
                TEST(the_compiler_is_told_before_the_program),
                TEST(a_cut_stream_is_marked),
                TEST(a_stream_cut_to_nothing_is_marked),
                TEST(violations_are_told),
                TEST(control_characters_are_shown_escaped),
                TEST(a_nul_byte_is_shown_escaped),
                TEST(a_file_name_cannot_begin_a_line_or_drive_the_terminal),
                TEST(our_own_lines_hold_no_control_characters_of_others),
                TEST(the_report_is_null_when_memory_is_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
