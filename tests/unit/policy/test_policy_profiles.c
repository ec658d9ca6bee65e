/* The policies that are built in. */
#include "policy_helpers.h"

static struct policy_values profile(const char *name, const char *language)
{
        struct policy policy;
        const struct policy *layers[] = { &policy };
        struct policy_values values = { 0 };
        struct error err = { 0 };

        policy_init(&policy);
        if (policy_load_profile(&policy, name, &err) != 0 ||
            policy_effective(layers, 1, language, &values, &err) != 0)
                fail_msg("%s: %s", name, err.message);
        assert_int_equal(policy.layer, LAYER_PROFILE);
        assert_string_equal(policy.name, name);
        policy_done(&policy);
        return values;
}

static void every_profile_loads_and_shows_what_loads_again(void **state)
{
        size_t count = 0;

        for (const struct policy_profile *p = policy_profiles; p->name; p++, count++) {
                struct policy_values values = profile(p->name, NULL), again;
                char *shown = policy_show(&values, "yaml"), *shown_again;

                again = effective_of(shown, NULL);
                shown_again = policy_show(&again, "yaml");
                assert_string_equal(shown, shown_again);
                assert_true(strlen(p->what) > 10);
                mem_free(shown);
                mem_free(shown_again);
                policy_values_done(&values);
                policy_values_done(&again);
        }
        assert_true(count >= 6);
}

static void the_default_profile_changes_nothing(void **state)
{
        struct policy_values values = profile("default", "python"), defaults;
        char *shown, *expected;

        assert_int_equal(policy_defaults(&defaults, NULL), 0);
        shown = policy_show(&values, "yaml");
        expected = policy_show(&defaults, "yaml");
        assert_string_equal(shown, expected);
        mem_free(shown);
        mem_free(expected);
        policy_values_done(&values);
        policy_values_done(&defaults);
}

static void strict_blocks_and_is_nowhere_wider_than_the_defaults(void **state)
{
        struct policy policies[2];
        const struct policy *layers[] = { &policy_seal, &policies[0] };
        struct policy_values values;

        policy_init(&policies[0]);
        assert_int_equal(policy_load_profile(&policies[0], "strict", NULL), 0);
        assert_int_equal(policy_effective(layers, 2, "python", &values, NULL), 0);
        assert_int_equal(values.analysis_mode, ANALYSIS_BLOCK);
        assert_int_equal(values.network_mode, NETWORK_NONE);
        assert_int_equal(values.backends[0], BACKEND_CONTAINER);
        assert_true(policy_rules(&values, "python", RULE_IMPORTS)->count > 3);
        assert_true(policy_rules(&values, "shell", RULE_COMMANDS)->count > 3);
        policy_values_done(&values);
        policy_done(&policies[0]);
}

static void the_others_are_what_they_are_for(void **state)
{
        struct policy_values values = profile("judge", "c");

        assert_int_equal(values.limits.cpu_time_ms, 2000);
        assert_int_equal(values.limits.memory_bytes, 256 << 20);
        assert_int_equal(values.enforcement, ENFORCEMENT_STRICT);
        assert_int_equal(values.analysis_mode, ANALYSIS_OFF);
        policy_values_done(&values);

        values = profile("data", "python");
        assert_int_equal(values.limits.memory_bytes, UINT64_C(2) << 30);
        assert_int_equal(values.network_mode, NETWORK_NONE);
        policy_values_done(&values);

        values = profile("trusted", NULL);
        assert_int_equal(values.analysis_mode, ANALYSIS_OFF);
        assert_int_equal(values.network_mode, NETWORK_HOST);
        assert_int_equal(values.enforcement, ENFORCEMENT_BEST_EFFORT);
        policy_values_done(&values);
}

static void an_unknown_name_is_refused_with_the_nearest(void **state)
{
        struct policy policy;
        struct error err = { 0 };

        policy_init(&policy);
        assert_int_equal(policy_load_profile(&policy, "strickt", &err), SBX_EINVAL);
        assert_string_equal(err.message, "no such profile 'strickt'");
        assert_string_equal(err.hint, "did you mean 'strict'?");
        assert_null(policy_profile_find("x"));
        policy_done(&policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_profile_loads_and_shows_what_loads_again),
                cmocka_unit_test(the_default_profile_changes_nothing),
                cmocka_unit_test(strict_blocks_and_is_nowhere_wider_than_the_defaults),
                cmocka_unit_test(the_others_are_what_they_are_for),
                cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest),
        };

        return RUN(tests);
}
