/* Every allocation of the policy fails once: an error and nothing else, and nothing is left behind
 * (the build with the address sanitizer looks for that). */
#include "policy_helpers.h"

enum { SWEEP_MAX = 5000 }; /* more allocations than any of these needs */

static const char text[] =
        "backend: [container, local]\n"
        "limits: {timeout: 2s}\n"
        "network: {mode: allowlist, allow: [a.org, b.org, 10.0.0.0/8]}\n"
        "filesystem: {workspace: ./w, mounts: [{source: a, target: /a, mode: rw},"
        " {source: b, target: /b}]}\n"
        "env: {A: x, B: y, LC_ALL: C}\n"
        "analysis: {python: {forbidden_imports: [os], forbidden_functions: {add: [eval]}}}\n"
        "sealed: true\n"
        "languages:\n"
        "  python: {filesystem: {workspace: null, mounts: [{source: a, target: /a, mode: rw}]},"
        " network: {allow: {add: [b.org]}}}\n"
        "  shell: {limits: {memory: 64M}, network: {mode: none}}\n";

/* Runs `step` with the n-th allocation failing, for each n, until it succeeds. */
static void sweep(int (*step)(const struct policy *policy), const struct policy *policy)
{
        int r = SBX_ENOMEM;
        uint64_t n;

        for (n = 0; r != 0 && n < SWEEP_MAX; n++) {
                mem_fail_after(n);
                r = step(policy);
                mem_fail_after(UINT64_MAX);
                if (r != 0 && r != SBX_ENOMEM)
                        fail_msg("allocation %llu: code %d", (unsigned long long)n, r);
        }
        assert_int_equal(r, 0);
        assert_true(n > 2); /* else nothing was made to fail */
}

static int step_load(const struct policy *unused)
{
        struct policy policy;
        struct error err = { 0 };
        int r;

        policy_init(&policy);
        r = policy_load_yaml(&policy, text, strlen(text), "p.yaml", &err);
        assert_int_equal(r, err.code);
        policy_done(&policy);
        return r;
}

static int step_effective(const struct policy *policy)
{
        const struct policy *layers[] = { policy, policy };
        struct policy_values values;
        int r = policy_effective(layers, 2, "python", &values, NULL);

        if (r == 0)
                policy_values_done(&values);
        return r;
}

static int step_copy(const struct policy *policy)
{
        struct policy copy;
        int r = policy_copy(&copy, policy, NULL);

        if (r == 0)
                policy_done(&copy);
        return r;
}

static int show(const struct policy *policy, const char *form)
{
        AUTO_FREE char *shown = policy_show(&policy->general, form);

        return shown ? 0 : SBX_ENOMEM;
}

static int step_show_yaml(const struct policy *policy)
{
        return show(policy, "yaml");
}

static int step_show_json(const struct policy *policy)
{
        return show(policy, "json");
}

static int step_explain(const struct policy *policy)
{
        const struct policy *layers[] = { policy };
        struct policy_values values;
        char *shown;

        if (policy_effective(layers, 1, "python", &values, NULL) < 0)
                return SBX_ENOMEM;
        shown = policy_explain(layers, 1, "python", &values);
        policy_values_done(&values);
        mem_free(shown);
        return shown ? 0 : SBX_ENOMEM;
}

static int step_profiles(const struct policy *unused)
{
        AUTO_FREE char *list = policy_profiles_json();
        struct policy policy;
        int r;

        policy_init(&policy);
        r = list ? policy_load_profile(&policy, "strict", NULL) : SBX_ENOMEM;
        policy_done(&policy);
        return r;
}

static int step_schema(const struct policy *unused)
{
        AUTO_FREE char *schema = policy_schema();

        return schema ? 0 : SBX_ENOMEM;
}

static int step_set(const struct policy *unused)
{
        struct policy_values values = { 0 };
        int r = policy_set(&values, "env.A", "b", NULL);

        if (r == 0)
                r = policy_set(&values, "network.allow", "a.org", NULL);
        if (r == 0)
                r = policy_set(&values, "filesystem.workspace", "/w", NULL);
        if (r == 0)
                r = policy_add_mount(&values, "s", "/t", "ro", NULL);
        policy_values_done(&values);
        return r;
}

static void sweep_loaded(int (*step)(const struct policy *policy))
{
        struct policy policy;

        policy_init(&policy);
        assert_int_equal(load(&policy, text, NULL), 0);
        sweep(step, &policy);
        policy_done(&policy);
}

static void loading_survives_every_failing_allocation(void **state)
{
        sweep(step_load, NULL);
}

static void making_effective_survives_every_failing_allocation(void **state)
{
        sweep_loaded(step_effective);
}

static void copying_survives_every_failing_allocation(void **state)
{
        sweep_loaded(step_copy);
}

static void showing_survives_every_failing_allocation(void **state)
{
        sweep_loaded(step_show_yaml);
        sweep_loaded(step_show_json);
}

static void the_schema_survives_every_failing_allocation(void **state)
{
        sweep(step_schema, NULL);
}

static void setting_survives_every_failing_allocation(void **state)
{
        sweep(step_set, NULL);
}

static void explaining_survives_every_failing_allocation(void **state)
{
        sweep_loaded(step_explain);
}

static void profiles_survive_every_failing_allocation(void **state)
{
        sweep(step_profiles, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(loading_survives_every_failing_allocation),
                cmocka_unit_test(making_effective_survives_every_failing_allocation),
                cmocka_unit_test(copying_survives_every_failing_allocation),
                cmocka_unit_test(showing_survives_every_failing_allocation),
                cmocka_unit_test(the_schema_survives_every_failing_allocation),
                cmocka_unit_test(setting_survives_every_failing_allocation),
                cmocka_unit_test(explaining_survives_every_failing_allocation),
                cmocka_unit_test(profiles_survive_every_failing_allocation),
        };

        return RUN(tests);
}
