/* The SANDBOX_* variables of the caller's environment, one line each. */
#include "policy/policy_keys.h"
#include "base/str.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct word {
        const char *from, *to;
};

static const struct word type_words[] = { { "subprocess", "local" }, { NULL, NULL } };
static const struct word block_words[] = {
        { "true", "block" }, { "1", "block" }, { "false", "warn" }, { "0", "warn" }, { NULL, NULL },
};
static const struct word store_words[] = {
        { "true", "always" }, { "1", "always" }, { "false", "never" },
        { "0", "never" },     { NULL, NULL },
};

static const struct variable {
        const char *name;
        const char *keys[2];      /* what it sets */
        uint64_t bare_unit;       /* of a size: how many bytes a bare number counts; else 0 */
        const struct word *words; /* what other words mean, or NULL */
        bool only_words;          /* nothing but those */
} variables[] = {
        { "SANDBOX_TYPE", { "backend" }, 0, type_words, false },
        { "SANDBOX_TIMEOUT_SEC", { "limits.timeout" }, 0, NULL, false },
        { "SANDBOX_MEMORY_MB", { "limits.memory" }, UINT64_C(1) << 20, NULL, false },
        { "SANDBOX_MAX_OUTPUT_KB",
          { "limits.stdout", "limits.stderr" },
          UINT64_C(1) << 10,
          NULL,
          false },
        { "SANDBOX_BLOCK_DANGEROUS_IMPORTS", { "analysis.mode" }, 0, block_words, true },
        { "SANDBOX_STORE_CODE", { "records.store_code" }, 0, store_words, false },
};

const char *policy_env_variable(const char *key)
{
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
                for (size_t j = 0; j < ARRAY_SIZE(variables[i].keys); j++)
                        if (variables[i].keys[j] && strcmp(variables[i].keys[j], key) == 0)
                                return variables[i].name;
        return NULL;
}

/* The first entry of that name, as getenv() takes it; NULL where it is absent or empty. */
static const char *find_variable(char *const *environment, const char *name)
{
        size_t length = strlen(name);

        for (; environment && *environment; environment++)
                if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
                        return (*environment)[length + 1] ? *environment + length + 1 : NULL;
        return NULL;
}

/* The value as the policy's own key wants it; `buffer` is used where it must be rewritten. */
static int translate(const struct variable *variable, const char *value, char buffer[64],
                     const char **ret_text, struct error *err)
{
        char shown[80];
        uint64_t bytes;
        int r;

        for (const struct word *word = variable->words; word && word->from; word++) {
                if (strcmp(word->from, value) == 0) {
                        *ret_text = word->to;
                        return 0;
                }
        }
        *ret_text = value;
        if (variable->only_words)
                return error_set(err, SBX_EPOLICY, "must be true or false, not '%s'",
                                 str_printable(value, shown, sizeof(shown)));
        if (!variable->bare_unit)
                return 0;
        r = units_parse_size(str_printable(value, shown, sizeof(shown)), variable->bare_unit,
                             &bytes, err);
        if (r < 0)
                return r;
        (void)snprintf(buffer, 64, "%" PRIu64, bytes);
        *ret_text = buffer;
        return 0;
}

static int apply(struct policy_values *values, const struct variable *variable, const char *value,
                 struct error *err)
{
        const char *text;
        char buffer[64];
        int r = translate(variable, value, buffer, &text, err);

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(variable->keys) && variable->keys[i]; i++)
                r = policy_key_set(values, policy_key_find(variable->keys[i]), text, err);
        if (r == 0 || r == SBX_ENOMEM)
                return r;
        error_prefix(err, "environment variable %s", variable->name);
        if (err)
                err->code = SBX_EPOLICY;
        return SBX_EPOLICY;
}

int policy_load_environment(struct policy *policy, char *const *environment, struct error *err)
{
        struct policy_values values = { 0 };
        int r = 0;

        policy->layer = LAYER_ENVIRONMENT;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(variables); i++) {
                const char *value = find_variable(environment, variables[i].name);

                if (value)
                        r = apply(&values, &variables[i], value, err);
        }
        if (r == 0)
                r = policy_merge(&policy->general, &values, err);
        policy_values_done(&values);
        return r;
}
