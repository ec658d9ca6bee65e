#include "policy_helpers.h"

#include <jansson.h>

static const char unusual[] =
        "backend: [container, local]\n"
        "fallback: local\n"
        "enforcement: best-effort\n"
        "limits: {timeout: 1501ms, cpu_time: 90m, memory: 1048577, cpus: 0.29, processes: 7, disk: "
        "3G,\n"
        "         open_files: 9, stdout: 0, stderr: 1K, fuel: 9223372036854775807}\n"
        "network: {mode: allowlist, dns: true, allow: ['*.example.org:443', '[::1]:80-90', "
        "10.0.0.0/8]}\n"
        "filesystem:\n"
        "  workspace: \"a \\\"b\\\" # c: \\n\"\n"
        "  mounts: [{source: './d d', target: /d, mode: rw}, {source: /s, target: '/t # x'}]\n"
        "env: {A: '', B: \"tab\\t nl\\n cr\\r bell\\a del\\x7f quote\\\" back\\\\ nel\\u0085 "
        "ls\\u2028 bom\\ufeff end\\uffff\",\n"
        "      C: '#', D: 'null', E: \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\", LC_ALL: C}\n"
        "analysis: {mode: off}\n"
        "records: {store_code: never}\n";

static void assert_same(const struct policy_values *a, const struct policy_values *b)
{
        assert_int_equal(a->given, b->given);
        assert_memory_equal(&a->limits, &b->limits, sizeof(a->limits));
        assert_int_equal(a->backend_count, b->backend_count);
        for (size_t i = 0; i < a->backend_count; i++)
                assert_int_equal(a->backends[i], b->backends[i]);
        assert_int_equal(a->fallback, b->fallback);
        assert_int_equal(a->enforcement, b->enforcement);
        assert_int_equal(a->network_mode, b->network_mode);
        assert_int_equal(a->network_dns, b->network_dns);
        assert_int_equal(a->network_allow.count, b->network_allow.count);
        for (size_t i = 0; i < a->network_allow.count; i++)
                assert_string_equal(a->network_allow.items[i], b->network_allow.items[i]);
        assert_int_equal(!a->workspace, !b->workspace);
        if (a->workspace)
                assert_string_equal(a->workspace, b->workspace);
        assert_int_equal(a->mount_count, b->mount_count);
        for (size_t i = 0; i < a->mount_count; i++) {
                assert_string_equal(a->mounts[i].source, b->mounts[i].source);
                assert_string_equal(a->mounts[i].target, b->mounts[i].target);
                assert_int_equal(a->mounts[i].writable, b->mounts[i].writable);
        }
        assert_int_equal(a->env.count, b->env.count);
        for (size_t i = 0; i < a->env.count; i++)
                assert_string_equal(a->env.items[i], b->env.items[i]);
        assert_int_equal(a->analysis_mode, b->analysis_mode);
        assert_int_equal(a->store_code, b->store_code);
}

static void shown_and_loaded_again_is_the_same(const char *text, const char *form)
{
        struct policy_values values = effective_of(text, NULL), again;
        AUTO_FREE char *shown = policy_show(&values, form);

        assert_non_null(shown);
        again = effective_of(shown, NULL);
        assert_same(&values, &again);
        policy_values_done(&values);
        policy_values_done(&again);
}

static void the_yaml_of_the_defaults_loads_again_to_the_same(void **state)
{
        shown_and_loaded_again_is_the_same("version: 1", "yaml");
}

static void the_yaml_of_unusual_values_loads_again_to_the_same(void **state)
{
        shown_and_loaded_again_is_the_same(unusual, "yaml");
}

static void the_json_of_plain_values_loads_again_to_the_same(void **state)
{
        shown_and_loaded_again_is_the_same(
                "limits: {timeout: 1501ms, cpus: 0.29, memory: 1048577}\n"
                "backend: [container, local]\nenv: {A: \"q\\\"\"}\n"
                "network: {allow: [a.org]}\n",
                "json");
}

static void every_thousandth_survives_being_shown(void **state)
{
        for (unsigned milli = 10; milli < 3000; milli += 7) {
                char text[64];

                (void)snprintf(text, sizeof(text), "limits: {cpus: %u.%03u, timeout: %ums}",
                               milli / 1000, milli % 1000, milli);
                shown_and_loaded_again_is_the_same(text, milli & 1 ? "yaml" : "json");
        }
}

static void the_yaml_has_the_order_of_the_contract_and_a_sentence_beside_limits(void **state)
{
        static const char *const order[] = { "version: 1",
                                             "backend: auto",
                                             "fallback: none",
                                             "enforcement: strict",
                                             "limits:\n  timeout: 30s",
                                             "memory: 512M",
                                             "fuel: 5000000000",
                                             "network:\n  mode: none",
                                             "allow: []",
                                             "filesystem:\n  workspace: null",
                                             "mounts: []",
                                             "env:",
                                             "LC_ALL: \"C.UTF-8\"",
                                             "analysis:\n  mode: warn",
                                             "records:\n  store_code: on_error" };
        struct policy_values values = effective_of("version: 1", NULL);
        AUTO_FREE char *shown = policy_show(&values, "yaml");
        const char *at = shown;

        for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
                at = strstr(at, order[i]);
                if (!at)
                        fail_msg("'%s' is missing or out of order in:\n%s", order[i], shown);
        }
        assert_has(shown, "# wall-clock time");
        policy_values_done(&values);
}

static void the_json_has_seconds_bytes_and_null(void **state)
{
        struct policy_values values = effective_of("limits: {timeout: 1500ms}", NULL);
        AUTO_FREE char *shown = policy_show(&values, "json");
        json_t *root = json_loads(shown, 0, NULL), *limits = json_object_get(root, "limits");

        assert_non_null(root);
        assert_true(json_real_value(json_object_get(limits, "timeout")) == 1.5);
        assert_int_equal(json_integer_value(json_object_get(limits, "memory")), 512 << 20);
        assert_true(
                json_is_null(json_object_get(json_object_get(root, "filesystem"), "workspace")));
        assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
        json_decref(root);
        policy_values_done(&values);
}

static void bytes_that_are_not_utf8_are_shown_as_replacements(void **state)
{
        static const char *const forms[] = { "yaml", "json" };
        struct policy_values values;

        assert_int_equal(policy_defaults(&values, NULL), 0);
        assert_int_equal(policy_add_env(&values, "X", "a\xff\xc3", NULL), 0);
        assert_int_equal(policy_set(&values, "filesystem.workspace", "/w\xfe", NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                AUTO_FREE char *shown = policy_show(&values, forms[i]);

                assert_non_null(shown);
                assert_has(shown, "a\xef\xbf\xbd\xef\xbf\xbd");
        }
        policy_values_done(&values);
}

/* ---- the schema ---- */

static json_t *schema_of(json_t *root, const char *section, const char *key)
{
        json_t *at = json_object_get(json_object_get(root, "properties"), section);

        return key ? json_object_get(json_object_get(at, "properties"), key) : at;
}

static void the_schema_knows_every_limit_with_its_bounds_and_default(void **state)
{
        static const char *const keys[] = {
#define X(field, key, kind, def, min, max, what) key,
#include "policy/limits.def"
#undef X
        };
        AUTO_FREE char *text = policy_schema();
        json_t *root = json_loads(text, 0, NULL), *memory;

        assert_non_null(root);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                assert_non_null(schema_of(root, "limits", keys[i]));
                assert_non_null(json_object_get(schema_of(root, "limits", keys[i]), "default"));
        }
        memory = json_array_get(json_object_get(schema_of(root, "limits", "memory"), "anyOf"), 0);
        assert_int_equal(json_integer_value(json_object_get(memory, "minimum")), 1 << 20);
        json_decref(root);
}

static void the_schema_allows_no_unknown_key_and_limits_language_blocks(void **state)
{
        AUTO_FREE char *text = policy_schema();
        json_t *root = json_loads(text, 0, NULL), *block;

        assert_true(json_is_false(json_object_get(root, "additionalProperties")));
        assert_true(json_is_false(
                json_object_get(schema_of(root, "limits", NULL), "additionalProperties")));
        block = json_object_get(schema_of(root, "languages", NULL), "additionalProperties");
        assert_non_null(json_object_get(json_object_get(block, "properties"), "limits"));
        assert_null(json_object_get(json_object_get(block, "properties"), "backend"));
        assert_non_null(schema_of(root, "filesystem", "mounts"));
        assert_non_null(schema_of(root, "records", "store_code"));
        json_decref(root);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_yaml_of_the_defaults_loads_again_to_the_same),
                cmocka_unit_test(the_yaml_of_unusual_values_loads_again_to_the_same),
                cmocka_unit_test(the_json_of_plain_values_loads_again_to_the_same),
                cmocka_unit_test(every_thousandth_survives_being_shown),
                cmocka_unit_test(
                        the_yaml_has_the_order_of_the_contract_and_a_sentence_beside_limits),
                cmocka_unit_test(the_json_has_seconds_bytes_and_null),
                cmocka_unit_test(bytes_that_are_not_utf8_are_shown_as_replacements),
                cmocka_unit_test(the_schema_knows_every_limit_with_its_bounds_and_default),
                cmocka_unit_test(the_schema_allows_no_unknown_key_and_limits_language_blocks),
        };

        return RUN(tests);
}
