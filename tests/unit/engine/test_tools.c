/* What is remembered of tools that were found a moment ago. */
#include "languages/tool_bench.h"
#include "engine/tools.h"

static void assert_known(struct tools *tools, const struct bench *bench, const char *version)
{
        struct language_tool tool;
        struct error err = { 0 };

        if (tools_find(tools, &bench->language, NULL, &tool, &err) < 0)
                fail_msg("%s", err.message);
        assert_string_equal(tool.version, version);
        assert_string_equal(tool.path, bench->tool);
        assert_string_equal(tool.runtime, "");
}

static void without_a_memory_each_look_is_one(void **state)
{
        assert_known(NULL, *state, "2.10.3");
        assert_known(NULL, *state, "2.10.3");
        assert_int_equal(times_asked(*state), 2);
}

static void what_was_found_just_now_is_known(void **state)
{
        struct tools *tools = tools_new();

        for (int i = 0; i < 5; i++)
                assert_known(tools, *state, "2.10.3");
        assert_int_equal(times_asked(*state), 1);
        tools_free(tools);
}

static void after_a_while_it_is_looked_for_again(void **state)
{
        struct tools *tools = tools_new();

        while (times_asked(*state) < 2) /* the time limit of the test ends it where that fails */
                assert_known(tools, *state, "2.10.3");
        tools_free(tools);
}

static void another_file_in_its_place_is_seen_at_once(void **state)
{
        struct bench *bench = *state;
        struct tools *tools = tools_new();
        struct language_tool tool;
        struct error err = { 0 };

        assert_known(tools, bench, "2.10.3");
        assert_int_equal(unlink(bench->tool), 0);
        write_tool(bench, bench->tool, "echo 7.1");
        assert_known(tools, bench, "7.1");
        assert_int_equal(chmod(bench->tool, 0644), 0);
        assert_int_equal(tools_find(tools, &bench->language, NULL, &tool, &err), SBX_ELANGUAGE);
        tools_free(tools);
}

static void languages_are_told_apart(void **state)
{
        struct bench *bench = *state;
        struct language other = bench->language;
        static const char *const nothing[] = { NULL };
        struct tools *tools = tools_new();
        struct language_tool tool;

        other.candidates = nothing;
        assert_known(tools, bench, "2.10.3");
        assert_int_equal(tools_find(tools, &other, NULL, &tool, NULL), 0);
        assert_string_equal(tool.path, ""); /* it needs none */
        assert_known(tools, bench, "2.10.3");
        tools_free(tools);
}

static void more_languages_than_are_remembered_are_found_too(void **state)
{
        struct bench *bench = *state;
        static struct language many[100];
        struct tools *tools = tools_new();
        struct language_tool tool;

        for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
                many[i] = bench->language;
                assert_int_equal(tools_find(tools, &many[i], bench->cache, &tool, NULL), 0);
                assert_string_equal(tool.version, "2.10.3");
        }
        tools_free(tools);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(without_a_memory_each_look_is_one, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(what_was_found_just_now_is_known, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(after_a_while_it_is_looked_for_again, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(another_file_in_its_place_is_seen_at_once, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(languages_are_told_apart, set_up, tear_down),
                cmocka_unit_test_setup_teardown(more_languages_than_are_remembered_are_found_too,
                                                set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
