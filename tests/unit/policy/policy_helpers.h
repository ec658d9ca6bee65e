/* What the tests of the policy share: loading a text and looking at what it made effective. */
#ifndef TESTS_UNIT_POLICY_HELPERS_H
#define TESTS_UNIT_POLICY_HELPERS_H

#include "unit.h"
#include "policy/policy.h"

static inline int load(struct policy *policy, const char *text, struct error *err)
{
        return policy_load_yaml(policy, text, strlen(text), "p.yaml", err);
}

/* The effective values of a text for a language; the test fails where it does not load. */
static inline struct policy_values effective_of(const char *text, const char *language)
{
        struct policy policy;
        const struct policy *layers[] = { &policy };
        struct policy_values values = { 0 };
        struct error err = { 0 };

        policy_init(&policy);
        if (load(&policy, text, &err) != 0)
                fail_msg("%s (in '%s')", err.message, text);
        assert_int_equal(policy_effective(layers, 1, language, &values, &err), 0);
        policy_done(&policy);
        return values;
}

/* The text is refused, at this place, with this in the message; `hint` may be NULL. */
static inline void refuses_at(const char *text, size_t length, const char *place, const char *what,
                              const char *hint)
{
        struct policy policy;
        struct error err = { 0 };
        int r;

        policy_init(&policy);
        r = policy_load_yaml(&policy, text, length, "p.yaml", &err);
        if (r != SBX_EPOLICY)
                fail_msg("code %d, not a policy error, for '%.200s': %s", r, text, err.message);
        assert_int_equal(err.code, SBX_EPOLICY);
        if (strncmp(err.message, place, strlen(place)) != 0)
                fail_msg("'%s' is not at '%s' (in '%.200s')", err.message, place, text);
        assert_has(err.message, what);
        assert_lacks(err.message, "\n");
        if (hint)
                assert_has(err.hint, hint);
        assert_int_equal(policy.general.given, 0);
        assert_int_equal(policy.language_count, 0);
        policy_done(&policy);
}

static inline const char *env_of(const struct policy_values *values, const char *name)
{
        size_t length = strlen(name);

        for (size_t i = 0; i < values->env.count; i++)
                if (strncmp(values->env.items[i], name, length) == 0 &&
                    values->env.items[i][length] == '=')
                        return values->env.items[i] + length + 1;
        return NULL;
}

#endif
