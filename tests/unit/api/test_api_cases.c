/* Templates and cases through the public interface, and every allocation of them failing once. */
#include "../engine/engine_helpers.h"
#include "base/mem.h"

enum { SWEEP_MAX = 4000 };

static const char two_cases[] = "[{\"name\": \"n\", \"stdin\": \"1\", \"expected\": \"1\"},"
                                " {\"stdin\": \"2\", \"expected\": \"3\","
                                "  \"limits\": {\"timeout\": \"20s\"}}]";

static sbx_cases *load_cases(const char *text)
{
        sbx_error *err = NULL;
        sbx_cases *cases = sbx_cases_load(text, strlen(text), "cases.json", &err);

        if (!cases)
                fail_msg("%s", sbx_error_message(err));
        return cases;
}

static sbx_result *run_cases(sbx_engine *engine, sbx_request *req, const sbx_cases *cases)
{
        sbx_error *err = NULL;
        sbx_result *result = sbx_run_cases(engine, req, cases, 0, &err);

        if (!result)
                fail_msg("%s", sbx_error_message(err));
        return result;
}

struct heard {
        unsigned starts, cases, completes, others;
        char text[256];
};

static void hear(const sbx_event *event, void *userdata)
{
        struct heard *heard = userdata;

        if (strcmp(event->kind, "execution.start") == 0) {
                heard->starts++;
        } else if (strcmp(event->kind, "case") == 0) {
                heard->cases++;
                assert_true(((const char *)event->data)[0] == '{');
                (void)snprintf(heard->text, sizeof(heard->text), "%s", event->text);
        } else if (strcmp(event->kind, "execution.complete") == 0) {
                heard->completes++;
                assert_non_null(event->result);
        } else {
                heard->others++;
        }
}

static void cases_are_run_and_heard(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "read a; echo $a");
        sbx_cases *cases = load_cases(two_cases);
        struct heard heard = { 0 };
        sbx_result *result;
        char *text;

        assert_int_equal(sbx_cases_count(cases), 2);
        assert_int_equal(sbx_request_set_event_handler(req, hear, &heard, NULL), 0);
        result = run_cases(engine, req, cases);
        has_status(result, "failed");
        assert_int_equal(sbx_result_process_exit_code(result), 1);
        text = sbx_result_format(result, "jsonline", false, NULL);
        assert_has(text, "\"verdict\":\"accepted\"");
        assert_has(text, "\"verdict\":\"wrong_answer\"");
        sbx_string_free(text);
        assert_int_equal(heard.starts, 1);
        assert_int_equal(heard.cases, 2);
        assert_int_equal(heard.completes, 1);
        assert_int_equal(heard.others, 0);
        assert_has(heard.text, "case ");
        sbx_result_free(result);
        sbx_cases_free(cases);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void files_of_cases_are_the_callers_to_read(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "cat");
        sbx_cases *cases = load_cases("[{\"stdin_file\": \"in\", \"expected_file\": \"out\"}]");
        sbx_error *err = NULL;
        sbx_result *result;

        assert_string_equal(sbx_cases_file(cases, 0, "stdin"), "in");
        assert_string_equal(sbx_cases_file(cases, 0, "expected"), "out");
        assert_null(sbx_cases_file(cases, 0, "args"));
        assert_null(sbx_cases_file(cases, 1, "stdin"));
        assert_null(sbx_run_cases(engine, req, cases, 1, &err));
        assert_has(sbx_error_message(err), "was not read");
        sbx_error_free(err);
        assert_int_equal(sbx_cases_set_file(cases, 1, "stdin", "x", 1, NULL), SBX_EINVAL);
        assert_int_equal(sbx_cases_set_file(cases, 0, "stdin", "x\n", 2, NULL), 0);
        assert_int_equal(sbx_cases_set_file(cases, 0, "expected", "x", 1, NULL), 0);
        result = run_cases(engine, req, cases);
        has_status(result, "ok");
        sbx_result_free(result);
        sbx_cases_free(cases);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

/* A program made from a template keeps the template's lines for everybody who runs it. */
static void a_compiled_template_is_run_by_another_request(void **state)
{
        static const char wrap[] = "# one\n# two\n{{code}}\n";
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "true\nnothing-here"),
                    *other = new_request(NULL, "");
        sbx_cases *cases = load_cases("[{\"exit_code\": 127}]");
        sbx_program *program;
        sbx_result *result;

        assert_int_equal(sbx_request_set_template_text(req, wrap, strlen(wrap), "wrap.sh", NULL),
                         0);
        program = sbx_program_new(engine, req, NULL);
        assert_non_null(program);
        has_status(sbx_program_result(program), "ok");
        assert_int_equal(sbx_request_set_program(req, program, NULL), 0);
        assert_null(sbx_run(engine, req, NULL)); /* it would be filled twice */
        assert_int_equal(sbx_request_set_program(other, program, NULL), 0);
        result = run(engine, other);
        assert_has(sbx_result_stderr(result, NULL), "line 2: nothing-here");
        sbx_result_free(result);
        result = run_cases(engine, other, cases);
        has_status(result, "ok");
        sbx_result_free(result);
        sbx_program_free(program);
        sbx_cases_free(cases);
        sbx_request_free(other);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void wrong_arguments_are_refused(void **state)
{
        sbx_request *req = new_request("shell", "true");
        sbx_engine *engine = new_engine();
        sbx_error *err = NULL;

        assert_int_equal(sbx_request_set_template(NULL, "call", NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_template(req, NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_template_text(req, NULL, 0, "x", NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_placeholder(req, "x", NULL, 0, NULL), SBX_EINVAL);
        assert_null(sbx_cases_load(NULL, 0, "x", &err));
        assert_has(sbx_error_message(err), "sbx_cases_load");
        sbx_error_free(err);
        err = NULL;
        assert_null(sbx_run_cases(engine, req, NULL, 0, &err));
        assert_has(sbx_error_message(err), "sbx_run_cases");
        sbx_error_free(err);
        err = NULL;
        assert_int_equal(sbx_request_set_placeholder(req, "x", "y", 1, NULL), 0);
        assert_null(sbx_run(engine, req, &err));
        assert_has(sbx_error_message(err), "no template");
        sbx_error_free(err);
        sbx_cases_free(NULL);
        sbx_engine_free(engine);
        sbx_request_free(req);
}

/* Code of the error, or 0 for a complete result. */
static int run_once(sbx_engine *engine, uint64_t fail_after)
{
        static const char wrap[] = "# {{word}}\n{{code}}\n";
        sbx_error *err = NULL;
        sbx_request *req;
        sbx_cases *cases = NULL;
        sbx_result *result = NULL;
        char *text = NULL;
        int r = SBX_ENOMEM;

        mem_fail_after(fail_after);
        req = sbx_request_new("shell", "read a; echo $a; nothing-here; exit 0");
        if (req &&
            (r = sbx_request_set_template_text(req, wrap, strlen(wrap), "wrap.sh", NULL)) == 0 &&
            (r = sbx_request_set_placeholder(req, "word", "x", 1, NULL)) == 0) {
                cases = sbx_cases_load(two_cases, strlen(two_cases), "cases.json", &err);
                result = cases ? sbx_run_cases(engine, req, cases, 1, &err) : NULL;
                r = result ? 0 : sbx_error_code(err);
        }
        mem_fail_after(UINT64_MAX);
        if (result) {
                text = sbx_result_format(result, "jsonline", false, NULL);
                assert_has(text, "1 of 2 cases accepted");
                assert_has(text, "\"expected\":\"3\",\"got\":\"2\"");
                assert_has(text, "line 1: nothing-here");
                assert_has(text, "\"template\":{\"name\":\"wrap\"");
        }
        sbx_string_free(text);
        sbx_result_free(result);
        sbx_error_free(err);
        sbx_cases_free(cases);
        sbx_request_free(req);
        return r;
}

static void every_allocation_can_fail(void **state)
{
        sbx_engine *engine = new_engine();
        int descriptors, quiet = 0;
        uint64_t n;

        assert_int_equal(run_once(engine, UINT64_MAX), 0);
        descriptors = count_descriptors();
        /* Some failures are made good: the end is where many in a row change nothing. */
        for (n = 0; n < SWEEP_MAX && quiet < 50; n++) {
                int r = run_once(engine, n);

                if (r != 0 && r != SBX_ENOMEM)
                        fail_msg("allocation %llu: code %d", (unsigned long long)n, r);
                quiet = r == 0 ? quiet + 1 : 0;
                assert_int_equal(count_descriptors(), descriptors);
                has_no_children();
        }
        assert_int_equal(quiet, 50);
        assert_true(n > 200); /* else nothing was made to fail */
        sbx_engine_free(engine);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cases_are_run_and_heard),
                cmocka_unit_test(files_of_cases_are_the_callers_to_read),
                cmocka_unit_test(a_compiled_template_is_run_by_another_request),
                cmocka_unit_test(wrong_arguments_are_refused),
                cmocka_unit_test(every_allocation_can_fail),
        };

        return RUN(tests);
}
