/* Policies as somebody who embeds the library uses them: several, by name, in TOML, sealed. */
#include "../engine/engine_helpers.h"

#include <signal.h>
#include <sys/wait.h>

static sbx_policy *new_policy(void)
{
        sbx_policy *policy = sbx_policy_new();

        assert_non_null(policy);
        return policy;
}

static void load(sbx_policy *policy, const char *text, const char *name)
{
        sbx_error *err = NULL;

        if (sbx_policy_load_text(policy, text, strlen(text), name, &err) < 0)
                fail_msg("%s", sbx_error_message(err));
}

/* What is shown holds these words. */
static void shows(const sbx_policy *policy, const char *words)
{
        char *shown = sbx_policy_show(policy, NULL, "yaml", NULL);

        assert_non_null(shown);
        assert_has(shown, words);
        sbx_string_free(shown);
}

/* Nothing ran, for this reason. */
static void is_refused(sbx_engine *engine, sbx_request *req, const char *why)
{
        sbx_error *err = NULL;

        assert_null(sbx_run(engine, req, &err));
        assert_int_equal(sbx_error_code(err), SBX_EPOLICY);
        assert_string_equal(sbx_error_message(err), why);
        sbx_error_free(err);
}

static void a_text_is_toml_by_its_name(void **state)
{
        sbx_policy *policy = new_policy();
        sbx_error *err = NULL;

        load(policy, "limits.timeout = '7s'\n", "a.toml");
        load(policy, "limits: {processes: 9}\n", "b");
        shows(policy, "timeout: 7s");
        shows(policy, "processes: 9");
        assert_int_equal(sbx_policy_load_text(policy, "version: 1", 10, "c.toml", &err),
                         SBX_EPOLICY);
        assert_has(sbx_error_message(err), "c.toml:1:8: not TOML: ");
        sbx_error_free(err);
        assert_int_equal(sbx_policy_load_text(policy, "a = 1\nlimits.x = 2", 18, "d.toml", NULL),
                         SBX_EPOLICY);
        for (size_t i = 0; i < 2; i++) {
                static char large[(1 << 20) + 1];

                err = NULL;
                memset(large, '#', sizeof(large));
                assert_int_equal(sbx_policy_load_text(policy, large, sizeof(large),
                                                      i ? "e.toml" : "e.yaml", &err),
                                 SBX_EPOLICY);
                assert_has(sbx_error_message(err), ":1:1: the policy is larger than 1 MiB");
                sbx_error_free(err);
        }
        shows(policy, "timeout: 7s"); /* what was wrong left nothing */
        sbx_policy_free(policy);
        has_no_children();
}

static void toml_is_read_where_children_are_nobodys(void **state)
{
        sbx_policy *policy = new_policy();

        (void)signal(SIGCHLD, SIG_IGN);
        load(policy, "limits.timeout = '7s'\n", "a.toml");
        (void)signal(SIGCHLD, SIG_DFL);
        shows(policy, "timeout: 7s");
        sbx_policy_free(policy);
}

static void the_backend_that_is_named_first_is_told(void **state)
{
        char *variables[] = { "SANDBOX_TYPE=container", NULL };
        sbx_policy *policy = new_policy();

        assert_string_equal(sbx_policy_backend(policy), "auto");
        load(policy, "backend: [docker, container]\n", "a.yaml");
        assert_string_equal(sbx_policy_backend(policy), "docker");
        assert_int_equal(sbx_policy_load_environment(policy, variables, NULL), 0);
        assert_string_equal(sbx_policy_backend(policy), "container");
        assert_null(sbx_policy_backend(NULL));
        sbx_policy_free(policy);
}

static void profiles_are_had_by_name(void **state)
{
        sbx_policy *policy = new_policy();
        char *list = sbx_policy_profiles_json(NULL);
        sbx_error *err = NULL;

        assert_has(list, "\"strict\"");
        assert_true(sbx_policy_is_profile("strict"));
        assert_false(sbx_policy_is_profile("./strict"));
        assert_false(sbx_policy_is_profile(NULL));
        assert_int_equal(sbx_policy_load_profile(policy, "judge", NULL), 0);
        shows(policy, "cpu_time: 2s");
        assert_int_equal(sbx_policy_load_profile(policy, "juge", &err), SBX_EINVAL);
        assert_string_equal(sbx_error_message(err), "no such profile 'juge'");
        assert_string_equal(sbx_error_hint(err), "did you mean 'judge'?");
        sbx_error_free(err);
        sbx_string_free(list);
        sbx_policy_free(policy);
}

static void an_untrusted_request_can_only_tighten(void **state)
{
        sbx_engine_options options = { .size = sizeof(options), .untrusted_requests = true };
        sbx_engine *engine = sbx_engine_new(&options, NULL);
        sbx_request *req = new_request("shell", "echo hello");
        sbx_policy *policy = new_policy();
        sbx_result *result;

        assert_non_null(engine);
        /* The policy itself may be wider than the defaults: it is not the request's. */
        load(policy, "limits: {timeout: 40s}\n", "p.yaml");
        assert_int_equal(sbx_request_set_policy(req, policy, NULL), 0);
        assert_int_equal(sbx_request_set(req, "limits.timeout", "35s", NULL), 0);
        result = run(engine, req);
        has_status(result, "ok");
        sbx_result_free(result);

        assert_int_equal(sbx_request_set(req, "limits.timeout", "41s", NULL), 0);
        is_refused(engine, req, "limits.timeout: '41s' is above the ceiling '40s'");
        assert_int_equal(sbx_request_set(req, "limits.timeout", "1s", NULL), 0);
        assert_int_equal(sbx_request_add_mount(req, "/tmp", "/data", "ro", NULL), 0);
        is_refused(engine, req,
                   "filesystem.mounts: '/data' is not among the mounts of the ceiling");
        sbx_request_free(req);
        sbx_policy_free(policy);
        sbx_engine_free(engine);
}

static void a_trusted_engine_lets_a_request_widen(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "echo hello");
        sbx_result *result;

        assert_int_equal(sbx_request_set(req, "limits.timeout", "41s", NULL), 0);
        result = run(engine, req);
        has_status(result, "ok");
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void options_of_an_older_caller_are_taken_as_far_as_they_go(void **state)
{
        sbx_engine_options options = { .size = offsetof(sbx_engine_options, untrusted_requests),
                                       .max_runs = 1,
                                       .untrusted_requests = true };
        sbx_engine *engine = sbx_engine_new(&options, NULL);
        sbx_request *req = new_request("shell", "echo hello");
        sbx_result *result;

        assert_non_null(engine);
        assert_int_equal(sbx_request_set(req, "limits.timeout", "41s", NULL), 0);
        result = run(engine, req);
        has_status(result, "ok"); /* what lies behind its size was not looked at */
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void a_sealed_policy_holds_what_comes_after(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "echo hello");
        sbx_policy *policy = new_policy();
        char variable[] = "SANDBOX_TIMEOUT_SEC=50";
        char *environment[] = { variable, NULL };
        sbx_error *err = NULL;

        load(policy, "limits: {timeout: 40s}\n", "p.yaml");
        assert_int_equal(sbx_policy_seal(policy, NULL), 0);
        assert_int_equal(sbx_request_set_policy(req, policy, NULL), 0);
        assert_int_equal(sbx_request_set(req, "limits.timeout", "41s", NULL), 0);
        is_refused(engine, req, "limits.timeout: '41s' is above the ceiling '40s'");
        assert_null(sbx_request_show_policy(req, NULL, "yaml", &err));
        assert_has(sbx_error_hint(err), "it can only be tightened");
        sbx_error_free(err);

        err = NULL;
        assert_int_equal(sbx_policy_load_environment(policy, environment, NULL), 0);
        assert_int_equal(sbx_engine_check_policy(engine, policy, &err), SBX_EPOLICY);
        assert_has(sbx_error_message(err), "environment variable SANDBOX_TIMEOUT_SEC: ");
        sbx_error_free(err);
        sbx_request_free(req);
        sbx_policy_free(policy);
        sbx_engine_free(engine);
}

static void a_request_shows_and_explains_what_it_would_have(void **state)
{
        sbx_request *req = new_request("shell", "true");
        sbx_error *err = NULL;
        char *shown;

        assert_int_equal(sbx_request_set(req, "limits.timeout", "3s", NULL), 0);
        shown = sbx_request_show_policy(req, "shell", "json", NULL);
        assert_has(shown, "\"timeout\": 3.0");
        sbx_string_free(shown);
        shown = sbx_request_show_policy(req, NULL, "explain", NULL);
        assert_has(shown, "\"layer\": \"request\"");
        sbx_string_free(shown);
        assert_null(sbx_request_show_policy(req, NULL, "xml", &err));
        assert_string_equal(sbx_error_message(err), "no such form of a policy: 'xml'");
        sbx_error_free(err);
        assert_null(sbx_request_show_policy(NULL, NULL, "yaml", NULL));
        assert_null(sbx_policy_show(NULL, NULL, "yaml", NULL));
        assert_int_equal(sbx_policy_seal(NULL, NULL), SBX_EINVAL);
        assert_int_equal(sbx_policy_load_profile(NULL, "strict", NULL), SBX_EINVAL);
        sbx_request_free(req);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_text_is_toml_by_its_name),
                cmocka_unit_test(toml_is_read_where_children_are_nobodys),
                cmocka_unit_test(the_backend_that_is_named_first_is_told),
                cmocka_unit_test(profiles_are_had_by_name),
                cmocka_unit_test(an_untrusted_request_can_only_tighten),
                cmocka_unit_test(a_trusted_engine_lets_a_request_widen),
                cmocka_unit_test(options_of_an_older_caller_are_taken_as_far_as_they_go),
                cmocka_unit_test(a_sealed_policy_holds_what_comes_after),
                cmocka_unit_test(a_request_shows_and_explains_what_it_would_have),
        };

        return RUN(tests);
}
