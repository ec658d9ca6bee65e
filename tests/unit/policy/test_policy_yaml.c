#include "policy_helpers.h"
#include "base/str.h"

#include <time.h>

static const char everything[] =
        "version: 1\n"
        "backend: auto\n"
        "fallback: none\n"
        "enforcement: strict\n"
        "limits:   { timeout: 30s, cpu_time: 30s, memory: 512M, cpus: 1.0, processes: 64, disk: "
        "100M,\n"
        "            open_files: 256, stdout: 1M, stderr: 1M, fuel: 5000000000 }\n"
        "network:  { mode: none, dns: false, allow: [] }\n"
        "filesystem: { workspace: null, mounts: [ { source: ./data, target: /data, mode: ro } ] }\n"
        "env:      { LC_ALL: C.UTF-8 }\n"
        "analysis:\n"
        "  mode: warn\n"
        "  python:     { forbidden_imports: [os, sys], forbidden_functions: [eval], "
        "forbidden_patterns: [\"__import__\"] }\n"
        "  javascript: { forbidden_imports: [fs], forbidden_patterns: [\"process.exit\", "
        "\"eval(\"] }\n"
        "  shell:      { forbidden_commands: [rm, sudo], forbidden_patterns: [\">/dev/\"] }\n"
        "records:  { store_code: on_error }\n"
        "languages:\n"
        "  javascript: { limits: { memory: 256M, timeout: 15s } }\n"
        "  shell:      { limits: { memory: 128M, timeout: 10s } }\n";

static void every_key_of_the_contract_loads(void **state)
{
        struct policy_values values = effective_of(everything, "shell");

        assert_int_equal(values.limits.memory_bytes, 128 << 20);
        assert_int_equal(values.limits.timeout_ms, 10000);
        assert_int_equal(values.limits.fuel, UINT64_C(5000000000));
        assert_int_equal(values.mount_count, 1);
        assert_string_equal(values.mounts[0].source, "./data");
        policy_values_done(&values);
}

static void language_blocks_take_limits_env_network_and_filesystem(void **state)
{
        struct policy_values values = effective_of(
                "languages:\n"
                "  python:\n"
                "    limits: {timeout: 3s}\n"
                "    env: {A: b}\n"
                "    network: {mode: localhost}\n"
                "    filesystem: {workspace: /w, mounts: [{source: /s, target: /t, mode: rw}]}\n",
                "python");

        assert_int_equal(values.limits.timeout_ms, 3000);
        assert_string_equal(env_of(&values, "A"), "b");
        assert_int_equal(values.network_mode, NETWORK_LOCALHOST);
        assert_string_equal(values.workspace, "/w");
        assert_true(values.mounts[0].writable);
        policy_values_done(&values);
}

static void bare_sizes_are_bytes_and_bare_times_are_seconds(void **state)
{
        struct policy_values values = effective_of(
                "limits: {memory: 2097152, timeout: 1.5, processes: \"5\", stdout: 0}", NULL);

        assert_int_equal(values.limits.memory_bytes, 2 << 20);
        assert_int_equal(values.limits.timeout_ms, 1500);
        assert_int_equal(values.limits.processes, 5);
        assert_int_equal(values.limits.stdout_bytes, 0);
        policy_values_done(&values);
}

static void variables_keep_words_that_yaml_would_read_otherwise(void **state)
{
        struct policy_values values = effective_of("env: {A: yes, B: 1.0, C: \"null\", D: \"\", E: "
                                                   "\"line\\nbreak\", F: 0x1f, LD_PRELOAD: /x.so}",
                                                   NULL);

        assert_string_equal(env_of(&values, "A"), "yes");
        assert_string_equal(env_of(&values, "B"), "1.0");
        assert_string_equal(env_of(&values, "C"), "null");
        assert_string_equal(env_of(&values, "D"), "");
        assert_string_equal(env_of(&values, "E"), "line\nbreak");
        assert_string_equal(env_of(&values, "F"), "0x1f");
        policy_values_done(&values);
}

struct refusal {
        const char *text, *place, *what, *hint;
};

static void check_refusals(const struct refusal *cases, size_t count)
{
        for (size_t i = 0; i < count; i++)
                refuses_at(cases[i].text, strlen(cases[i].text), cases[i].place, cases[i].what,
                           cases[i].hint);
}
#define CHECK(cases) check_refusals((cases), ARRAY_SIZE(cases))

static void unknown_keys_are_named_with_their_place_and_the_likely_one(void **state)
{
        static const struct refusal cases[] = {
                { "netwrok: {mode: none}", "p.yaml:1:1: ", "unknown key 'netwrok'",
                  "did you mean 'network'?" },
                { "version: 1\nlimits:\n  timeot: 1s", "p.yaml:3:3: ", "'limits.timeot'",
                  "'timeout'" },
                { "limits: {blub: 1}", "p.yaml:1:10: ", "'limits.blub'",
                  "known here: timeout, cpu_time" },
                { "limits.timeout: 1", "p.yaml:1:1: ", "unknown key", NULL },
                { "Version: 1", "p.yaml:1:1: ", "unknown key 'Version'", "'version'" },
                { "analysis: {pyhton: {}}", "p.yaml:1:12: ", "'analysis.pyhton'", "'python'" },
                { "analysis: {python: {forbiden_imports: []}}", "p.yaml:1:21: ", "forbiden_imports",
                  "'forbidden_imports'" },
                { "filesystem: {mounts: [{src: a, target: /b}]}",
                  "p.yaml:1:24: ", "'filesystem.mounts.src'", "source" },
                { "languages: {c: {backend: local}}", "p.yaml:1:17: ", "'languages.c.backend'",
                  "known here: limits, network, filesystem, env" },
                { "languages: {c: {limits: {x: 1}}}", "p.yaml:1:26: ", "'languages.c.limits.x'",
                  NULL },
                { "\"a\\nb\": 1", "p.yaml:1:1: ", "a\\x0ab", NULL },
                { "<<: {version: 1}", "p.yaml:1:1: ", "unknown key '<<'", NULL },
                { "'': 1", "p.yaml:1:1: ", "unknown key ''", NULL },
        };

        CHECK(cases);
}

static void keys_that_stand_twice_are_refused(void **state)
{
        static const struct refusal cases[] = {
                { "version: 1\nversion: 1", "p.yaml:2:1: ", "'version' stands twice", NULL },
                { "limits: {timeout: 1s}\nlimits: {memory: 64M}",
                  "p.yaml:2:1: ", "'limits' stands twice", NULL },
                { "limits: {timeout: 1s, timeout: 2s}",
                  "p.yaml:1:23: ", "'limits.timeout' stands twice", NULL },
                { "env: {A: 1, A: 1}", "p.yaml:1:13: ", "'env.A' stands twice", NULL },
                { "languages: {c: {}, C: {}}", "p.yaml:1:20: ", "'languages.C' stands twice",
                  NULL },
                { "analysis: {python: {forbidden_imports: [], forbidden_imports: []}}",
                  "p.yaml:1:44: ", "twice", NULL },
                { "filesystem: {mounts: [{source: a, source: b, target: /t}]}",
                  "p.yaml:1:35: ", "twice", NULL },
        };

        CHECK(cases);
}

static void wrong_types_and_null_are_refused(void **state)
{
        static const struct refusal cases[] = {
                { "[]", "p.yaml:1:1: ", "the policy: must be a mapping, not a list", NULL },
                { "word", "p.yaml:1:1: ", "the policy: must be a mapping", NULL },
                { "null", "p.yaml:1:1: ", "the policy: must be a mapping, not null", NULL },
                { "limits: 5", "p.yaml:1:9: ", "limits: must be a mapping, not a single value",
                  NULL },
                { "limits:\nversion: 1", "p.yaml:1:8: ", "limits: must be a mapping, not null",
                  "leave the key out" },
                { "limits: {timeout: [1s]}", "p.yaml:1:19: ", "limits.timeout: must be a time",
                  NULL },
                { "limits: {timeout: {a: b}}", "p.yaml:1:19: ", "not a mapping", NULL },
                { "limits: {timeout: null}", "p.yaml:1:19: ", "not null", NULL },
                { "limits: {timeout: ~}", "p.yaml:1:19: ", "not null", NULL },
                { "limits: {timeout: }", "p.yaml:1:19: ", "not null", NULL },
                { "network: {allow: example.org}", "p.yaml:1:18: ", "must be a list", NULL },
                { "network: {allow: null}", "p.yaml:1:18: ", "must be a list", NULL },
                { "network: {allow: [[a]]}", "p.yaml:1:19: ", "must be a list of destinations",
                  NULL },
                { "network: {dns: yes}", "p.yaml:1:16: ", "true or false", NULL },
                { "network: {dns: 1}", "p.yaml:1:16: ", "true or false", NULL },
                { "env: [A]", "p.yaml:1:6: ", "env: must be a mapping", NULL },
                { "env: {A: null}", "p.yaml:1:10: ", "not null", NULL },
                { "env: {A: [1]}", "p.yaml:1:10: ", "not a list", NULL },
                { "filesystem: {mounts: {}}", "p.yaml:1:22: ", "must be a list", NULL },
                { "filesystem: {mounts: [a]}", "p.yaml:1:23: ", "list of mappings", NULL },
                { "filesystem: {mounts: [{source: a}]}", "p.yaml:1:23: ", "needs source and target",
                  NULL },
                { "filesystem: {mounts: [{source: null, target: /a}]}", "p.yaml:1:32: ", "not null",
                  NULL },
                { "filesystem: {workspace: []}", "p.yaml:1:25: ", "a path or null", NULL },
                { "backend: {}", "p.yaml:1:10: ", "a backend or a list", NULL },
                { "backend: []", "p.yaml:1:10: ", "the list is empty", NULL },
                { "backend: [[container]]", "p.yaml:1:11: ", "must be", NULL },
                { "analysis: {python: [os]}", "p.yaml:1:20: ", "must be a mapping", NULL },
                { "analysis: {python: {forbidden_imports: os}}", "p.yaml:1:40: ", "must be a list",
                  NULL },
                { "analysis: {python: {forbidden_imports: [\"\"]}}", "p.yaml:1:41: ", "empty",
                  NULL },
                { "languages: [c]", "p.yaml:1:12: ", "must be a mapping", NULL },
                { "languages: {c: 5}", "p.yaml:1:16: ", "languages.c: must be a mapping", NULL },
                { "languages: {\"a/b\": {}}", "p.yaml:1:13: ", "bad language name", NULL },
                { "{a: 1}: 2", "p.yaml:1:1: ", "a key must be a word", NULL },
                { "? [a]\n: 1", "p.yaml:1:3: ", "a key must be a word", NULL },
        };

        CHECK(cases);
}

static void impossible_values_are_refused_at_their_place(void **state)
{
        static const struct refusal cases[] = {
                { "version: 2", "p.yaml:1:10: ", "version: must be 1, not '2'", NULL },
                { "version: 1.0", "p.yaml:1:10: ", "must be 1", NULL },
                { "limits: {memory: 1K}",
                  "p.yaml:1:18: ", "limits.memory: must be between 1 MiB and 4 TiB", NULL },
                { "limits: {memory: 0}", "p.yaml:1:18: ", "between", "endless" },
                { "limits: {memory: -1}", "p.yaml:1:18: ", "'-1' is not a number", NULL },
                { "limits: {memory: 18446744073709551616}", "p.yaml:1:18: ", "too large", NULL },
                { "limits: {memory: .nan}", "p.yaml:1:18: ", "not a number", NULL },
                { "limits: {timeout: 1e400}", "p.yaml:1:19: ", "unknown unit", "500ms" },
                { "limits: {processes: 2.5}", "p.yaml:1:21: ", "not a whole number", NULL },
                { "limits: {processes: 0x10}", "p.yaml:1:21: ", "'0x10'", NULL },
                { "limits: {open_files: 010}", "p.yaml:1:22: ", "not a number", NULL },
                { "backend: containr", "p.yaml:1:10: ", "unknown value 'containr'", "'container'" },
                { "backend: [container, container]", "p.yaml:1:22: ", "twice", NULL },
                { "backend: [local, auto]", "p.yaml:1:18: ", "alone", NULL },
                { "enforcement: lax", "p.yaml:1:14: ", "unknown value", "strict, best-effort" },
                { "network: {allow: ['*']}",
                  "p.yaml:1:19: ", "network.allow: bad network destination '*'", NULL },
                { "network: {allow: ['']}", "p.yaml:1:19: ", "bad network destination", NULL },
                { "env: {1A: x}", "p.yaml:1:7: ", "bad variable name '1A'", NULL },
                { "env: {A: \"x\\0y\"}", "p.yaml:1:10: ", "NUL", NULL },
                { "filesystem: {mounts: [{source: a, target: /proc}]}",
                  "p.yaml:1:23: ", "belongs to the sandbox", NULL },
                { "filesystem: {mounts: [{source: a, target: b}]}", "p.yaml:1:23: ", "not absolute",
                  NULL },
                { "filesystem: {mounts: [{source: a, target: /b}, {source: c, target: /b/, mode: "
                  "rw}]}",
                  "p.yaml:1:48: ", "mounted twice", "one mode" },
                { "languages: {c: {limits: {timeout: 0}}}",
                  "p.yaml:1:35: ", "languages.c.limits.timeout: must be between", NULL },
        };

        CHECK(cases);
}

static void contradictions_within_one_block_are_refused(void **state)
{
        static const struct refusal cases[] = {
                { "network: {mode: none, allow: [a.org]}",
                  "p.yaml:1:10: ", "mode is 'none', but allow", "take one" },
                { "network: {mode: host, allow: [a.org]}",
                  "p.yaml:1:10: ", "mode is 'host', but allow", NULL },
                { "network: {mode: none, dns: true}", "p.yaml:1:10: ", "but dns is true", NULL },
                { "network: {mode: dns, dns: false}", "p.yaml:1:10: ", "but dns is false", NULL },
                { "languages: {c: {network: {mode: none, dns: true}}}",
                  "p.yaml:1:26: ", "languages.c.network", NULL },
        };

        CHECK(cases);
}

static void what_is_yaml_but_no_policy_is_refused(void **state)
{
        static const struct refusal cases[] = {
                { "", "p.yaml:1:1: ", "empty", "version: 1" },
                { "# nothing\n", "p.yaml:2:1: ", "empty", NULL },
                { "env: &x {A: b}", "p.yaml:1:6: ", "anchors", NULL },
                { "env: {A: *x}", "p.yaml:1:10: ", "aliases", NULL },
                { "version: !!int 1", "p.yaml:1:10: ", "tags", NULL },
                { "env: !x {A: b}", "p.yaml:1:6: ", "tags", NULL },
                { "%TAG ! tag:x,2000:\n---\nversion: 1\n", "p.yaml:1:1: ", "tags", NULL },
                { "version: 1\n---\nversion: 1\n", "p.yaml:2:1: ", "second", NULL },
                { "version: 1\n...\nversion: 1\n", "p.yaml:", "", NULL },
                { "env: {A: 1", "p.yaml:", "not YAML", NULL },
                { "version: 1\n\tlimits: {}", "p.yaml:2:", "not YAML", NULL },
                { "{version: 1}}", "p.yaml:1:13: ", "not YAML", NULL },
                { "\x01", "p.yaml:1:1: ", "not YAML", NULL },
                { "version: 1\n# \xc3\xa4 \x1b", "p.yaml:2:5: ", "not YAML: control characters",
                  NULL },
                { "'unfinished", "p.yaml:", "not YAML", NULL },
        };

        CHECK(cases);
}

static void bytes_that_are_no_text_are_refused_at_their_place(void **state)
{
        refuses_at("\xef\xbb\xbfversion: 1", 13, "p.yaml:1:1: ", "byte order mark", "without BOM");
        refuses_at("\xff\xfev\0", 4, "p.yaml:1:4: ", "NUL", NULL);
        refuses_at("version: 1\0", 11, "p.yaml:1:11: ", "NUL", NULL);
        refuses_at("version: 1\n# \xc3\xa4\xff", 16, "p.yaml:2:4: ", "UTF-8", NULL);
        refuses_at("\xc0\x80", 2, "p.yaml:1:1: ", "UTF-8", NULL);
        refuses_at("a: \xed\xa0\x80", 6, "p.yaml:1:4: ", "UTF-8", NULL);
        refuses_at("a: \xe2\x82", 5, "p.yaml:1:4: ", "UTF-8", NULL);
}

/* A text of `count` times `part`, loaded; it must be refused within a second. */
static void refuses_many(const char *head, const char *part, size_t count, const char *what)
{
        struct strbuf text = { 0 };
        struct timespec begin, end;

        strbuf_adds(&text, head);
        for (size_t i = 0; i < count; i++)
                strbuf_adds(&text, part);
        assert_false(text.failed);
        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin), 0);
        refuses_at(text.data, text.length, "p.yaml:", what, NULL);
        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end), 0);
        assert_true(end.tv_sec - begin.tv_sec < 2);
        strbuf_done(&text);
}

static void huge_and_deep_files_are_refused_at_once(void **state)
{
        refuses_many("", "aaaaaaaaaaaaaaaa", 100 << 16, "larger than 1 MiB");
        refuses_many("", "[", 10000, "");
        refuses_many("limits: ", "{a: ", 10000, "");
        refuses_many("env: {A: ", "[", 10000, "not a list");
        refuses_many("", "- ", 10000, "");
        refuses_many("? ", "? ", 10000, "");
        refuses_many("#", "x", (1 << 20) - 2, "empty");
        refuses_many("network: {allow: [", "a.org,", 100000, "more than 1024 ");
        refuses_many("analysis: {c: {forbidden_patterns: [", "x,", 100000,
                     "more than 1024 entries");
}

static void very_many_variables_are_refused_at_once(void **state)
{
        struct strbuf text = { 0 };

        strbuf_adds(&text, "env:\n");
        for (int i = 0; i < 60000; i++)
                strbuf_addf(&text, " A%d: \n", i);
        refuses_at(text.data, text.length, "p.yaml:2:5: ", "not null", NULL);
        strbuf_done(&text);
        strbuf_adds(&text, "env:\n");
        for (int i = 0; i < 60000; i++)
                strbuf_addf(&text, " A%d: 1\n", i);
        refuses_at(text.data, text.length,
                   "p.yaml:12002:2: ", "more than 12000 environment variables", NULL);
        strbuf_done(&text);
}

static void too_many_languages_and_mounts_are_refused(void **state)
{
        struct strbuf text = { 0 };

        strbuf_adds(&text, "languages:\n");
        for (int i = 0; i < 65; i++)
                strbuf_addf(&text, "  l%d: {}\n", i);
        refuses_at(text.data, text.length, "p.yaml:66:3: ", "more than 64 languages", NULL);
        strbuf_done(&text);
        strbuf_adds(&text, "filesystem:\n mounts:\n");
        for (int i = 0; i < 65; i++)
                strbuf_addf(&text, "  - {source: a, target: /m%d}\n", i);
        refuses_at(text.data, text.length, "p.yaml:67:5: ", "more than 64 mounts", NULL);
        strbuf_done(&text);
}

static void a_name_with_control_bytes_cannot_break_the_message(void **state)
{
        struct policy policy;
        struct error err = { 0 };

        policy_init(&policy);
        assert_int_equal(policy_load_yaml(&policy, "x: 1", 4, "a\nb\x1b.yaml", &err), SBX_EPOLICY);
        assert_lacks(err.message, "\n");
        assert_lacks(err.message, "\x1b");
        policy_done(&policy);
}

static void a_wrong_file_leaves_the_policy_as_it_was(void **state)
{
        struct policy policy;

        policy_init(&policy);
        assert_int_equal(load(&policy, "limits: {timeout: 3s}", NULL), 0);
        assert_int_equal(
                load(&policy, "limits: {timeout: 4s}\nlanguages: {c: {env: {A: b}}}\nx: 1", NULL),
                SBX_EPOLICY);
        assert_int_equal(policy.general.limits.timeout_ms, 3000);
        assert_int_equal(policy.language_count, 0);
        policy_done(&policy);
}

static void the_policies_that_come_with_the_program_load(void **state)
{
        static const char *const names[] = { "default", "strict", "judge", "agent" };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                struct policy_values values;
                char path[4096], text[8192];
                size_t length;
                FILE *file;

                (void)snprintf(path, sizeof(path), "%s/%s.yaml", POLICIES_DIR, names[i]);
                file = fopen(path, "re");
                assert_non_null(file);
                length = fread(text, 1, sizeof(text) - 1, file);
                assert_int_equal(fclose(file), 0);
                text[length] = '\0';
                values = effective_of(text, "python");
                policy_values_done(&values);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_key_of_the_contract_loads),
                cmocka_unit_test(language_blocks_take_limits_env_network_and_filesystem),
                cmocka_unit_test(bare_sizes_are_bytes_and_bare_times_are_seconds),
                cmocka_unit_test(variables_keep_words_that_yaml_would_read_otherwise),
                cmocka_unit_test(unknown_keys_are_named_with_their_place_and_the_likely_one),
                cmocka_unit_test(keys_that_stand_twice_are_refused),
                cmocka_unit_test(wrong_types_and_null_are_refused),
                cmocka_unit_test(impossible_values_are_refused_at_their_place),
                cmocka_unit_test(contradictions_within_one_block_are_refused),
                cmocka_unit_test(what_is_yaml_but_no_policy_is_refused),
                cmocka_unit_test(bytes_that_are_no_text_are_refused_at_their_place),
                cmocka_unit_test(huge_and_deep_files_are_refused_at_once),
                cmocka_unit_test(very_many_variables_are_refused_at_once),
                cmocka_unit_test(too_many_languages_and_mounts_are_refused),
                cmocka_unit_test(a_name_with_control_bytes_cannot_break_the_message),
                cmocka_unit_test(a_wrong_file_leaves_the_policy_as_it_was),
                cmocka_unit_test(the_policies_that_come_with_the_program_load),
        };

        return RUN(tests);
}
