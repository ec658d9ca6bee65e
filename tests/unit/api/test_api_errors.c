/* What the library says to wrong arguments, and to whom its errors belong. */
#include "../engine/engine_helpers.h"

static void is_null_complaint(int r, sbx_error *err, const char *function)
{
        assert_int_equal(r, SBX_EINVAL);
        assert_int_equal(sbx_error_code(err), SBX_EINVAL);
        assert_has(sbx_error_message(err), function);
        sbx_error_free(err);
}

/* The call with nothing but NULL in it: an error that is the caller's, and no crash without one. */
#define REFUSES_NULL(call, ...)                                                                    \
        do {                                                                                       \
                sbx_error *err_ = NULL;                                                            \
                int r_ = call(NULL, ##__VA_ARGS__, &err_);                                         \
                is_null_complaint(r_, err_, #call);                                                \
                assert_int_equal(call(NULL, ##__VA_ARGS__, NULL), SBX_EINVAL);                     \
        } while (0)

static void null_handles_are_refused(void **state)
{
        REFUSES_NULL(sbx_keeper_end);
        REFUSES_NULL(sbx_request_set_code, "x", 1);
        REFUSES_NULL(sbx_request_set_code_fd, 0);
        REFUSES_NULL(sbx_request_set_file_name, "x");
        REFUSES_NULL(sbx_request_set_name, "x");
        REFUSES_NULL(sbx_request_add_argument, "x");
        REFUSES_NULL(sbx_request_set, "limits.timeout", "1s");
        REFUSES_NULL(sbx_request_add_mount, "/a", "/b", "ro");
        REFUSES_NULL(sbx_request_open, "/a", 0, 0, NULL);
        REFUSES_NULL(sbx_request_set_policy, NULL);
        REFUSES_NULL(sbx_request_set_stdin, "x", 1);
        REFUSES_NULL(sbx_request_set_stdin_fd, 0);
        REFUSES_NULL(sbx_request_set_output_fd, 1, 1);
        REFUSES_NULL(sbx_request_set_output_kill, true);
        REFUSES_NULL(sbx_request_set_event_handler, NULL, NULL);
}

static void null_values_are_refused(void **state)
{
        sbx_request *req = new_request("shell", "true");
        int fd;

        assert_int_equal(sbx_request_set_code(req, NULL, 1, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_file_name(req, NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_name(req, NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_add_argument(req, NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set(req, NULL, "x", NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set(req, "limits.timeout", NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_add_mount(req, NULL, "/b", "ro", NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_add_mount(req, "/a", NULL, "ro", NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_add_mount(req, "/a", "/b", NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_open(req, NULL, 0, 0, &fd, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_open(req, "/a", 0, 0, NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_stdin(req, NULL, 1, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_policy(req, NULL, NULL), SBX_EINVAL);
        sbx_request_free(req);
}

static void running_nothing_is_refused(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "true");
        sbx_error *err = NULL;

        assert_null(sbx_run(NULL, req, &err));
        is_null_complaint(sbx_error_code(err), err, "sbx_run");
        assert_null(sbx_run(engine, NULL, NULL));
        err = NULL;
        assert_null(sbx_start(engine, NULL, &err));
        is_null_complaint(sbx_error_code(err), err, "sbx_start");
        assert_null(sbx_start(NULL, req, NULL));
        err = NULL;
        assert_null(sbx_wait(NULL, &err));
        is_null_complaint(sbx_error_code(err), err, "sbx_wait");
        sbx_cancel(NULL);
        sbx_request_cancel(NULL);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void nothing_is_freed_without_harm(void **state)
{
        sbx_engine_free(NULL);
        sbx_policy_free(NULL);
        sbx_request_free(NULL);
        sbx_result_free(NULL);
        sbx_error_free(NULL);
        sbx_string_free(NULL);
        assert_int_equal(sbx_error_code(NULL), SBX_OK);
        assert_string_equal(sbx_error_message(NULL), "");
        assert_null(sbx_error_hint(NULL));
}

static void descriptors_that_are_not_open_are_refused(void **state)
{
        sbx_request *req = new_request("shell", "true");

        assert_true(sbx_request_set_stdin_fd(req, -1, NULL) < 0);
        assert_true(sbx_request_set_stdin_fd(req, 100000, NULL) < 0);
        assert_true(sbx_request_set_output_fd(req, 1, 100000, NULL) < 0);
        assert_true(sbx_request_set_code_fd(req, 100000, NULL) < 0);
        assert_int_equal(sbx_request_set_output_fd(req, 0, 1, NULL), SBX_EINVAL);
        assert_int_equal(sbx_request_set_output_fd(req, 3, 1, NULL), SBX_EINVAL);
        sbx_request_free(req);
}

static void a_success_leaves_the_error_alone(void **state)
{
        sbx_request *req = new_request("shell", "true");
        sbx_error *err = NULL;

        assert_int_equal(sbx_request_set(req, "limits.timeout", "1s", &err), 0);
        assert_int_equal(sbx_request_add_argument(req, "", &err), 0);
        assert_null(err);
        sbx_request_free(req);
}

static void a_wrong_request_runs_nothing_and_says_why(void **state)
{
        static const struct {
                const char *language, *key, *value, *message;
                int code;
        } wrong[] = {
                { "klingon", NULL, NULL, "klingon", SBX_ELANGUAGE },
                { "", NULL, NULL, "", SBX_ELANGUAGE },
                { "shell", "backend", "docker", "docker", SBX_EUNAVAILABLE },
                { "shell", "filesystem.workspace", "/proc", "cannot be handed in", SBX_EINVAL },
                { "shell", "filesystem.workspace", "/nonexistent/deep", "/nonexistent/deep",
                  SBX_EINVAL },
        };
        sbx_engine *engine = new_engine();

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                sbx_request *req = new_request(wrong[i].language, "echo never");
                sbx_error *err = NULL;

                if (wrong[i].key)
                        assert_int_equal(sbx_request_set(req, wrong[i].key, wrong[i].value, NULL),
                                         0);
                assert_null(sbx_run(engine, req, &err));
                assert_int_equal(sbx_error_code(err), wrong[i].code);
                assert_has(sbx_error_message(err), wrong[i].message);
                assert_lacks(sbx_error_message(err), "\n");
                sbx_error_free(err);
                assert_null(sbx_run(engine, req, NULL));
                sbx_request_free(req);
        }
        sbx_engine_free(engine);
}

static void values_out_of_range_are_refused_when_set(void **state)
{
        static const struct {
                const char *key, *value;
        } wrong[] = {
                { "limits.timeout", "0" },    { "limits.timeout", "-1" },
                { "limits.memory", "lots" },  { "limits.processes", "0" },
                { "network.mode", "open" },   { "no.such", "x" },
                { "enforcement", "perhaps" }, { "", "x" },
        };
        sbx_request *req = new_request("shell", "true");

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                sbx_error *err = NULL;

                if (sbx_request_set(req, wrong[i].key, wrong[i].value, &err) == 0)
                        fail_msg("'%s' may be '%s'", wrong[i].key, wrong[i].value);
                assert_non_null(err);
                sbx_error_free(err);
        }
        sbx_request_free(req);
}

static void an_unknown_form_is_refused(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "true");
        sbx_result *result = run(engine, req);
        sbx_error *err = NULL;

        assert_null(sbx_result_format(result, "xml", false, &err));
        assert_int_equal(sbx_error_code(err), SBX_EINVAL);
        sbx_error_free(err);
        assert_null(sbx_result_format(result, NULL, false, NULL));
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(null_handles_are_refused),
                cmocka_unit_test(null_values_are_refused),
                cmocka_unit_test(running_nothing_is_refused),
                cmocka_unit_test(nothing_is_freed_without_harm),
                cmocka_unit_test(descriptors_that_are_not_open_are_refused),
                cmocka_unit_test(a_success_leaves_the_error_alone),
                cmocka_unit_test(a_wrong_request_runs_nothing_and_says_why),
                cmocka_unit_test(values_out_of_range_are_refused_when_set),
                cmocka_unit_test(an_unknown_form_is_refused),
        };

        return RUN(tests);
}
