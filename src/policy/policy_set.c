/* One value by its dotted name: the way of flags, of the environment and of scalars in a file. */
#include "policy/policy_keys.h"
#include "base/str.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 80 };

/* Control bytes would break the one line of a message, and no number is this long. */
static int check_number(const char *text, struct error *err)
{
        char shown[SHOWN_MAX];

        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if (*p < 0x20 || *p >= 0x7f || p - (const unsigned char *)text >= 64)
                        return error_set(err, SBX_EINVAL, "'%s' is not a number",
                                         str_printable(text, shown, sizeof(shown)));
        return 0;
}

const char *policy_format_number(enum policy_kind kind, uint64_t value, char buffer[UNITS_TEXT_MAX])
{
        switch (kind) {
        case KIND_DURATION:
                return units_format_duration(value, buffer);
        case KIND_SIZE:
                return units_format_size(value, buffer);
        case KIND_THOUSANDTHS:
                (void)snprintf(buffer, UNITS_TEXT_MAX, "%g", (double)value / 1000);
                return buffer;
        default:
                (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64, value);
                return buffer;
        }
}

static int parse_number(enum policy_kind kind, const char *text, uint64_t *ret_value,
                        struct error *err)
{
        switch (kind) {
        case KIND_DURATION:
                return units_parse_duration(text, ret_value, err);
        case KIND_SIZE:
                return units_parse_size(text, 1, ret_value, err);
        case KIND_THOUSANDTHS:
                return units_parse_thousandths(text, ret_value, err);
        default:
                return units_parse_count(text, ret_value, err);
        }
}

static int set_number(struct policy_values *values, const struct policy_key *key, const char *text,
                      struct error *err)
{
        char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
        uint64_t number = 0;
        int r;

        r = check_number(text, err);
        if (r < 0)
                return r;
        r = parse_number(key->kind, text, &number, err);
        if (r < 0)
                return r;
        if (number < key->min || number > key->max) {
                r = error_set(err, SBX_EINVAL, "must be between %s and %s, not '%s'",
                              policy_format_number(key->kind, key->min, low),
                              policy_format_number(key->kind, key->max, high), text);
                if (number == 0)
                        error_hint(err, "0 does not mean endless; every limit has an end");
                return r;
        }
        *(uint64_t *)policy_slot(values, key) = number;
        return 0;
}

static int set_version(struct policy_values *values, const struct policy_key *key, const char *text,
                       struct error *err)
{
        char shown[SHOWN_MAX];

        if (strcmp(text, "1") == 0)
                return 0;
        return error_set(err, SBX_EINVAL, "must be 1, not '%s'",
                         str_printable(text, shown, sizeof(shown)));
}

/* The index of the name among those the key allows. */
static int find_choice(const struct policy_key *key, const char *text, uint64_t *ret_index,
                       struct error *err)
{
        char shown[SHOWN_MAX];
        int r;

        for (uint64_t i = key->min; i <= key->max; i++) {
                if (strcmp(key->names[i], text) == 0) {
                        *ret_index = i;
                        return 0;
                }
        }
        r = error_set(err, SBX_EINVAL, "unknown value '%s'",
                      str_printable(text, shown, sizeof(shown)));
        policy_hint_names(err, text, key->names + key->min, (size_t)(key->max - key->min + 1));
        return r;
}

static int set_choice(struct policy_values *values, const struct policy_key *key, const char *text,
                      struct error *err)
{
        uint64_t index = 0;
        int r = find_choice(key, text, &index, err);

        if (r < 0)
                return r;
        *(unsigned *)policy_slot(values, key) = (unsigned)index; /* the type behind our enums */
        return 0;
}

static int set_boolean(struct policy_values *values, const struct policy_key *key, const char *text,
                       struct error *err)
{
        bool is_true = strcmp(text, "true") == 0;
        char shown[SHOWN_MAX];

        if (!is_true && strcmp(text, "false") != 0)
                return error_set(err, SBX_EINVAL, "must be true or false, not '%s'",
                                 str_printable(text, shown, sizeof(shown)));
        *(bool *)policy_slot(values, key) = is_true;
        return 0;
}

int policy_add_backend(struct policy_values *values, const char *name, struct error *err)
{
        uint64_t index = 0;
        int r = find_choice(policy_key_find("backend"), name, &index, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < values->backend_count; i++)
                if (values->backends[i] == (enum policy_backend)index)
                        return error_set(err, SBX_EINVAL, "'%s' stands twice in the list", name);
        if (values->backend_count > 0 &&
            (index == BACKEND_AUTO || values->backends[0] == BACKEND_AUTO))
                return error_set(err, SBX_EINVAL, "'auto' stands alone or not at all");
        /* Four kinds, none twice: the array cannot overflow. */
        values->backends[values->backend_count++] = (enum policy_backend)index;
        return 0;
}

static int set_backends(struct policy_values *values, const struct policy_key *key,
                        const char *text, struct error *err)
{
        struct policy_values fresh = { 0 };

        for (const char *p = text;; p++) {
                size_t length = strcspn(p, ",");
                char name[SHOWN_MAX];
                int r;

                (void)snprintf(name, sizeof(name), "%.*s", (int)(length < 64 ? length : 64), p);
                r = policy_add_backend(&fresh, name, err);
                if (r < 0)
                        return r;
                p += length;
                if (*p == '\0')
                        break;
        }
        memcpy(values->backends, fresh.backends, sizeof(values->backends));
        values->backend_count = fresh.backend_count;
        return 0;
}

static int set_path(struct policy_values *values, const struct policy_key *key, const char *text,
                    struct error *err)
{
        char **slot = policy_slot(values, key);
        char *copy;
        int r = policy_check_path(text, err);

        if (r < 0)
                return r;
        copy = mem_strdup(text);
        if (!copy)
                return error_set_nomem(err);
        mem_free(*slot);
        *slot = copy;
        return 0;
}

static int add_allow(struct policy_values *values, const struct policy_key *key, const char *text,
                     struct error *err)
{
        return policy_add_allow(values, text, err);
}

static int add_module(struct policy_values *values, const struct policy_key *key, const char *text,
                      struct error *err)
{
        return policy_add_preload(values, text, err);
}

static int add_deny(struct policy_values *values, const struct policy_key *key, const char *text,
                    struct error *err)
{
        return policy_add_deny(values, text, err);
}

static int refuse_text(struct policy_values *values, const struct policy_key *key, const char *text,
                       struct error *err)
{
        return error_set(err, SBX_EINVAL, "cannot be set by one value");
}

static int (*const setters[KINDS])(struct policy_values *, const struct policy_key *, const char *,
                                   struct error *) = {
        [KIND_VERSION] = set_version,    [KIND_DURATION] = set_number,
        [KIND_SIZE] = set_number,        [KIND_COUNT] = set_number,
        [KIND_THOUSANDTHS] = set_number, [KIND_CHOICE] = set_choice,
        [KIND_BOOLEAN] = set_boolean,    [KIND_BACKENDS] = set_backends,
        [KIND_PATH] = set_path,          [KIND_ALLOW] = add_allow,
        [KIND_DENY] = add_deny,          [KIND_MODULES] = add_module,
        [KIND_MOUNTS] = refuse_text,     [KIND_ENV] = refuse_text,
        [KIND_RULES] = refuse_text,      [KIND_LANGUAGES] = refuse_text,
        [KIND_FOLDERS] = refuse_text,
};

int policy_key_set(struct policy_values *values, const struct policy_key *key, const char *text,
                   struct error *err)
{
        int r = setters[key->kind](values, key, text, err);

        if (r == 0)
                values->given |= policy_field_bit(key->field);
        return r;
}

/* A key without its section ("timeout") or with a slip in it ("limits.timeot"). */
static void hint_dotted(struct error *err, const char *wrong)
{
        const char *best = NULL;
        int best_distance = 0;

        for (size_t i = 0; i < policy_key_count; i++) {
                const char *key = policy_keys[i].key;
                const char *dot = strrchr(key, '.');
                int distance = dot && strcmp(dot + 1, wrong) == 0
                                       ? 0
                                       : policy_distance(wrong, key, strlen(key));

                if (distance >= 0 && (!best || distance < best_distance)) {
                        best = key;
                        best_distance = distance;
                }
        }
        if (best)
                error_hint(err, "did you mean '%s'?", best);
        else
                error_hint(err, "keys are those of a policy file, such as limits.timeout");
}

int policy_set(struct policy_values *values, const char *key, const char *value, struct error *err)
{
        const struct policy_key *known;
        char shown[SHOWN_MAX];
        int r;

        if (str_has_prefix(key, "env."))
                return policy_add_env(values, key + strlen("env."), value, err);
        known = policy_key_find(key);
        if (!known) {
                r = error_set(err, SBX_EINVAL, "unknown policy key '%s'",
                              str_printable(key, shown, sizeof(shown)));
                hint_dotted(err, key);
                return r;
        }
        r = policy_key_set(values, known, value, err);
        if (r < 0 && r != SBX_ENOMEM)
                error_prefix(err, "%s", known->key);
        return r;
}
