/* The result as JSON: fields, order, nulls, and what hostile output becomes. */
#include "unit.h"

#include "result/result.h"

#include <jansson.h>
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

/* A result with something in every part. */
static void fill(struct result *result)
{
        (void)snprintf(result->id, sizeof(result->id), "01JCQ0000000000000000000ID");
        (void)snprintf(result->started_at, sizeof(result->started_at), "2026-11-15T06:04:11.123Z");
        result->name = mem_strdup("job");
        result->language = mem_strdup("c");
        result->version = mem_strdup("12.2.0");
        result->message = mem_strdup("message");
        result->hint = mem_strdup("hint");
        result->backend = "container";
        result->warm = "none";
        result->run.exit_code = 0;
        result->run.usage = (struct usage){ .wall_ns = 3100400,
                                            .cpu_us = 2100,
                                            .cpu_user_us = 2000,
                                            .cpu_system_us = 100,
                                            .memory_peak = 3145728,
                                            .startup_ns = 1100000,
                                            .io_write_bytes = 12,
                                            .processes_peak = 1 };
        strbuf_adds(&result->run.out.kept, "42\n");
        result->run.out.bytes = 3;
        result->compiled = true;
        result->compile.exit_code = 0;
        strbuf_adds(&result->compile.err.kept, "warning");
        assert_int_equal(strlist_add(&result->created, "out.csv"), 0);
        result->limits[0] = (struct result_limit){ "timeout", 30, true };
        result->limits[1] = (struct result_limit){ "memory", 536870912, false };
        result->limit_count = 2;
        result_set_protection(result, PROTECTION_SECCOMP, STATE_ENFORCED, "filter", "%d calls",
                              300);
        result_set_protection(result, PROTECTION_LANDLOCK, STATE_MISSING, NULL, NULL);
        result_add_violation(result, "network", "connect", "network is none", 2);
}

static json_t *to_json(const struct result *result)
{
        AUTO_FREE char *text = result_to_json(result, false);
        json_error_t error;
        json_t *value;

        assert_non_null(text);
        value = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!value)
                fail_msg("%s in %s", error.text, text);
        return value;
}

static void assert_text(const json_t *value, const char *key, const char *expected)
{
        const char *text = json_string_value(json_object_get(value, key));

        if (!expected) {
                assert_true(json_is_null(json_object_get(value, key)));
                return;
        }
        assert_non_null(text);
        assert_string_equal(text, expected);
}

static void the_whole_is_written_in_the_order_of_the_contract(void **state)
{
        static const char expected[] =
                "{\"id\":\"01JCQ0000000000000000000ID\",\"name\":\"job\",\"language\":\"c\","
                "\"version\":\"12.2.0\",\"backend\":\"container\",\"status\":\"ok\","
                "\"success\":true,\"exit_code\":0,\"signal\":null,\"message\":\"message\","
                "\"hint\":\"hint\",\"fallback\":null,\"stdout\":\"42\\n\",\"stderr\":\"\",\"stdout_"
                "truncated\":false,"
                "\"stderr_truncated\":false,\"stdout_bytes\":3,\"stderr_bytes\":0,"
                "\"encoding\":\"utf-8\",\"execution_time\":0.0031,\"cpu_time\":0.0021,"
                "\"memory_used\":3145728,\"compile\":{\"status\":\"ok\",\"exit_code\":0,"
                "\"signal\":null,\"stdout\":\"\",\"stderr\":\"warning\",\"stdout_truncated\":false,"
                "\"stderr_truncated\":false,\"encoding\":\"utf-8\",\"execution_time\":0.0,"
                "\"cpu_time\":0.0,\"memory_used\":0,\"cached\":false},\"deps\":null,\"files\":{"
                "\"created\":[\"out.csv\"],"
                "\"modified\":[],\"deleted\":[],\"truncated\":false,\"collected\":[]},\"fuel_"
                "consumed\":null,"
                "\"metrics\":{\"startup_time\":0.0011,\"processes_peak\":1,\"io_read_bytes\":0,"
                "\"io_write_bytes\":12,\"net_connections\":0,\"net_rx_bytes\":0,\"net_tx_bytes\":0,"
                "\"warm\":\"none\",\"cpu_user\":0.002,\"cpu_system\":0.0001},"
                "\"limits\":{\"timeout\":30.0,\"memory\":536870912},\"protections\":["
                "{\"name\":\"seccomp\",\"state\":\"enforced\",\"by\":\"filter\","
                "\"detail\":\"300 calls\"},{\"name\":\"landlock\",\"state\":\"missing\","
                "\"by\":null,\"detail\":null}],\"violations\":[{\"kind\":\"network\","
                "\"what\":\"connect\",\"why\":\"network is none\",\"count\":2}],"
                "\"analysis\":null,\"cases\":null,\"template\":null,"
                "\"started_at\":\"2026-11-15T06:04:11.123Z\",\"cost\":null}";
        AUTO_FREE char *text = NULL;

        fill(*state);
        text = result_to_json(*state, true);
        assert_non_null(text);
        assert_string_equal(text, expected);
}

static void absent_values_are_null(void **state)
{
        static const char *const keys[] = { "name",          "language", "version",  "backend",
                                            "exit_code",     "signal",   "message",  "hint",
                                            "fallback",      "compile",  "deps",     "analysis",
                                            "fuel_consumed", "cases",    "template", "cost" };
        struct result *result = *state;
        json_t *value;

        result->run.outcome = OUTCOME_REFUSED;
        value = to_json(result);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (!json_is_null(json_object_get(value, keys[i])))
                        fail_msg("'%s' is not null", keys[i]);
        assert_text(value, "status", "refused");
        assert_true(json_is_false(json_object_get(value, "success")));
        assert_text(json_object_get(value, "metrics"), "warm", NULL);
        assert_int_equal(json_array_size(json_object_get(value, "protections")), 0);
        json_decref(value);
}

static void success_is_true_for_ok_alone(void **state)
{
        struct result *result = *state;

        for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
                json_t *value;

                result->run.outcome = (enum outcome)i;
                value = to_json(result);
                assert_int_equal(json_is_true(json_object_get(value, "success")), i == OUTCOME_OK);
                json_decref(value);
        }
}

static void a_signal_is_a_number_and_the_exit_code_null(void **state)
{
        struct result *result = *state;
        json_t *value;

        result->run.outcome = OUTCOME_SIGNALED;
        result->run.signal = 11;
        value = to_json(result);
        assert_int_equal(json_integer_value(json_object_get(value, "signal")), 11);
        assert_true(json_is_null(json_object_get(value, "exit_code")));
        json_decref(value);
}

/* ---- output ---- */

static void output_that_is_not_utf8_is_base64_in_both_streams(void **state)
{
        struct result *result = *state;
        json_t *value;

        strbuf_add(&result->run.out.kept, "\xff\x00\xfe", 3);
        strbuf_adds(&result->run.err.kept, "plain");
        value = to_json(result);
        assert_text(value, "encoding", "base64");
        assert_text(value, "stdout", "/wD+");
        assert_text(value, "stderr", "cGxhaW4=");
        json_decref(value);
}

static void the_compiler_has_an_encoding_of_its_own(void **state)
{
        struct result *result = *state;
        json_t *value;

        result->compiled = true;
        strbuf_adds(&result->compile.err.kept, "\xff");
        strbuf_adds(&result->run.out.kept, "plain");
        value = to_json(result);
        assert_text(value, "encoding", "utf-8");
        assert_text(json_object_get(value, "compile"), "encoding", "base64");
        json_decref(value);
}

static void a_character_cut_by_the_cap_does_not_make_it_base64(void **state)
{
        struct result *result = *state;
        json_t *value;

        strbuf_adds(&result->run.out.kept, "caf\xc3");
        result->run.out.truncated = true;
        value = to_json(result);
        assert_text(value, "encoding", "utf-8");
        assert_text(value, "stdout", "caf");
        json_decref(value);
}

static void a_character_cut_by_the_program_itself_is_base64(void **state)
{
        struct result *result = *state;
        json_t *value;

        strbuf_adds(&result->run.out.kept, "caf\xc3");
        value = to_json(result);
        assert_text(value, "encoding", "base64");
        assert_text(value, "stdout", "Y2Fmww==");
        json_decref(value);
}

static void one_cut_character_alone_is_an_empty_text(void **state)
{
        struct result *result = *state;
        json_t *value;

        strbuf_adds(&result->run.out.kept, "\xe2\x82");
        result->run.out.truncated = true;
        value = to_json(result);
        assert_text(value, "encoding", "utf-8");
        assert_text(value, "stdout", "");
        json_decref(value);
}

static void a_nul_byte_in_a_text_is_kept(void **state)
{
        struct result *result = *state;
        const json_t *out;
        json_t *value;

        strbuf_add(&result->run.out.kept, "some text\0and more", 18);
        value = to_json(result);
        assert_text(value, "encoding", "utf-8");
        out = json_object_get(value, "stdout");
        assert_int_equal(json_string_length(out), 18);
        assert_memory_equal(json_string_value(out), "some text\0and more", 18);
        json_decref(value);
}

static void output_that_escaping_would_more_than_double_is_base64(void **state)
{
        struct result *result = *state;
        AUTO_FREE char *text = NULL;
        json_t *value;

        for (int i = 0; i < 10000; i++)
                strbuf_adds(&result->run.out.kept, "\x01");
        text = result_to_json(result, true);
        assert_non_null(text);
        assert_true(strlen(text) < 20000);
        value = to_json(result);
        assert_text(value, "encoding", "base64");
        json_decref(value);
}

static void lines_and_quotes_alone_stay_text(void **state)
{
        struct result *result = *state;
        json_t *value;

        for (int i = 0; i < 1000; i++)
                strbuf_adds(&result->run.out.kept, "\n\"\\\t");
        value = to_json(result);
        assert_text(value, "encoding", "utf-8");
        assert_int_equal(json_string_length(json_object_get(value, "stdout")), 4000);
        json_decref(value);
}

static void output_passed_through_is_empty_and_counted(void **state)
{
        struct result *result = *state;
        json_t *value;

        result->run.out.passed_through = true;
        result->run.out.bytes = 7;
        value = to_json(result);
        assert_text(value, "stdout", "");
        assert_int_equal(json_integer_value(json_object_get(value, "stdout_bytes")), 7);
        json_decref(value);
}

/* ---- other foreign text ---- */

static void names_that_are_not_utf8_are_escaped(void **state)
{
        struct result *result = *state;
        const json_t *created;
        json_t *value;

        assert_int_equal(strlist_add(&result->created, "a\xff\xc3\xa9"), 0);
        assert_int_equal(strlist_add(&result->created, "line\nbreak"), 0);
        result->files_truncated = true;
        value = to_json(result);
        created = json_object_get(json_object_get(value, "files"), "created");
        assert_string_equal(json_string_value(json_array_get(created, 0)), "a\\xff\\xc3\\xa9");
        assert_string_equal(json_string_value(json_array_get(created, 1)), "line\nbreak");
        assert_true(json_is_true(json_object_get(json_object_get(value, "files"), "truncated")));
        json_decref(value);
}

static void every_other_text_may_be_of_any_bytes(void **state)
{
        struct result *result = *state;
        json_t *value;

        result->name = mem_strdup("\xff");
        assert_int_equal(result_set_message(result, "bad \xfe"), 0);
        result_set_protection(result, PROTECTION_PROC, STATE_MISSING, NULL, "\xfd");
        result_add_violation(result, "\xfc", "\xfb", "\xfa", 1);
        value = to_json(result);
        assert_text(value, "name", "\\xff");
        assert_text(value, "message", "bad \\xfe");
        assert_text(json_array_get(json_object_get(value, "violations"), 0), "what", "\\xfb");
        json_decref(value);
}

static void numbers_beyond_the_range_are_held_at_its_end(void **state)
{
        struct result *result = *state;
        json_t *value;

        result->run.out.bytes = UINT64_MAX;
        result->limits[0] = (struct result_limit){ "fuel", 1.8e19, false };
        result->limit_count = 1;
        value = to_json(result);
        assert_true(json_integer_value(json_object_get(value, "stdout_bytes")) == INT64_MAX);
        assert_true(json_integer_value(json_object_get(json_object_get(value, "limits"), "fuel")) ==
                    INT64_MAX);
        json_decref(value);
}

static void one_line_is_one_line(void **state)
{
        AUTO_FREE char *text = NULL;

        fill(*state);
        text = result_to_json(*state, true);
        assert_non_null(text);
        assert_null(strchr(text, '\n'));
}

static void json_is_null_when_memory_is_out(void **state)
{
        struct result *result = *state;
        AUTO_FREE char *text = NULL;
        uint64_t n = 0;

        fill(result);
        strbuf_adds(&result->run.err.kept, "\xff");
        assert_int_equal(strlist_add(&result->deleted, "\xff"), 0);
        for (; !text && n < 1000; n++) {
                mem_fail_after(n);
                text = result_to_json(result, true);
                mem_fail_after(UINT64_MAX);
        }
        assert_non_null(text);
        assert_true(n > 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(the_whole_is_written_in_the_order_of_the_contract),
                TEST(absent_values_are_null),
                TEST(success_is_true_for_ok_alone),
                TEST(a_signal_is_a_number_and_the_exit_code_null),
                TEST(output_that_is_not_utf8_is_base64_in_both_streams),
                TEST(the_compiler_has_an_encoding_of_its_own),
                TEST(a_character_cut_by_the_cap_does_not_make_it_base64),
                TEST(a_character_cut_by_the_program_itself_is_base64),
                TEST(one_cut_character_alone_is_an_empty_text),
                TEST(a_nul_byte_in_a_text_is_kept),
                TEST(output_that_escaping_would_more_than_double_is_base64),
                TEST(lines_and_quotes_alone_stay_text),
                TEST(output_passed_through_is_empty_and_counted),
                TEST(names_that_are_not_utf8_are_escaped),
                TEST(every_other_text_may_be_of_any_bytes),
                TEST(numbers_beyond_the_range_are_held_at_its_end),
                TEST(one_line_is_one_line),
                TEST(json_is_null_when_memory_is_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
