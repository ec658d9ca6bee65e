/* Static analysis of code that comes again: the same report, and no process for it. */
#include "engine_helpers.h"
#include "base/mem.h"
#include "base/tree.h"
#include "engine/analysis.h"
#include "engine/engine.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

static char place[] = "/tmp/unit-analysis.XXXXXX";
static char wrapper[PATH_MAX], counter[PATH_MAX];

/* A program that notes that it was started, and is the real one then. */
static int make_wrapper(void **state)
{
        AUTO_FREE char *program =
                engine_find_beside(getenv("SANDBOX_INIT"), "sandbox-analyze", "analysis");
        FILE *file;

        if (!mkdtemp(place))
                return -1;
        (void)snprintf(wrapper, sizeof(wrapper), "%s/analyze", place);
        (void)snprintf(counter, sizeof(counter), "%s/started", place);
        if (!program)
                return 0; /* it is not built: the test says so */
        file = fopen(wrapper, "w");
        if (!file)
                return -1;
        (void)fprintf(file, "#!/bin/sh\necho >>%s\nexec %s\n", counter, program);
        if (fclose(file) != 0 || chmod(wrapper, 0755) < 0)
                return -1;
        return setenv("SANDBOX_ANALYZE", wrapper, 1);
}

static int remove_wrapper(void **state)
{
        return tree_remove(place);
}

static int times_started(void)
{
        struct stat st;

        return stat(counter, &st) == 0 ? (int)st.st_size : 0;
}

/* Runs it and hands back what analysis said; the caller frees. */
static char *report_of(sbx_engine *engine, const char *code, const char *mode)
{
        sbx_request *req = new_request("shell", code);
        sbx_result *result;
        char *report;

        assert_int_equal(sbx_request_set(req, "analysis.mode", mode, NULL), 0);
        result = run(engine, req);
        assert_non_null(sbx_result_analysis(result));
        report = mem_strdup(sbx_result_analysis(result));
        sbx_result_free(result);
        sbx_request_free(req);
        return report;
}

static void code_that_comes_again_starts_no_analysis(void **state)
{
        const sbx_engine_options options = { .size = sizeof(options), .warm_slots = 1 };
        AUTO_FREE char *first = NULL, *again = NULL, *blocking = NULL, *other = NULL;
        sbx_engine *engine;

        if (access(wrapper, X_OK) < 0)
                skip();
        engine = sbx_engine_new(&options, NULL);
        assert_non_null(engine);
        first = report_of(engine, "rm -rf /tmp/nothing; echo 1", "warn");
        again = report_of(engine, "rm -rf /tmp/nothing; echo 1", "warn");
        assert_int_equal(times_started(), 1);
        assert_has(first, "\"state\":\"done\"");
        assert_string_equal(first, again);
        blocking = report_of(engine, "rm -rf /tmp/nothing; echo 1", "block");
        assert_has(blocking, "\"mode\":\"block\"");
        assert_int_equal(times_started(), 1);
        other = report_of(engine, "echo 2", "warn");
        assert_int_equal(times_started(), 2);
        assert_string_not_equal(first, other);
        sbx_engine_free(engine);
        has_no_children();
}

static void make_key(const struct engine *engine, const char *source, const char *order, char *key)
{
        const struct analysis_source code = { .data = (char *)(uintptr_t)source,
                                              .length = strlen(source) };

        analysis_memory_key(engine, "sh", &code, order, key);
}

static void a_key_is_of_program_source_and_rules(void **state)
{
        struct engine engine = { .analyze_path = "/bin/sh", .analysed = analysis_memory_new() };
        char keys[4][HASH_TEXT_MAX];

        make_key(&engine, "a", "b", keys[0]);
        make_key(&engine, "ab", "", keys[1]);
        make_key(&engine, "a", "c", keys[2]);
        engine.analyze_path = "/bin/ls";
        make_key(&engine, "a", "b", keys[3]);
        for (int i = 0; i < 4; i++)
                for (int j = 0; j < i; j++)
                        assert_string_not_equal(keys[i], keys[j]);
        engine.analyze_path = "/bin/sh";
        analysis_memory_key(&engine, "shell",
                            &(struct analysis_source){ .data = (char[]){ "a" }, .length = 1 }, "b",
                            keys[3]);
        assert_string_not_equal(keys[0], keys[3]);
        engine.analyze_path = "/nowhere";
        make_key(&engine, "a", "b", keys[0]);
        assert_string_equal(keys[0], "");
        analysis_memory_free(engine.analysed);
}

static bool knows(struct analysis_memory *memory, const char *key, const char *text)
{
        AUTO_STRBUF struct strbuf report = { 0 };

        return analysis_recall(memory, key, &report) && str_equal(report.data, text);
}

static void what_was_not_asked_for_in_the_longest_time_is_forgotten(void **state)
{
        struct analysis_memory *memory = analysis_memory_new();
        AUTO_STRBUF struct strbuf report = { 0 };
        char key[HASH_TEXT_MAX];

        strbuf_adds(&report, "said");
        analysis_remember(memory, "", &report);
        assert_false(knows(memory, "", "said"));
        analysis_remember(memory, "first", &report);
        analysis_remember(memory, "second", &report);
        for (int i = 0; i < 63; i++) {
                assert_true(knows(memory, "first", "said"));
                (void)snprintf(key, sizeof(key), "%d", i);
                analysis_remember(memory, key, &report);
                assert_true(knows(memory, key, "said"));
        }
        assert_true(knows(memory, "first", "said"));
        assert_false(knows(memory, "second", "said"));
        analysis_memory_free(memory);
}

static bool knows_whole(struct analysis_memory *memory, enum policy_analysis mode, const char *text)
{
        struct result_analysis in_short = { 0 };
        AUTO_STRBUF struct strbuf whole = { 0 };

        return analysis_recall_whole(memory, "key", mode, &whole, &in_short) &&
               str_equal(whole.data, text) && in_short.findings == 3;
}

static void what_a_report_became_is_known_for_its_mode_alone(void **state)
{
        const struct result_analysis in_short = { .state = "done", .findings = 3 };
        struct analysis_memory *memory = analysis_memory_new();
        AUTO_STRBUF struct strbuf report = { 0 };

        strbuf_adds(&report, "said");
        analysis_remember_whole(memory, "key", ANALYSIS_WARN, "whole", &in_short);
        assert_false(knows_whole(memory, ANALYSIS_WARN, "whole")); /* of which report? */
        analysis_remember(memory, "key", &report);
        assert_false(knows_whole(memory, ANALYSIS_WARN, "whole"));
        analysis_remember_whole(memory, "key", ANALYSIS_WARN, "whole", &in_short);
        assert_true(knows_whole(memory, ANALYSIS_WARN, "whole"));
        assert_false(knows_whole(memory, ANALYSIS_BLOCK, "whole"));
        analysis_remember_whole(memory, "key", ANALYSIS_BLOCK, "other", &in_short);
        assert_true(knows_whole(memory, ANALYSIS_BLOCK, "other"));
        assert_false(knows_whole(memory, ANALYSIS_WARN, "other"));
        analysis_remember(memory, "key", &report);
        assert_false(knows_whole(memory, ANALYSIS_BLOCK, "other"));
        analysis_memory_free(memory);
}

static void a_large_report_is_not_kept(void **state)
{
        struct analysis_memory *memory = analysis_memory_new();
        AUTO_STRBUF struct strbuf report = { 0 };

        for (int i = 0; i < 4096; i++)
                strbuf_adds(&report, "0123456789");
        analysis_remember(memory, "large", &report);
        assert_false(knows(memory, "large", report.data));
        analysis_memory_free(memory);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(code_that_comes_again_starts_no_analysis),
                cmocka_unit_test(a_key_is_of_program_source_and_rules),
                cmocka_unit_test(what_was_not_asked_for_in_the_longest_time_is_forgotten),
                cmocka_unit_test(what_a_report_became_is_known_for_its_mode_alone),
                cmocka_unit_test(a_large_report_is_not_kept),
        };

        return cmocka_run_group_tests(tests, make_wrapper, remove_wrapper);
}
