/*
 * What a layer above a sealed one may do: tighten, and nothing else. The table of keys says what
 * that means for each; here is one function per meaning.
 *
 * Compared are the effective values without and with the layer, so what a layer implies (a list of
 * destinations implies a network mode) is caught as well as what it says.
 */
#include "policy/policy_keys.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 128 };

const struct policy policy_seal = {
        .layer = LAYER_REQUEST,
        .general = { .given = UINT64_C(1) << FIELD_SEALED, .sealed = true },
};

struct comparison {
        const struct policy_values *ceiling, *wanted;
        const struct policy_key *key;
};

static bool is_number(const struct policy_key *key)
{
        return key->kind == KIND_DURATION || key->kind == KIND_SIZE || key->kind == KIND_COUNT ||
               key->kind == KIND_THOUSANDTHS;
}

/* A number, the index of a choice, or a boolean. */
static uint64_t scalar_at(const struct policy_values *values, const struct policy_key *key)
{
        const void *slot = policy_slot_const(values, key);

        if (is_number(key))
                return *(const uint64_t *)slot;
        return key->kind == KIND_BOOLEAN ? *(const bool *)slot : *(const unsigned *)slot;
}

static const char *scalar_text(const struct policy_key *key, uint64_t value,
                               char buffer[UNITS_TEXT_MAX])
{
        if (is_number(key))
                return policy_format_number(key->kind, value, buffer);
        if (key->kind == KIND_BOOLEAN)
                return value ? "true" : "false";
        return key->names[value];
}

static int fail_scalar(const struct comparison *c, const char *how, struct error *err)
{
        char wanted[UNITS_TEXT_MAX], ceiling[UNITS_TEXT_MAX];

        return error_set(err, SBX_EPOLICY, "%s: '%s' is %s the ceiling '%s'", c->key->key,
                         scalar_text(c->key, scalar_at(c->wanted, c->key), wanted), how,
                         scalar_text(c->key, scalar_at(c->ceiling, c->key), ceiling));
}

/* Something of a list that the ceiling does not have. */
static int fail_item(const struct comparison *c, const char *item, const char *why,
                     struct error *err)
{
        char shown[SHOWN_MAX];

        return error_set(err, SBX_EPOLICY, "%s: '%s' %s", c->key->key,
                         str_printable(item, shown, sizeof(shown)), why);
}

static int tighten_free(const struct comparison *c, struct error *err)
{
        return 0;
}

static int tighten_smaller(const struct comparison *c, struct error *err)
{
        return scalar_at(c->wanted, c->key) <= scalar_at(c->ceiling, c->key)
                       ? 0
                       : fail_scalar(c, is_number(c->key) ? "above" : "wider than", err);
}

static int tighten_larger(const struct comparison *c, struct error *err)
{
        return scalar_at(c->wanted, c->key) >= scalar_at(c->ceiling, c->key)
                       ? 0
                       : fail_scalar(c, "weaker than", err);
}

static int tighten_fixed(const struct comparison *c, struct error *err)
{
        return scalar_at(c->wanted, c->key) == scalar_at(c->ceiling, c->key)
                       ? 0
                       : fail_scalar(c, "not", err);
}

/* "auto" stands for the container, the strongest there is; nothing else is taken for it. */
static bool allows_backend(const struct policy_values *ceiling, enum policy_backend backend)
{
        for (size_t i = 0; i < ceiling->backend_count; i++)
                if (ceiling->backends[i] == backend ||
                    (ceiling->backends[i] == BACKEND_AUTO && backend == BACKEND_CONTAINER))
                        return true;
        return false;
}

static int tighten_backends(const struct comparison *c, struct error *err)
{
        for (size_t i = 0; i < c->wanted->backend_count; i++)
                if (!allows_backend(c->ceiling, c->wanted->backends[i]))
                        return fail_item(c, policy_backend_name(c->wanted->backends[i]),
                                         "is not among the backends of the ceiling", err);
        return 0;
}

static int tighten_fallback(const struct comparison *c, struct error *err)
{
        return c->wanted->fallback == BACKEND_NONE || c->wanted->fallback == c->ceiling->fallback
                       ? 0
                       : fail_scalar(c, "not", err);
}

/* Names resolve on the network of the host whatever the key says. */
static int tighten_dns(const struct comparison *c, struct error *err)
{
        return c->ceiling->network_mode == NETWORK_HOST || !c->wanted->network_dns ||
                               c->ceiling->network_dns
                       ? 0
                       : fail_scalar(c, "wider than", err);
}

static bool has_text(const struct strlist *list, const char *text)
{
        for (size_t i = 0; i < list->count; i++)
                if (strcmp(list->items[i], text) == 0)
                        return true;
        return false;
}

static int tighten_deny(const struct comparison *c, struct error *err)
{
        const struct strlist *denied = &c->ceiling->network_deny;

        for (size_t i = 0; i < denied->count; i++)
                if (!has_text(&c->wanted->network_deny, denied->items[i]))
                        return fail_item(c, denied->items[i], "of the ceiling is left out", err);
        return 0;
}

static int tighten_allow(const struct comparison *c, struct error *err)
{
        const struct strlist *wanted = &c->wanted->network_allow;

        for (size_t i = 0; c->ceiling->network_mode != NETWORK_HOST && i < wanted->count; i++)
                if (!has_text(&c->ceiling->network_allow, wanted->items[i]))
                        return fail_item(c, wanted->items[i],
                                         "is not among the destinations of the ceiling", err);
        return 0;
}

static int tighten_modules(const struct comparison *c, struct error *err)
{
        const struct strlist *wanted = &c->wanted->preload;

        for (size_t i = 0; i < wanted->count; i++)
                if (!has_text(&c->ceiling->preload, wanted->items[i]))
                        return fail_item(c, wanted->items[i],
                                         "is not among the modules of the ceiling", err);
        return 0;
}

static int tighten_path(const struct comparison *c, struct error *err)
{
        const char *wanted = *(char *const *)policy_slot_const(c->wanted, c->key);
        const char *ceiling = *(char *const *)policy_slot_const(c->ceiling, c->key);
        char shown[SHOWN_MAX];

        if (!wanted || str_equal(wanted, ceiling))
                return 0;
        if (!ceiling)
                return fail_item(c, wanted, "is not the ceiling, which has none", err);
        return error_set(err, SBX_EPOLICY, "%s: '%.100s' is not the ceiling '%s'", c->key->key,
                         wanted, str_printable(ceiling, shown, sizeof(shown)));
}

static int tighten_mounts(const struct comparison *c, struct error *err)
{
        for (size_t i = 0; i < c->wanted->mount_count; i++) {
                const struct policy_mount *wanted = &c->wanted->mounts[i];
                const struct policy_mount *ceiling = policy_mount_find(c->ceiling, wanted->target);

                if (!ceiling)
                        return fail_item(c, wanted->target,
                                         "is not among the mounts of the ceiling", err);
                if (strcmp(wanted->source, ceiling->source) != 0)
                        return fail_item(c, wanted->target,
                                         "has another source than in the ceiling", err);
                if (wanted->writable && !ceiling->writable)
                        return fail_item(c, wanted->target,
                                         "is writable, and read-only in the ceiling", err);
        }
        return 0;
}

static int tighten_env(const struct comparison *c, struct error *err)
{
        for (size_t i = 0; i < c->wanted->env.count; i++) {
                const char *entry = c->wanted->env.items[i];
                int length = (int)strcspn(entry, "=");
                size_t index = policy_env_find(&c->ceiling->env, entry, (size_t)length);

                if (index == c->ceiling->env.count)
                        return error_set(err, SBX_EPOLICY,
                                         "env: '%.*s' is not among the variables of the ceiling",
                                         length < 64 ? length : 64, entry);
                if (strcmp(entry, c->ceiling->env.items[index]) != 0)
                        return error_set(err, SBX_EPOLICY,
                                         "env: '%.*s' has another value than in the ceiling",
                                         length < 64 ? length : 64, entry);
        }
        return 0;
}

/* Nothing of the ceiling's list is left out; `list` is its name, or "". */
static int keeps_all(const struct comparison *c, const struct policy_list *wanted,
                     const struct policy_list *ceiling, const char *list, struct error *err)
{
        char shown[SHOWN_MAX];

        for (size_t i = 0; i < ceiling->items.count; i++)
                if (!has_text(&wanted->items, ceiling->items.items[i]))
                        return error_set(
                                err, SBX_EPOLICY, "%s%s%s: '%s' of the ceiling is left out",
                                c->key->key, *list ? "." : "", list,
                                str_printable(ceiling->items.items[i], shown, sizeof(shown)));
        return 0;
}

static int tighten_rules(const struct comparison *c, struct error *err)
{
        const struct policy_list *wanted = policy_lists_of_const(c->wanted, c->key);
        const struct policy_list *ceiling = policy_lists_of_const(c->ceiling, c->key);
        int r = 0;

        for (size_t i = 0; r == 0 && i < POLICY_RULE_LISTS; i++)
                r = keeps_all(c, &wanted[i], &ceiling[i], policy_rule_lists[i], err);
        return r;
}

static int tighten_folders(const struct comparison *c, struct error *err)
{
        return keeps_all(c, policy_lists_of_const(c->wanted, c->key),
                         policy_lists_of_const(c->ceiling, c->key), "", err);
}

static int (*const tighteners[TIGHTENS])(const struct comparison *c, struct error *err) = {
        [TIGHTEN_FREE] = tighten_free,         [TIGHTEN_SMALLER] = tighten_smaller,
        [TIGHTEN_LARGER] = tighten_larger,     [TIGHTEN_FIXED] = tighten_fixed,
        [TIGHTEN_BACKENDS] = tighten_backends, [TIGHTEN_FALLBACK] = tighten_fallback,
        [TIGHTEN_DNS] = tighten_dns,           [TIGHTEN_ALLOW] = tighten_allow,
        [TIGHTEN_DENY] = tighten_deny,         [TIGHTEN_MODULES] = tighten_modules,
        [TIGHTEN_PATH] = tighten_path,         [TIGHTEN_MOUNTS] = tighten_mounts,
        [TIGHTEN_ENV] = tighten_env,           [TIGHTEN_RULES] = tighten_rules,
        [TIGHTEN_FOLDERS] = tighten_folders,
};

const char *const policy_tighten_words[TIGHTENS] = {
        [TIGHTEN_FREE] = "free",
        [TIGHTEN_SMALLER] = "only smaller or narrower",
        [TIGHTEN_LARGER] = "only stricter",
        [TIGHTEN_FIXED] = "cannot be changed",
        [TIGHTEN_BACKENDS] = "only some of those; container for auto",
        [TIGHTEN_FALLBACK] = "only the same or none",
        [TIGHTEN_DNS] = "only false",
        [TIGHTEN_ALLOW] = "only some of those",
        [TIGHTEN_MODULES] = "only some of those",
        [TIGHTEN_DENY] = "only more",
        [TIGHTEN_PATH] = "only the same or null",
        [TIGHTEN_MOUNTS] = "only those, and ro for rw",
        [TIGHTEN_ENV] = "only those, with their values",
        [TIGHTEN_RULES] = "only more",
        [TIGHTEN_FOLDERS] = "only more",
};

int policy_check_tighter(const struct policy_values *ceiling, const struct policy_values *wanted,
                         const struct policy_key **ret_key, struct error *err)
{
        for (size_t i = 0; i < policy_key_count; i++) {
                const struct comparison comparison = { ceiling, wanted, &policy_keys[i] };
                int r = tighteners[policy_keys[i].tighten](&comparison, err);

                if (r < 0) {
                        *ret_key = &policy_keys[i];
                        return r;
                }
        }
        return 0;
}
