/* Above a sealed layer everything can be tightened and nothing widened: one row per key and way. */
#include "policy_helpers.h"
#include "policy/policy_keys.h"

static const char ceiling[] =
        "sealed: true\n"
        "backend: [container, local]\n"
        "fallback: local\n"
        "enforcement: strict\n"
        "limits: {timeout: 10s, cpu_time: 10s, memory: 64M, cpus: 1.0, processes: 10, disk: 10M,"
        " open_files: 10, stdout: 1M, stderr: 1M, fuel: 1000}\n"
        "network: {mode: allowlist, allow: [a.org, b.org], deny: [x.org], connections: 9,"
        " bytes: 1M, rate: 1M}\n"
        "filesystem: {workspace: /work, mounts: [{source: /s, target: /ro},"
        " {source: /t, target: /rw, mode: rw}]}\n"
        "env: {A: x}\n"
        "preload: [json]\n"
        "analysis: {mode: warn, rules: [/r], python: {forbidden_imports: [os, sys]}}\n"
        "records: {store_code: always}\n";

/* Lays `text` over `below`; 0 or the code, with the error. */
static int lay(const char *below, const char *text, const char *language, struct error *err)
{
        struct policy policies[2];
        const struct policy *layers[] = { &policies[0], &policies[1] };
        struct policy_values values;
        int r;

        policy_init(&policies[0]);
        policy_init(&policies[1]);
        if (load(&policies[0], below, err) != 0 || load(&policies[1], text, err) != 0)
                fail_msg("%s (in '%s')", err->message, text);
        r = policy_effective(layers, 2, language, &values, err);
        if (r == 0)
                policy_values_done(&values);
        policy_done(&policies[0]);
        policy_done(&policies[1]);
        return r;
}

static const struct {
        const char *key, *text, *why;
} widened[] = {
        { "backend", "backend: docker", "'docker' is not among the backends of the ceiling" },
        { "backend", "backend: auto", "'auto' is not among the backends of the ceiling" },
        { "backend", "backend: [container, wasm]", "'wasm' is not among the backends" },
        { "fallback", "fallback: docker", "'docker' is not the ceiling 'local'" },
        { "enforcement", "enforcement: best-effort",
          "'best-effort' is wider than the ceiling 'strict'" },
        { "sealed", "sealed: false", "'false' is weaker than the ceiling 'true'" },
        { "limits.timeout", "limits: {timeout: 10.001s}", "'10.001s' is above the ceiling '10s'" },
        { "limits.cpu_time", "limits: {cpu_time: 11s}", "'11s' is above the ceiling '10s'" },
        { "limits.memory", "limits: {memory: 65M}", "'65 MiB' is above the ceiling '64 MiB'" },
        { "limits.cpus", "limits: {cpus: 1.5}", "'1.5' is above the ceiling '1'" },
        { "limits.processes", "limits: {processes: 11}", "'11' is above the ceiling '10'" },
        { "limits.disk", "limits: {disk: 11M}", "'11 MiB' is above the ceiling '10 MiB'" },
        { "limits.open_files", "limits: {open_files: 11}", "'11' is above the ceiling '10'" },
        { "limits.stdout", "limits: {stdout: 2M}", "'2 MiB' is above the ceiling '1 MiB'" },
        { "limits.stderr", "limits: {stderr: 2M}", "'2 MiB' is above the ceiling '1 MiB'" },
        { "limits.fuel", "limits: {fuel: 1001}", "'1001' is above the ceiling '1000'" },
        { "network.mode", "network: {mode: host}", "'host' is wider than the ceiling 'allowlist'" },
        { "network.dns", "network: {dns: true}", "'true' is wider than the ceiling 'false'" },
        /* Resolving is more than an allowlist without it gives. */
        { "network.dns", "network: {mode: dns}", "'true' is wider than the ceiling 'false'" },
        { "network.allow", "network: {allow: [a.org, c.org]}",
          "'c.org' is not among the destinations of the ceiling" },
        { "network.allow", "network: {allow: {add: [c.org]}}",
          "'c.org' is not among the destinations of the ceiling" },
        { "preload", "preload: {add: [numpy]}", "'numpy' is not among the modules of the ceiling" },
        { "network.connections", "network: {connections: 10}", "is above the ceiling" },
        { "network.bytes", "network: {bytes: 2M}", "is above the ceiling" },
        { "network.rate", "network: {rate: 2M}", "is above the ceiling" },
        { "filesystem.workspace", "filesystem: {workspace: /other}",
          "'/other' is not the ceiling '/work'" },
        { "filesystem.mounts", "filesystem: {mounts: [{source: /n, target: /new}]}",
          "'/new' is not among the mounts of the ceiling" },
        { "filesystem.mounts", "filesystem: {mounts: [{source: /n, target: /ro}]}",
          "'/ro' has another source than in the ceiling" },
        { "filesystem.mounts", "filesystem: {mounts: [{source: /s, target: /ro, mode: rw}]}",
          "'/ro' is writable, and read-only in the ceiling" },
        { "env", "env: {B: y}", "'B' is not among the variables of the ceiling" },
        { "env", "env: {A: y}", "'A' has another value than in the ceiling" },
        { "analysis.mode", "analysis: {mode: off}", "'off' is weaker than the ceiling 'warn'" },
        { "analysis.rules", "analysis: {rules: [/s]}", "'/r' of the ceiling is left out" },
        { "analysis.python", "analysis: {python: {forbidden_imports: [os]}}",
          "forbidden_imports: 'sys' of the ceiling is left out" },
        { "records.store_code", "records: {store_code: never}",
          "'never' is not the ceiling 'always'" },
        { "records.mode", "records: {mode: off}", "'off' is not the ceiling 'on'" },
};

static const struct {
        const char *key, *text;
} tightened[] = {
        { "version", "version: 1" },
        { "backend", "backend: container" },
        { "backend", "backend: [local, container]" },
        { "fallback", "fallback: none" },
        { "fallback", "fallback: local" },
        { "enforcement", "enforcement: strict" },
        { "sealed", "sealed: true" },
        { "limits.timeout", "limits: {timeout: 10s}" },
        { "limits.timeout", "limits: {timeout: 1ms}" },
        { "limits.cpu_time", "limits: {cpu_time: 1s}" },
        { "limits.memory", "limits: {memory: 1M}" },
        { "limits.cpus", "limits: {cpus: 0.5}" },
        { "limits.processes", "limits: {processes: 1}" },
        { "limits.disk", "limits: {disk: 4K}" },
        { "limits.open_files", "limits: {open_files: 4}" },
        { "limits.stdout", "limits: {stdout: 0}" },
        { "limits.stderr", "limits: {stderr: 0}" },
        { "limits.fuel", "limits: {fuel: 1}" },
        { "network.mode", "network: {mode: none}" },
        { "network.mode", "network: {mode: localhost}" },
        { "network.dns", "network: {dns: false}" },
        { "network.allow", "network: {allow: [b.org]}" },
        { "network.allow", "network: {allow: []}" },
        { "preload", "preload: []" },
        { "preload", "preload: [json]" },
        { "network.deny", "network: {deny: [y.org]}" },
        { "network.deny", "network: {deny: []}" },
        { "network.connections", "network: {connections: 1}" },
        { "network.bytes", "network: {bytes: 1K}" },
        { "network.rate", "network: {rate: 1K}" },
        { "filesystem.workspace", "filesystem: {workspace: null}" },
        { "filesystem.workspace", "filesystem: {workspace: /work}" },
        { "filesystem.mounts", "filesystem: {mounts: [{source: /t, target: /rw, mode: ro}]}" },
        { "filesystem.mounts", "filesystem: {mounts: [{source: /t, target: /rw, mode: rw}]}" },
        { "env", "env: {A: x}" },
        { "analysis.mode", "analysis: {mode: block}" },
        { "analysis.rules", "analysis: {rules: {add: [/s]}}" },
        { "analysis.python", "analysis: {python: {forbidden_imports: {add: [pty]}}}" },
        { "analysis.shell", "analysis: {shell: {forbidden_commands: [rm]}}" },
        { "records.store_code", "records: {store_code: always}" },
        { "records.mode", "records: {mode: on}" },
        { "monitoring.interval", "monitoring: {interval: 1s}" },
        { "monitoring.warn_timeout", "monitoring: {warn_timeout: 0}" },
        { "monitoring.warn_cpu_time", "monitoring: {warn_cpu_time: 0}" },
        { "monitoring.warn_memory", "monitoring: {warn_memory: 0}" },
        { "monitoring.warn_processes", "monitoring: {warn_processes: 0}" },
        { "monitoring.warn_disk", "monitoring: {warn_disk: 100}" },
};

static void nothing_can_be_widened(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(widened); i++) {
                struct error err = { 0 };

                if (lay(ceiling, widened[i].text, NULL, &err) != SBX_EPOLICY)
                        fail_msg("'%s' passed", widened[i].text);
                assert_has(err.message, "p.yaml:1:"); /* the place in the file that widens */
                assert_has(err.message, widened[i].key);
                assert_has(err.message, widened[i].why);
                assert_has(err.hint, "the policy is sealed by p.yaml: it can only be tightened");
        }
}

static void everything_can_be_tightened(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(tightened); i++) {
                struct error err = { 0 };

                if (lay(ceiling, tightened[i].text, NULL, &err) != 0)
                        fail_msg("'%s': %s", tightened[i].text, err.message);
        }
}

/* So that a new key comes with its rows here. */
static void every_key_has_its_rows(void **state)
{
        for (size_t i = 0; i < policy_key_count; i++) {
                const struct policy_key *key = &policy_keys[i];
                /* A layer cannot take back what an earlier one denies, sealed or not. */
                bool may_widen = key->tighten == TIGHTEN_FREE || key->kind == KIND_DENY,
                     tightens = key->kind == KIND_LANGUAGES;

                if (key->kind == KIND_RULES && strcmp(key->key, "analysis.python") != 0)
                        continue; /* all of them are one function */
                for (size_t j = 0; j < ARRAY_SIZE(widened); j++)
                        may_widen = may_widen || strcmp(widened[j].key, key->key) == 0;
                for (size_t j = 0; j < ARRAY_SIZE(tightened); j++)
                        tightens = tightens || strcmp(tightened[j].key, key->key) == 0;
                if (!may_widen || !tightens)
                        fail_msg("no row for '%s'", key->key);
        }
}

static void without_a_seal_everything_can_be_widened(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(widened); i++) {
                struct error err = { 0 };

                if (lay(ceiling + strlen("sealed: true\n"), widened[i].text, NULL, &err) != 0)
                        fail_msg("'%s': %s", widened[i].text, err.message);
        }
}

static void what_follows_from_a_value_counts_too(void **state)
{
        struct error err = { 0 };

        /* Destinations without a mode mean the mode allowlist. */
        assert_int_equal(lay("sealed: true\n", "network: {allow: [a.org]}", NULL, &err),
                         SBX_EPOLICY);
        assert_has(err.message, "network.mode: 'allowlist' is wider than the ceiling 'none'");
        assert_int_equal(lay("sealed: true\n", "network: {dns: true}", NULL, &err), SBX_EPOLICY);
        assert_has(err.message, "network.mode: 'dns' is wider than the ceiling 'none'");
        /* The network of the host is wider than any list. */
        assert_int_equal(lay("{sealed: true, network: {mode: host}}", "network: {allow: [a.org]}",
                             NULL, &err),
                         0);
        assert_int_equal(
                lay("{sealed: true, network: {mode: host}}", "network: {mode: dns}", NULL, &err),
                0);
}

static void auto_can_become_the_container_and_nothing_else(void **state)
{
        struct error err = { 0 };

        assert_int_equal(lay("sealed: true", "backend: container", NULL, &err), 0);
        assert_int_equal(lay("sealed: true", "backend: auto", NULL, &err), 0);
        assert_int_equal(lay("sealed: true", "backend: local", NULL, &err), SBX_EPOLICY);
        assert_has(err.message, "backend: 'local' is not among the backends of the ceiling");
}

static void a_block_for_a_language_is_held_to_the_seal(void **state)
{
        struct error err = { 0 };
        const char *text = "version: 1\nlanguages: {python: {limits: {timeout: 1h}}}";

        assert_int_equal(lay(ceiling, text, NULL, &err), 0);
        assert_int_equal(lay(ceiling, text, "python", &err), SBX_EPOLICY);
        assert_has(err.message, "p.yaml:2:");
        assert_has(err.message, "limits.timeout: '3600s' is above the ceiling '10s'");
}

static void the_sealing_layer_itself_is_free(void **state)
{
        struct error err = { 0 };

        assert_int_equal(
                lay("limits: {timeout: 1s}", "{sealed: true, limits: {timeout: 2s}}", NULL, &err),
                0);
}

static void the_environment_is_named_by_its_variable(void **state)
{
        char timeout[] = "SANDBOX_TIMEOUT_SEC=60";
        char *environment[] = { timeout, NULL };
        struct policy file, variables;
        const struct policy *layers[] = { &file, &variables };
        struct policy_values values;
        struct error err = { 0 };

        policy_init(&file);
        policy_init(&variables);
        assert_int_equal(load(&file, ceiling, &err), 0);
        assert_int_equal(policy_load_environment(&variables, environment, &err), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, &err), SBX_EPOLICY);
        assert_string_equal(err.message, "environment variable SANDBOX_TIMEOUT_SEC: limits.timeout:"
                                         " '60s' is above the ceiling '10s'");
        policy_done(&file);
        policy_done(&variables);
}

static void a_bare_seal_holds_what_stands_below(void **state)
{
        struct policy flags;
        const struct policy *layers[] = { &policy_seal, &flags };
        struct policy_values values;
        struct error err = { 0 };

        policy_init(&flags);
        flags.layer = LAYER_REQUEST;
        assert_int_equal(policy_set(&flags.general, "limits.timeout", "31s", &err), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, &err), SBX_EPOLICY);
        assert_string_equal(err.message, "limits.timeout: '31s' is above the ceiling '30s'");
        assert_string_equal(err.hint, "the policy is sealed: it can only be tightened");
        policy_done(&flags);
}

/* Links in it may be a program's, whatever the effective policy has become. */
static void what_was_writable_by_some_layer_stays_known(void **state)
{
        static const char *const texts[] = {
                "sealed: true\nfilesystem: {workspace: /work, mounts: [{source: /s, target: /ro},"
                " {source: /t, target: /rw, mode: rw}]}\n"
                "languages: {lua: {filesystem: {workspace: /lua, mounts: [{source: /u, target: /u,"
                " mode: rw}]}}}\n",
                "filesystem: {workspace: null, mounts: [{source: /t, target: /rw}]}\n",
        };
        static const char *const expected[] = { "/work", "/t", "/lua", "/u" };
        struct strlist paths = { 0 };
        struct error err = { 0 };

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                struct policy layer;

                policy_init(&layer);
                assert_int_equal(load(&layer, texts[i], &err), 0);
                assert_int_equal(policy_add_writable(&layer, &paths, &err), 0);
                policy_done(&layer);
        }
        assert_int_equal(paths.count, ARRAY_SIZE(expected));
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
                assert_string_equal(paths.items[i], expected[i]);
        strlist_done(&paths);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_can_be_widened),
                cmocka_unit_test(everything_can_be_tightened),
                cmocka_unit_test(every_key_has_its_rows),
                cmocka_unit_test(without_a_seal_everything_can_be_widened),
                cmocka_unit_test(what_follows_from_a_value_counts_too),
                cmocka_unit_test(auto_can_become_the_container_and_nothing_else),
                cmocka_unit_test(a_block_for_a_language_is_held_to_the_seal),
                cmocka_unit_test(the_sealing_layer_itself_is_free),
                cmocka_unit_test(the_environment_is_named_by_its_variable),
                cmocka_unit_test(a_bare_seal_holds_what_stands_below),
                cmocka_unit_test(what_was_writable_by_some_layer_stays_known),
        };

        return RUN(tests);
}
