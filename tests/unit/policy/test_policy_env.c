#include "policy_helpers.h"

/* What one variable sets. */
static struct policy_values load_variable(const char *entry, int expected, struct error *err)
{
        char *environment[] = { (char *)"PATH=/bin", (char *)entry, NULL };
        struct policy policy;

        policy_init(&policy);
        assert_int_equal(policy_load_environment(&policy, environment, err), expected);
        return policy.general;
}

static void each_variable_sets_its_values_and_nothing_else(void **state)
{
        static const struct {
                const char *entry;
                uint64_t given;
                size_t offset;
                uint64_t value;
        } cases[] = {
                { "SANDBOX_TIMEOUT_SEC=5", UINT64_C(1) << FIELD_timeout_ms,
                  offsetof(struct policy_values, limits.timeout_ms), 5000 },
                { "SANDBOX_TIMEOUT_SEC=0.5", UINT64_C(1) << FIELD_timeout_ms,
                  offsetof(struct policy_values, limits.timeout_ms), 500 },
                { "SANDBOX_MEMORY_MB=64", UINT64_C(1) << FIELD_memory_bytes,
                  offsetof(struct policy_values, limits.memory_bytes), 64 << 20 },
                { "SANDBOX_MAX_OUTPUT_KB=10",
                  UINT64_C(1) << FIELD_stdout_bytes | UINT64_C(1) << FIELD_stderr_bytes,
                  offsetof(struct policy_values, limits.stdout_bytes), 10 << 10 },
                { "SANDBOX_MAX_OUTPUT_KB=10",
                  UINT64_C(1) << FIELD_stdout_bytes | UINT64_C(1) << FIELD_stderr_bytes,
                  offsetof(struct policy_values, limits.stderr_bytes), 10 << 10 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct policy_values values = load_variable(cases[i].entry, 0, NULL);

                assert_int_equal(values.given, cases[i].given);
                assert_int_equal(*(uint64_t *)((char *)&values + cases[i].offset), cases[i].value);
        }
}

static void the_type_is_a_backend_and_subprocess_means_local(void **state)
{
        struct policy_values values = load_variable("SANDBOX_TYPE=subprocess", 0, NULL);

        assert_int_equal(values.given, UINT64_C(1) << FIELD_BACKEND);
        assert_int_equal(values.backend_count, 1);
        assert_int_equal(values.backends[0], BACKEND_LOCAL);
        values = load_variable("SANDBOX_TYPE=container", 0, NULL);
        assert_int_equal(values.backends[0], BACKEND_CONTAINER);
}

static void blocking_imports_sets_the_analysis(void **state)
{
        static const struct {
                const char *entry;
                enum policy_analysis mode;
        } cases[] = {
                { "SANDBOX_BLOCK_DANGEROUS_IMPORTS=true", ANALYSIS_BLOCK },
                { "SANDBOX_BLOCK_DANGEROUS_IMPORTS=1", ANALYSIS_BLOCK },
                { "SANDBOX_BLOCK_DANGEROUS_IMPORTS=false", ANALYSIS_WARN },
                { "SANDBOX_BLOCK_DANGEROUS_IMPORTS=0", ANALYSIS_WARN },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct policy_values values = load_variable(cases[i].entry, 0, NULL);

                assert_int_equal(values.given, UINT64_C(1) << FIELD_ANALYSIS_MODE);
                assert_int_equal(values.analysis_mode, cases[i].mode);
        }
}

static void storing_code_takes_its_words_and_true_or_false(void **state)
{
        assert_int_equal(load_variable("SANDBOX_STORE_CODE=on_error", 0, NULL).store_code,
                         STORE_ON_ERROR);
        assert_int_equal(load_variable("SANDBOX_STORE_CODE=true", 0, NULL).store_code,
                         STORE_ALWAYS);
        assert_int_equal(load_variable("SANDBOX_STORE_CODE=0", 0, NULL).store_code, STORE_NEVER);
}

static void empty_foreign_and_unknown_variables_set_nothing(void **state)
{
        static const char *const entries[] = {
                "SANDBOX_TIMEOUT_SEC=",   "SANDBOX_TYPE=",          "SANDBOX_POLICY=/x.yaml",
                "SANDBOX_STATE_DIR=/s",   "SANDBOX_TIMEOUT_SECS=x", "SANDBOX_=1",
                "SANDBOX_TIMEOUT_SEC",    "sandbox_timeout_sec=1",  "",
                "XSANDBOX_TYPE=nonsense", "DOCKER_HOST=unix:///x",
        };

        for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
                assert_int_equal(load_variable(entries[i], 0, NULL).given, 0);
}

static void an_absent_environment_sets_nothing(void **state)
{
        struct policy policy;

        policy_init(&policy);
        assert_int_equal(policy_load_environment(&policy, NULL, NULL), 0);
        assert_int_equal(policy.general.given, 0);
}

static void of_two_entries_the_first_counts_as_for_getenv(void **state)
{
        char *environment[] = { (char *)"SANDBOX_TIMEOUT_SEC=5", (char *)"SANDBOX_TIMEOUT_SEC=9",
                                NULL };
        struct policy policy;

        policy_init(&policy);
        assert_int_equal(policy_load_environment(&policy, environment, NULL), 0);
        assert_int_equal(policy.general.limits.timeout_ms, 5000);
}

static void wrong_values_are_refused_with_the_name_of_the_variable(void **state)
{
        static const char *const entries[] = {
                "SANDBOX_TYPE=chroot",
                "SANDBOX_TIMEOUT_SEC=abc",
                "SANDBOX_TIMEOUT_SEC=0",
                "SANDBOX_TIMEOUT_SEC=-1",
                "SANDBOX_TIMEOUT_SEC= 5",
                "SANDBOX_MEMORY_MB=0",
                "SANDBOX_MEMORY_MB=1e9",
                "SANDBOX_MEMORY_MB=\n",
                "SANDBOX_MEMORY_MB=99999999999999999999",
                "SANDBOX_MAX_OUTPUT_KB=-1",
                "SANDBOX_BLOCK_DANGEROUS_IMPORTS=maybe",
                "SANDBOX_STORE_CODE=sometimes",
        };

        for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
                struct error err = { 0 };
                char name[64];
                struct policy_values values = load_variable(entries[i], SBX_EPOLICY, &err);

                (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(entries[i], "="),
                               entries[i]);
                assert_has(err.message, name);
                assert_lacks(err.message, "\n");
                assert_int_equal(err.code, SBX_EPOLICY);
                assert_int_equal(values.given, 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_variable_sets_its_values_and_nothing_else),
                cmocka_unit_test(the_type_is_a_backend_and_subprocess_means_local),
                cmocka_unit_test(blocking_imports_sets_the_analysis),
                cmocka_unit_test(storing_code_takes_its_words_and_true_or_false),
                cmocka_unit_test(empty_foreign_and_unknown_variables_set_nothing),
                cmocka_unit_test(an_absent_environment_sets_nothing),
                cmocka_unit_test(of_two_entries_the_first_counts_as_for_getenv),
                cmocka_unit_test(wrong_values_are_refused_with_the_name_of_the_variable),
        };

        return RUN(tests);
}
