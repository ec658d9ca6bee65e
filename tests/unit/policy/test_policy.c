#include "policy_helpers.h"

/* ---- layers ---- */

static void the_defaults_give_every_field(void **state)
{
        struct policy_values values;

        assert_int_equal(policy_defaults(&values, NULL), 0);
        assert_int_equal(values.given, (UINT64_C(1) << FIELD_COUNT) - 1);
        assert_int_equal(values.limits.timeout_ms, 30000);
        assert_int_equal(values.limits.memory_bytes, 512 << 20);
        assert_int_equal(values.limits.cpus_milli, 1000);
        assert_int_equal(values.backend_count, 1);
        assert_int_equal(values.backends[0], BACKEND_AUTO);
        assert_int_equal(values.fallback, BACKEND_NONE);
        assert_int_equal(values.enforcement, ENFORCEMENT_STRICT);
        assert_int_equal(values.network_mode, NETWORK_NONE);
        assert_int_equal(values.analysis_mode, ANALYSIS_WARN);
        assert_int_equal(values.store_code, STORE_ON_ERROR);
        assert_null(values.workspace);
        assert_string_equal(env_of(&values, "LC_ALL"), "C.UTF-8");
        policy_values_done(&values);
}

static void without_layers_the_defaults_are_effective(void **state)
{
        struct policy_values values;

        assert_int_equal(policy_effective(NULL, 0, "python", &values, NULL), 0);
        assert_int_equal(values.limits.processes, 64);
        policy_values_done(&values);
}

static void a_later_layer_replaces_and_a_language_block_replaces_within_its_layer(void **state)
{
        struct policy file, flags;
        const struct policy *layers[] = { &file, &flags };
        struct policy_values values;

        policy_init(&file);
        policy_init(&flags);
        assert_int_equal(load(&file,
                              "limits: {timeout: 10s, memory: 64M, processes: 5}\n"
                              "languages: {Python: {limits: {timeout: 20s, memory: 128M}}}\n",
                              NULL),
                         0);
        assert_int_equal(policy_set(&flags.general, "limits.timeout", "7s", NULL), 0);

        assert_int_equal(policy_effective(layers, 2, "python", &values, NULL), 0);
        assert_int_equal(values.limits.timeout_ms, 7000);
        assert_int_equal(values.limits.memory_bytes, 128 << 20);
        assert_int_equal(values.limits.processes, 5);
        policy_values_done(&values);

        assert_int_equal(policy_effective(layers, 2, NULL, &values, NULL), 0);
        assert_int_equal(values.limits.memory_bytes, 64 << 20);
        policy_values_done(&values);
        policy_done(&file);
        policy_done(&flags);
}

static void variables_and_mounts_add_up_and_the_later_one_wins(void **state)
{
        struct policy first, second;
        const struct policy *layers[] = { &first, &second };
        struct policy_values values;

        policy_init(&first);
        policy_init(&second);
        assert_int_equal(load(&first,
                              "env: {A: 1, B: 2}\n"
                              "filesystem: {mounts: [{source: a, target: /a, mode: ro},"
                              " {source: b, target: /b, mode: ro}]}\n",
                              NULL),
                         0);
        assert_int_equal(policy_add_env(&second.general, "B", "3", NULL), 0);
        assert_int_equal(policy_add_mount(&second.general, "/other", "/b/", "rw", NULL), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, NULL), 0);
        assert_string_equal(env_of(&values, "A"), "1");
        assert_string_equal(env_of(&values, "B"), "3");
        assert_string_equal(env_of(&values, "LC_ALL"), "C.UTF-8");
        assert_int_equal(values.env.count, 3);
        assert_int_equal(values.mount_count, 2);
        assert_string_equal(values.mounts[1].source, "/other");
        assert_true(values.mounts[1].writable);
        assert_false(values.mounts[0].writable);
        policy_values_done(&values);
        policy_done(&first);
        policy_done(&second);
}

static void null_takes_back_the_workspace_of_an_earlier_layer(void **state)
{
        struct policy first, second;
        const struct policy *layers[] = { &first, &second };
        struct policy_values values;

        policy_init(&first);
        policy_init(&second);
        assert_int_equal(load(&first, "filesystem: {workspace: ./w}", NULL), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, NULL), 0);
        assert_string_equal(values.workspace, "./w");
        policy_values_done(&values);
        assert_int_equal(load(&second, "filesystem: {workspace: null}", NULL), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, NULL), 0);
        assert_null(values.workspace);
        policy_values_done(&values);
        policy_done(&first);
        policy_done(&second);
}

static void a_copy_stands_alone(void **state)
{
        struct policy from, to;

        policy_init(&from);
        assert_int_equal(load(&from,
                              "backend: [container, local]\nenv: {A: x}\n"
                              "languages: {c: {limits: {timeout: 1s}}}\n",
                              NULL),
                         0);
        assert_int_equal(policy_copy(&to, &from, NULL), 0);
        policy_done(&from);
        assert_int_equal(to.general.backend_count, 2);
        assert_int_equal(to.general.backends[1], BACKEND_LOCAL);
        assert_string_equal(env_of(&to.general, "A"), "x");
        assert_int_equal(to.language_count, 1);
        assert_string_equal(to.languages[0].name, "c");
        assert_int_equal(to.languages[0].line, 3);
        assert_int_equal(to.languages[0].values.limits.timeout_ms, 1000);
        policy_done(&to);
}

static void more_mounts_than_the_maximum_in_all_layers_together_are_refused(void **state)
{
        struct policy layer[2];
        const struct policy *layers[] = { &layer[0], &layer[1] };
        struct policy_values values;
        struct error err = { 0 };
        char target[32];

        for (int i = 0; i < 2; i++) {
                policy_init(&layer[i]);
                for (int j = 0; j < 40; j++) {
                        (void)snprintf(target, sizeof(target), "/m%d-%d", i, j);
                        assert_int_equal(
                                policy_add_mount(&layer[i].general, "s", target, "ro", NULL), 0);
                }
        }
        assert_int_equal(policy_effective(layers, 2, NULL, &values, &err), SBX_EPOLICY);
        assert_has(err.message, "64");
        policy_done(&layer[0]);
        policy_done(&layer[1]);
}

/* ---- network: implied and settled ---- */

static void naming_destinations_implies_the_allowlist(void **state)
{
        struct policy_values values = effective_of("network: {allow: [example.org]}", NULL);

        assert_int_equal(values.network_mode, NETWORK_ALLOWLIST);
        assert_int_equal(values.network_allow.count, 1);
        policy_values_done(&values);
}

static void wanting_names_implies_the_dns_mode(void **state)
{
        struct policy_values values = effective_of("network: {dns: true}", NULL);

        assert_int_equal(values.network_mode, NETWORK_DNS);
        assert_true(values.network_dns);
        policy_values_done(&values);
}

static void a_stricter_later_mode_voids_the_allowlist(void **state)
{
        struct policy file, flags;
        const struct policy *layers[] = { &file, &flags };
        struct policy_values values;

        policy_init(&file);
        policy_init(&flags);
        assert_int_equal(
                load(&file, "network: {mode: allowlist, dns: true, allow: [example.org]}", NULL),
                0);
        assert_int_equal(policy_set(&flags.general, "network.mode", "none", NULL), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, NULL), 0);
        assert_int_equal(values.network_mode, NETWORK_NONE);
        assert_int_equal(values.network_allow.count, 0);
        assert_false(values.network_dns);
        policy_values_done(&values);
        policy_done(&file);
        policy_done(&flags);
}

static void an_empty_allowlist_allows_nothing(void **state)
{
        struct policy_values values = effective_of("network: {mode: allowlist, allow: []}", NULL);

        assert_int_equal(values.network_mode, NETWORK_ALLOWLIST);
        assert_int_equal(values.network_allow.count, 0);
        policy_values_done(&values);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_defaults_give_every_field),
                cmocka_unit_test(without_layers_the_defaults_are_effective),
                cmocka_unit_test(
                        a_later_layer_replaces_and_a_language_block_replaces_within_its_layer),
                cmocka_unit_test(variables_and_mounts_add_up_and_the_later_one_wins),
                cmocka_unit_test(null_takes_back_the_workspace_of_an_earlier_layer),
                cmocka_unit_test(a_copy_stands_alone),
                cmocka_unit_test(more_mounts_than_the_maximum_in_all_layers_together_are_refused),
                cmocka_unit_test(naming_destinations_implies_the_allowlist),
                cmocka_unit_test(wanting_names_implies_the_dns_mode),
                cmocka_unit_test(a_stricter_later_mode_voids_the_allowlist),
                cmocka_unit_test(an_empty_allowlist_allows_nothing),
        };

        return RUN(tests);
}
