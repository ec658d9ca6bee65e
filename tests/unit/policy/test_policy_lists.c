/* Lists replace what earlier layers gave, or are added to it where they say so. */
#include "policy_helpers.h"

/* The effective values of two texts, one over the other. */
static struct policy_values both(const char *first, const char *second)
{
        struct policy policies[2];
        const struct policy *layers[] = { &policies[0], &policies[1] };
        struct policy_values values = { 0 };
        struct error err = { 0 };

        policy_init(&policies[0]);
        policy_init(&policies[1]);
        if (load(&policies[0], first, &err) != 0 || load(&policies[1], second, &err) != 0 ||
            policy_effective(layers, 2, "python", &values, &err) != 0)
                fail_msg("%s", err.message);
        policy_done(&policies[0]);
        policy_done(&policies[1]);
        return values;
}

static void check_list(const struct strlist *list, const char *expected)
{
        char joined[256] = "";

        for (size_t i = 0; i < list->count; i++) {
                (void)strcat(joined, i ? " " : "");
                (void)strcat(joined, list->items[i]);
        }
        assert_string_equal(joined, expected);
}

static void check_imports(const char *first, const char *second, const char *expected)
{
        struct policy_values values = both(first, second);

        check_list(policy_rules(&values, "python", RULE_IMPORTS), expected);
        policy_values_done(&values);
}

static void check_allowed(const char *first, const char *second, const char *expected)
{
        struct policy_values values = both(first, second);

        check_list(&values.network_allow, expected);
        policy_values_done(&values);
}

static void a_list_of_rules_replaces_the_one_below(void **state)
{
        check_imports("analysis: {python: {forbidden_imports: [os, sys]}}",
                      "analysis: {python: {forbidden_imports: [pty]}}", "pty");
        check_imports("analysis: {python: {forbidden_imports: [os, sys]}}",
                      "analysis: {python: {forbidden_imports: []}}", "");
        check_imports("analysis: {python: {forbidden_imports: [os, sys]}}",
                      "analysis: {python: {forbidden_functions: [eval]}}", "os sys");
}

static void a_list_of_rules_can_be_added_to(void **state)
{
        check_imports("analysis: {python: {forbidden_imports: [os, sys]}}",
                      "analysis: {python: {forbidden_imports: {add: [pty, os]}}}", "os sys pty");
        check_imports("analysis: {python: {forbidden_imports: {add: [os]}}}",
                      "analysis: {python: {forbidden_imports: {add: [sys]}}}", "os sys");
        check_imports("analysis: {shell: {forbidden_commands: [rm]}}",
                      "analysis: {python: {forbidden_imports: {add: [sys]}}}", "sys");
}

static void destinations_replace_or_are_added(void **state)
{
        check_allowed("network: {allow: [a.org]}", "network: {allow: [b.org]}", "b.org");
        check_allowed("network: {allow: [a.org]}", "network: {allow: {add: [b.org, a.org]}}",
                      "a.org b.org");
        check_allowed("network: {allow: [a.org]}",
                      "languages: {python: {network: {allow: {add: [b.org]}}}}", "a.org b.org");
}

static void an_addition_stays_one_in_a_copy(void **state)
{
        struct policy below, above, copy;
        const struct policy *layers[] = { &below, &copy };
        struct policy_values values;

        policy_init(&below);
        policy_init(&above);
        assert_int_equal(load(&below,
                              "network: {allow: [a.org]}\n"
                              "analysis: {python: {forbidden_imports: [os]}}",
                              NULL),
                         0);
        assert_int_equal(load(&above,
                              "network: {allow: {add: [b.org]}}\n"
                              "analysis: {python: {forbidden_imports: {add: [pty]}}}",
                              NULL),
                         0);
        assert_int_equal(policy_copy(&copy, &above, NULL), 0);
        assert_int_equal(policy_effective(layers, 2, NULL, &values, NULL), 0);
        check_list(&values.network_allow, "a.org b.org");
        check_list(policy_rules(&values, "Python", RULE_IMPORTS), "os pty");
        policy_values_done(&values);
        policy_done(&below);
        policy_done(&above);
        policy_done(&copy);
}

static void every_list_of_every_language_is_kept(void **state)
{
        static const char *const languages[] = { "python", "javascript", "shell", "typescript", "c",
                                                 "cpp",    "go",         "rust",  "java" };
        static const char *const lists[] = { "forbidden_imports", "forbidden_functions",
                                             "forbidden_patterns", "forbidden_commands",
                                             "forbidden_rules" };

        for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
                for (enum policy_rule rule = 0; rule < POLICY_RULE_LISTS; rule++) {
                        struct policy_values values;
                        char text[128];

                        (void)snprintf(text, sizeof(text), "analysis: {%s: {%s: [one, two]}}",
                                       languages[i], lists[rule]);
                        values = effective_of(text, NULL);
                        check_list(policy_rules(&values, languages[i], rule), "one two");
                        policy_values_done(&values);
                }
        }
        assert_false(policy_knows_language("cobol"));
}

static void what_is_wrong_with_a_list_is_told_with_its_place(void **state)
{
        static const struct {
                const char *text, *place, *what, *hint;
        } bad[] = {
                { "network: {allow: {ad: [a.org]}}",
                  "p.yaml:1:19: ", "unknown key 'network.allow.ad'", "did you mean 'add'?" },
                { "network: {allow: {}}", "p.yaml:1:18: ", "network.allow: the mapping is empty",
                  NULL },
                { "network: {allow: {add: a.org}}", "p.yaml:1:24: ",
                  "network.allow.add: must be a list of destinations, not a single value", NULL },
                { "network: {allow: {add: [a.org], add: []}}",
                  "p.yaml:1:33: ", "the key 'network.allow.add' stands twice", NULL },
                { "network: {allow: {add: [a b]}}",
                  "p.yaml:1:25: ", "network.allow.add: bad network destination 'a b'", NULL },
                { "analysis: {python: {forbidden_imports: os}}", "p.yaml:1:40: ",
                  "analysis.python.forbidden_imports: must be a list of texts, not a single value",
                  NULL },
                { "analysis: {python: {forbidden_imports: ['']}}",
                  "p.yaml:1:41: ", "analysis.python.forbidden_imports: a rule is empty", NULL },
                { "analysis: {python: {forbidden_imports: {add: ['']}}}",
                  "p.yaml:1:47: ", "analysis.python.forbidden_imports.add: a rule is empty", NULL },
                { "analysis: {python: {forbiden_imports: [os]}}",
                  "p.yaml:1:21: ", "unknown key 'analysis.python.forbiden_imports'",
                  "did you mean 'forbidden_imports'?" },
                { "languages: {python: {analysis: {mode: off}}}",
                  "p.yaml:1:22: ", "unknown key 'languages.python.analysis'", NULL },
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                refuses_at(bad[i].text, strlen(bad[i].text), bad[i].place, bad[i].what,
                           bad[i].hint);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_list_of_rules_replaces_the_one_below),
                cmocka_unit_test(a_list_of_rules_can_be_added_to),
                cmocka_unit_test(destinations_replace_or_are_added),
                cmocka_unit_test(an_addition_stays_one_in_a_copy),
                cmocka_unit_test(every_list_of_every_language_is_kept),
                cmocka_unit_test(what_is_wrong_with_a_list_is_told_with_its_place),
        };

        return RUN(tests);
}
