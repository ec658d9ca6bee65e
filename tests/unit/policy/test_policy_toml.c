/* The record of a TOML text: read back as events, and believed no further than it can be checked.
 */
#include "policy_helpers.h"

#include <stdlib.h>

static int load_record(struct policy *policy, const char *record, struct error *err)
{
        AUTO_FREE char *copy = mem_strdup(record);

        policy_init(policy);
        return policy_load_toml(policy, "x = 1", 5, copy, strlen(copy), "p.toml", err);
}

static void a_record_is_read_as_a_policy(void **state)
{
        struct policy policy;
        const struct policy *layers[] = { &policy };
        struct policy_values values;
        struct error err = { 0 };
        int r = load_record(&policy,
                            "{ 1 1 0\n\n"
                            "s 1 1 6\nlimits\n"
                            "{ 1 10 0\n\n"
                            "s 2 1 7\ntimeout\ns 2 11 2\n5s\n"
                            "s 3 1 4\ncpus\nv 3 8 3\n0.5\n"
                            "} 4 1 0\n\n"
                            "s 5 1 7\nbackend\n[ 5 11 0\n\ns 5 12 9\ncontainer\n] 5 30 0\n\n"
                            "} 6 1 0\n\n"
                            ". 1 1 0\n\n",
                            &err);

        if (r != 0)
                fail_msg("%s", err.message);
        assert_int_equal(policy.layer, LAYER_FILE);
        assert_string_equal(policy.name, "p.toml");
        assert_int_equal(policy_effective(layers, 1, NULL, &values, NULL), 0);
        assert_int_equal(values.limits.timeout_ms, 5000);
        assert_int_equal(values.limits.cpus_milli, 500);
        assert_int_equal(values.backends[0], BACKEND_CONTAINER);
        policy_values_done(&values);
        policy_done(&policy);
}

static void mistakes_have_the_place_that_the_record_says(void **state)
{
        static const struct {
                const char *record, *message;
        } bad[] = {
                { "{ 1 1 0\n\ns 3 7 7\nversoin\nv 3 17 1\n1\n} 4 1 0\n\n. 1 1 0\n\n",
                  "p.toml:3:7: unknown key 'versoin'" },
                { "{ 1 1 0\n\ns 1 1 7\nversion\nv 2 9 1\n2\n} 4 1 0\n\n. 1 1 0\n\n",
                  "p.toml:2:9: version: must be 1, not '2'" },
                { "! 12 34 19\nnot TOML: something\n", "p.toml:12:34: not TOML: something" },
                { "{ 1 1 0\n\n} 1 1 0\n\n. 1 1 0\n\n", "p.toml:1:1: the policy is empty" },
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                struct policy policy;
                struct error err = { 0 };

                assert_int_equal(load_record(&policy, bad[i].record, &err), SBX_EPOLICY);
                assert_string_equal(err.message, bad[i].message);
                if (strstr(err.message, "empty"))
                        assert_string_equal(err.hint, "'version = 1' alone is a policy that keeps "
                                                      "all defaults");
                policy_done(&policy);
        }
}

static void what_is_no_record_is_refused(void **state)
{
        static const char *const bad[] = {
                "",
                "x",
                "{",
                "{ ",
                "{ 1",
                "{ 1 1",
                "{ 1 1 0",
                "{ 1 1 0\n",
                "{ 0 1 0\n\n",
                "{ 1 0 0\n\n",
                "{ 1 1 5\n\n",
                "{ 1 1 99999999999999999999\n\n",
                "{ 99999999999999999999 1 0\n\n",
                "{ -1 1 0\n\n",
                "{ 1 1 0 \n\n",
                "? 1 1 0\n\n",
                "{ 1 1 0\n\ns 1 1 7\nversion\nv 1 1 1\n1\n} 1 1 0\n\n",
                "{ 1 1 0\n\ns 1 1 7\nversion\nv 1 1 1\n1\n} 1 1 0\n\n. 1 1 0\n\nx",
                "{ 1 1 0\n\ns 1 1 7\nversion\nv 1 1 1\n1\n} 1 1 0\n\n} 1 1 0\n\n. 1 1 0\n\n",
                ". 1 1 0\n\n",
                "} 1 1 0\n\n. 1 1 0\n\n",
                "[ 1 1 0\n\n] 1 1 0\n\n. 1 1 0\n\n",
                "{ 1 1 0\n\ns 1 1 7\nversion\n} 1 1 0\n\n. 1 1 0\n\n",
                "{ 1 1 0\n\ns 1 1 7\nversion\nv 1 1 1\n1\n] 1 1 0\n\n. 1 1 0\n\n",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                struct policy policy;
                struct error err = { 0 };

                if (load_record(&policy, bad[i], &err) != SBX_EPOLICY)
                        fail_msg("record %zu passed", i);
                assert_has(err.message, "p.toml:");
                assert_int_equal(policy.general.given, 0);
                policy_done(&policy);
        }
}

static void the_text_itself_is_checked_too(void **state)
{
        char record[] = "{ 1 1 0\n\ns 1 1 7\nversion\nv 1 1 1\n1\n} 1 1 0\n\n. 1 1 0\n\n";
        struct policy policy;
        struct error err = { 0 };

        policy_init(&policy);
        assert_int_equal(
                policy_load_toml(&policy, "a\0b", 3, record, strlen(record), "p.toml", &err),
                SBX_EPOLICY);
        assert_string_equal(err.message, "p.toml:1:2: the policy holds a NUL byte");
        policy_done(&policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_record_is_read_as_a_policy),
                cmocka_unit_test(mistakes_have_the_place_that_the_record_says),
                cmocka_unit_test(what_is_no_record_is_refused),
                cmocka_unit_test(the_text_itself_is_checked_too),
        };

        return RUN(tests);
}
