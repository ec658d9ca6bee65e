#include "policy_helpers.h"

/* ---- single values ---- */

struct setting {
        const char *key, *value;
        const char *wrong; /* part of the message, or NULL where it is right */
};

static const struct setting settings[] = {
        { "limits.timeout", "500ms", NULL },
        { "limits.timeout", "0", "between 0.001s and 86400s" },
        { "limits.timeout", "0.0", "between" },
        { "limits.timeout", "25h", "between" },
        { "limits.timeout", "-1", "not a number" },
        { "limits.timeout", "1e400", "unknown unit" },
        { "limits.timeout", "nan", "not a number" },
        { "limits.timeout", "05", "not a number" },
        { "limits.timeout", "1\n", "not a number" },
        { "limits.timeout", "", "not a number" },
        { "limits.memory", "256MB", NULL },
        { "limits.memory", "256MiB", NULL },
        { "limits.memory", "1K", "between 1 MiB and 4 TiB" },
        { "limits.memory", "9223372036854775808", "too large" },
        { "limits.memory", "18446744073709551616", "too large" },
        { "limits.processes", "1.5", "not a whole number" },
        { "limits.processes", "0", "between 1 and 32768" },
        { "limits.cpus", "0.5", NULL },
        { "limits.cpus", "0", "between 0.01 and 1024" },
        { "limits.stdout", "0", NULL },
        { "limits.stderr", "0", NULL },
        { "limits.open_files", "3", "between 4" },
        { "backend", "container", NULL },
        { "backend", "container,local", NULL },
        { "backend", "container,container", "twice" },
        { "backend", "auto,local", "alone" },
        { "backend", "none", "unknown value" },
        { "backend", "", "unknown value" },
        { "backend", "container,", "unknown value" },
        { "fallback", "none", NULL },
        { "fallback", "auto", "unknown value" },
        { "enforcement", "best-effort", NULL },
        { "enforcement", "STRICT", "unknown value" },
        { "network.mode", "localhost", NULL },
        { "network.dns", "true", NULL },
        { "network.dns", "yes", "true or false" },
        { "filesystem.workspace", "./w", NULL },
        { "filesystem.workspace", "", "empty" },
        { "filesystem.mounts", "a:b", "cannot be set" },
        { "env", "A=1", "cannot be set" },
        { "env.NAME", "any text", NULL },
        { "env.1X", "x", "bad variable name" },
        { "env.", "x", "bad variable name" },
        { "env.A-B", "x", "bad variable name" },
        { "env.LD_PRELOAD", "/x.so", NULL },
        { "analysis.mode", "block", NULL },
        { "records.store_code", "always", NULL },
        { "version", "2", "must be 1" },
        { "nonsense", "x", "unknown policy key" },
};

static void each_key_takes_what_it_can_and_names_itself_when_not(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                const struct setting *set = &settings[i];
                struct policy_values values = { 0 };
                struct error err = { 0 };
                int r = policy_set(&values, set->key, set->value, &err);

                if (!set->wrong && r != 0)
                        fail_msg("%s=%s: %s", set->key, set->value, err.message);
                if (set->wrong && r != SBX_EINVAL)
                        fail_msg("%s=%s was taken", set->key, set->value);
                if (set->wrong) {
                        assert_has(err.message, set->wrong);
                        assert_lacks(err.message, "\n");
                        assert_int_equal(values.given, 0);
                        if (strncmp(set->key, "limits", 6) == 0)
                                assert_has(err.message, set->key);
                }
                policy_values_done(&values);
        }
}

static void a_limit_of_zero_is_said_not_to_be_endless(void **state)
{
        struct policy_values values = { 0 };
        struct error err = { 0 };

        assert_int_equal(policy_set(&values, "limits.memory", "0", &err), SBX_EINVAL);
        assert_has(err.hint, "endless");
}

static void a_misspelt_key_or_value_comes_with_the_right_one(void **state)
{
        static const struct {
                const char *key, *value, *hint;
        } cases[] = {
                { "limits.timeot", "1", "'limits.timeout'" },
                { "timeout", "1", "'limits.timeout'" },
                { "netwrok.mode", "none", "'network.mode'" },
                { "network.mode", "nnoe", "'none'" },
                { "backend", "contaner", "'container'" },
                { "backend", "xyz", "container, local" },
                { "something", "else", "keys are those of a policy file, such as limits.timeout" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct policy_values values = { 0 };
                struct error err = { 0 };

                assert_int_equal(policy_set(&values, cases[i].key, cases[i].value, &err),
                                 SBX_EINVAL);
                assert_has(err.hint, cases[i].hint);
        }
}

static void lists_and_mappings_are_not_set_by_one_value(void **state)
{
        static const char *const keys[] = { "filesystem.mounts", "env", "analysis.python",
                                            "languages" };

        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                struct policy_values values = { 0 };
                struct error err = { 0 };

                assert_int_equal(policy_set(&values, keys[i], "x", &err), SBX_EINVAL);
                assert_has(err.message, keys[i]);
                assert_has(err.message, ": cannot be set by one value");
        }
}

/* ---- mounts ---- */

static void mount_targets_are_normal_and_outside_the_sandbox_itself(void **state)
{
        static const struct {
                const char *target, *normal; /* NULL: refused */
        } cases[] = {
                { "/data", "/data" },
                { "/data/", "/data" },
                { "//data//x/", "/data/x" },
                { "/a/./b", "/a/b" },
                { "/usr/share/x", "/usr/share/x" },
                { "/tmp/x", "/tmp/x" },
                { "/procx", "/procx" },
                { "/...", "/..." },
                { "data", NULL },
                { "", NULL },
                { "/", NULL },
                { "//", NULL },
                { "/.", NULL },
                { "/..", NULL },
                { "/a/../b", NULL },
                { "/a/..", NULL },
                { "../x", NULL },
                { "/proc", NULL },
                { "/proc/1", NULL },
                { "/proc//self/", NULL },
                { "/sys", NULL },
                { "/sys/fs", NULL },
                { "/dev", NULL },
                { "/dev/shm", NULL },
                { "/etc", NULL },
                { "/etc/", NULL },
                { "/tmp", NULL },
                { "/workspace", NULL },
                { "/code", NULL },
                { "/usr", NULL },
                { "/bin", NULL },
                { "/lib", NULL },
                { "/lib64", NULL },
                { "/sbin", NULL },
                { "/a\nb", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct policy_values values = { 0 };
                struct error err = { 0 };
                int r = policy_add_mount(&values, "src", cases[i].target, "ro", &err);

                if ((r == 0) != (cases[i].normal != NULL))
                        fail_msg("'%s': %d %s", cases[i].target, r, err.message);
                if (cases[i].normal)
                        assert_string_equal(values.mounts[0].target, cases[i].normal);
                policy_values_done(&values);
        }
}

static void mounts_refuse_bad_sources_modes_and_lengths(void **state)
{
        struct policy_values values = { 0 };
        struct error err = { 0 };
        char path[5001];

        memset(path, 'p', sizeof(path) - 1);
        path[0] = '/';
        path[5000] = '\0';
        assert_int_equal(policy_add_mount(&values, "", "/d", "ro", &err), SBX_EINVAL);
        assert_has(err.message, "source");
        assert_int_equal(policy_add_mount(&values, path, "/d", "ro", &err), SBX_EINVAL);
        assert_int_equal(policy_add_mount(&values, "s", path, "ro", &err), SBX_EINVAL);
        assert_has(err.message, "4095");
        assert_int_equal(policy_add_mount(&values, "s", "/d", "rx", &err), SBX_EINVAL);
        assert_has(err.message, "'ro' or 'rw'");
        assert_int_equal(policy_add_mount(&values, "s", "/d", NULL, &err), 0);
        assert_false(values.mounts[0].writable);
        policy_values_done(&values);
}

static void the_same_target_twice_in_one_layer_is_a_conflict(void **state)
{
        struct policy_values values = { 0 };
        struct error err = { 0 };

        assert_int_equal(policy_add_mount(&values, "a", "/d", "ro", &err), 0);
        assert_int_equal(policy_add_mount(&values, "b", "/d/", "rw", &err), SBX_EINVAL);
        assert_has(err.message, "twice");
        assert_int_equal(values.mount_count, 1);
        policy_values_done(&values);
}

/* ---- variables and destinations ---- */

static void variables_are_bounded_one_by_one_together_and_in_number(void **state)
{
        struct policy_values values = { 0 };
        struct error err = { 0 };
        AUTO_FREE char *big = mem_alloc(128 << 10);
        char name[32];
        int r = 0;

        memset(big, 'v', (128 << 10) - 1);
        assert_int_equal(policy_add_env(&values, "BIG", big, &err), SBX_EINVAL);
        big[120 << 10] = '\0';
        for (int i = 0; r == 0 && i < 20; i++) {
                (void)snprintf(name, sizeof(name), "V%d", i);
                r = policy_add_env(&values, name, big, &err);
        }
        assert_int_equal(r, SBX_EINVAL);
        assert_has(err.message, "the environment is larger than 1024 KiB");
        policy_values_done(&values);
        r = 0;
        for (int i = 0; r == 0 && i < 13000; i++) {
                (void)snprintf(name, sizeof(name), "V%d", i);
                r = policy_add_env(&values, name, "", &err);
        }
        assert_int_equal(r, SBX_EINVAL);
        assert_has(err.message, "12000");
        assert_int_equal(policy_add_env(&values, "V1", "replaced", &err), 0);
        assert_string_equal(env_of(&values, "V1"), "replaced");
        policy_values_done(&values);
}

static void destinations_are_names_addresses_and_networks_with_ports(void **state)
{
        static const char *const good[] = {
                "example.org",
                "example.org:443",
                "example.org:8000-8010",
                "*.example.org",
                "*.example.org:443",
                "localhost",
                "127.0.0.1",
                "10.0.0.0/8",
                "10.0.0.0/8:443",
                "::1",
                "2001:db8::/32",
                "[::1]:443",
                "[2001:db8::/32]:80-90",
                "[::1]",
                "xn--bcher-kva.example",
                "a_b.example",
                "0.0.0.0/0",
        };
        static const char *const bad[] = {
                "",
                "*",
                "*.com",
                "*.",
                "*.*.org",
                "https://x",
                "https://x.org/",
                "x.org/path",
                "x.org:",
                "x.org:0",
                "x.org:65536",
                "x.org:9-5",
                "x.org:1-2-3",
                "x.org:http",
                ":443",
                "b\303\274cher.example",
                "a b",
                "-a.org",
                "a-.org",
                "a..org",
                ".org",
                "org.",
                "10.0.0.0/33",
                "10.0.0.0/",
                "10.0.0.0/08",
                "1.2.3",
                "256.1.1.1",
                "[::1",
                "[::1]443",
                "[x.org]:1",
                "::g",
                "::/129",
                "x\n.org",
                "user@x.org",
        };

        for (size_t i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
                const char *text = i < ARRAY_SIZE(good) ? good[i] : bad[i - ARRAY_SIZE(good)];
                struct policy_values values = { 0 };
                struct error err = { 0 };
                int r = policy_set(&values, "network.allow", text, &err);

                if ((r == 0) != (i < ARRAY_SIZE(good)))
                        fail_msg("'%s': %d %s", text, r, err.message);
                if (r < 0)
                        assert_has(err.hint, "CIDR");
                policy_values_done(&values);
        }
}

static void setting_a_destination_adds_to_those_before(void **state)
{
        struct policy_values values = { 0 };

        assert_int_equal(policy_set(&values, "network.allow", "a.org", NULL), 0);
        assert_int_equal(policy_set(&values, "network.allow", "b.org", NULL), 0);
        assert_int_equal(values.network_allow.count, 2);
        policy_values_done(&values);
}

static void the_names_of_choices_can_be_had(void **state)
{
        assert_string_equal(policy_backend_name(BACKEND_CONTAINER), "container");
        assert_string_equal(policy_backend_name(BACKEND_NONE), "none");
        assert_string_equal(policy_network_name(NETWORK_HOST), "host");
        assert_string_equal(policy_enforcement_name(ENFORCEMENT_BEST_EFFORT), "best-effort");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_key_takes_what_it_can_and_names_itself_when_not),
                cmocka_unit_test(a_limit_of_zero_is_said_not_to_be_endless),
                cmocka_unit_test(a_misspelt_key_or_value_comes_with_the_right_one),
                cmocka_unit_test(lists_and_mappings_are_not_set_by_one_value),
                cmocka_unit_test(mount_targets_are_normal_and_outside_the_sandbox_itself),
                cmocka_unit_test(mounts_refuse_bad_sources_modes_and_lengths),
                cmocka_unit_test(the_same_target_twice_in_one_layer_is_a_conflict),
                cmocka_unit_test(variables_are_bounded_one_by_one_together_and_in_number),
                cmocka_unit_test(destinations_are_names_addresses_and_networks_with_ports),
                cmocka_unit_test(setting_a_destination_adds_to_those_before),
                cmocka_unit_test(the_names_of_choices_can_be_had),
        };

        return RUN(tests);
}
