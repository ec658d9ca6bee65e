/* The effective policy for people (YAML with comments, loadable again) and programs (JSON). */
#include "policy/policy_keys.h"
#include "base/str.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

/* The length of the UTF-8 sequence at `text`, or 0 where there is none. */
static size_t sequence_length(const char *text)
{
        size_t left = strnlen(text, 4);

        for (size_t n = 1; n <= left; n++)
                if (str_is_utf8(text, n))
                        return n;
        return 0;
}

static unsigned decode(const char *text, size_t length)
{
        static const unsigned char lead_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        unsigned point = (unsigned char)text[0] & lead_mask[length];

        for (size_t i = 1; i < length; i++)
                point = point << 6 | ((unsigned char)text[i] & 0x3f);
        return point;
}

/* Whether the character can stand in a quoted YAML text as it is, and means itself there. */
static bool is_plain(unsigned point)
{
        if (point < 0xa0)
                return point >= 0x20 && point < 0x7f && point != '"' && point != '\\';
        return point != 0x2028 && point != 0x2029 && point != 0xfeff && point != 0xfffe &&
               point != 0xffff;
}

/* Paths and variables may hold any bytes, while both forms are UTF-8: what is not becomes U+FFFD.
 */
static void add_clean(struct strbuf *out, const char *text)
{
        while (*text) {
                size_t length = sequence_length(text);

                if (length)
                        strbuf_add(out, text, length);
                else
                        strbuf_adds(out, "\xef\xbf\xbd");
                text += length ? length : 1;
        }
}

static void add_quoted(struct strbuf *out, const char *text)
{
        strbuf_adds(out, "\"");
        while (*text) {
                size_t length = sequence_length(text);
                unsigned point = length ? decode(text, length) : 0xfffd;

                if (is_plain(point) && length)
                        strbuf_add(out, text, length);
                else if (is_plain(point))
                        strbuf_adds(out, "\xef\xbf\xbd");
                else
                        strbuf_addf(out, "\\u%04x", point);
                text += length ? length : 1;
        }
        strbuf_adds(out, "\"");
}

static json_t *json_text(const char *text)
{
        AUTO_STRBUF struct strbuf clean = { 0 };

        add_clean(&clean, text);
        strbuf_add(&clean, "", 0);
        return clean.failed ? NULL : json_string(clean.data);
}

/* ---- numbers ---- */

static uint64_t number_at(const struct policy_values *values, const struct policy_key *key)
{
        return *(const uint64_t *)policy_slot_const(values, key);
}

/* The largest unit that says the number exactly. */
static void yaml_number(struct strbuf *out, enum policy_kind kind, uint64_t number)
{
        static const struct {
                enum policy_kind kind;
                uint64_t factor;
                const char *unit;
        } units[] = {
                { KIND_DURATION, 1000, "s" },
                { KIND_DURATION, 1, "ms" },
                { KIND_SIZE, UINT64_C(1) << 30, "G" },
                { KIND_SIZE, 1 << 20, "M" },
                { KIND_SIZE, 1 << 10, "K" },
                { KIND_SIZE, 1, "" },
                { KIND_COUNT, 1, "" },
        };

        if (kind == KIND_THOUSANDTHS) {
                int places = number % 100 == 0 ? 1 : 3;

                strbuf_addf(out, "%" PRIu64 ".%0*" PRIu64, number / 1000, places,
                            number % 1000 / (places == 1 ? 100 : 1));
        }
        for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
                bool is_exact =
                        number % units[i].factor == 0 && (number > 0 || units[i].factor == 1);

                if (units[i].kind == kind && is_exact) {
                        strbuf_addf(out, "%" PRIu64 "%s", number / units[i].factor, units[i].unit);
                        break;
                }
        }
}

static json_t *json_number_of(enum policy_kind kind, uint64_t number)
{
        if (kind == KIND_DURATION || kind == KIND_THOUSANDTHS)
                return json_real((double)number / 1000);
        return json_integer((json_int_t)number); /* no limit's maximum is above INT64_MAX */
}

/* ---- YAML ---- */

static void yaml_backends(struct strbuf *out, const struct policy_values *values)
{
        if (values->backend_count == 1) {
                strbuf_adds(out, policy_backend_name(values->backends[0]));
                return;
        }
        strbuf_adds(out, "[");
        for (size_t i = 0; i < values->backend_count; i++)
                strbuf_addf(out, "%s%s", i ? ", " : "", policy_backend_name(values->backends[i]));
        strbuf_adds(out, "]");
}

static void yaml_allow(struct strbuf *out, const struct policy_values *values)
{
        if (values->network_allow.count == 0)
                strbuf_adds(out, " []");
        for (size_t i = 0; i < values->network_allow.count; i++) {
                strbuf_adds(out, "\n    - ");
                add_quoted(out, values->network_allow.items[i]);
        }
}

static void yaml_mounts(struct strbuf *out, const struct policy_values *values)
{
        if (values->mount_count == 0)
                strbuf_adds(out, " []");
        for (size_t i = 0; i < values->mount_count; i++) {
                strbuf_adds(out, "\n    - source: ");
                add_quoted(out, values->mounts[i].source);
                strbuf_adds(out, "\n      target: ");
                add_quoted(out, values->mounts[i].target);
                strbuf_addf(out, "\n      mode: %s", values->mounts[i].writable ? "rw" : "ro");
        }
}

static void yaml_env(struct strbuf *out, const struct policy_values *values)
{
        if (values->env.count == 0)
                strbuf_adds(out, " {}");
        for (size_t i = 0; i < values->env.count; i++) {
                const char *entry = values->env.items[i];
                size_t length = strcspn(entry, "=");

                strbuf_adds(out, "\n  ");
                strbuf_add(out, entry, length);
                strbuf_adds(out, ": ");
                add_quoted(out, entry + length + 1);
        }
}

static void yaml_value(struct strbuf *out, const struct policy_values *values,
                       const struct policy_key *key)
{
        const void *slot = policy_slot_const(values, key);

        if (key->kind < KIND_ALLOW) /* those after it may begin with a new line */
                strbuf_adds(out, " ");
        switch (key->kind) {
        case KIND_VERSION:
                strbuf_adds(out, "1");
                break;
        case KIND_CHOICE:
                strbuf_adds(out, key->names[*(const unsigned *)slot]);
                break;
        case KIND_BOOLEAN:
                strbuf_adds(out, *(const bool *)slot ? "true" : "false");
                break;
        case KIND_PATH:
                if (*(char *const *)slot)
                        add_quoted(out, *(char *const *)slot);
                else
                        strbuf_adds(out, "null");
                break;
        case KIND_BACKENDS:
                yaml_backends(out, values);
                break;
        case KIND_ALLOW:
                yaml_allow(out, values);
                break;
        case KIND_MOUNTS:
                yaml_mounts(out, values);
                break;
        case KIND_ENV:
                yaml_env(out, values);
                break;
        default:
                yaml_number(out, key->kind, number_at(values, key));
                break;
        }
}

/* Whether the key has a value to show: what is not kept has none, but for the version. */
static bool is_shown(const struct policy_values *values, const struct policy_key *key)
{
        return key->kind == KIND_VERSION || policy_gives(values, key->field);
}

static void yaml_policy(struct strbuf *out, const struct policy_values *values)
{
        const char *section = "";
        size_t section_length = 0;

        for (size_t i = 0; i < policy_key_count; i++) {
                const struct policy_key *key = &policy_keys[i];
                const char *dot = strchr(key->key, '.');
                size_t length = dot ? (size_t)(dot - key->key) : 0, start = out->length;

                if (!is_shown(values, key))
                        continue;
                if (dot && (length != section_length || memcmp(section, key->key, length) != 0)) {
                        strbuf_addf(out, "%.*s:\n", (int)length, key->key);
                        start = out->length;
                }
                section = key->key;
                section_length = length;
                strbuf_addf(out, "%s%s:", dot ? "  " : "", dot ? dot + 1 : key->key);
                yaml_value(out, values, key);
                /* A sentence beside what is short; lists and mappings have lines of their own. */
                if (key->kind < KIND_PATH && out->length - start < 32)
                        strbuf_addf(out, "%*s# %s", (int)(32 - (out->length - start)), "",
                                    key->what);
                strbuf_adds(out, "\n");
        }
}

/* ---- JSON ---- */

static json_t *json_backends(const struct policy_values *values)
{
        json_t *list;

        if (values->backend_count == 1)
                return json_string(policy_backend_name(values->backends[0]));
        list = json_array();
        for (size_t i = 0; i < values->backend_count; i++)
                if (json_array_append_new(
                            list, json_string(policy_backend_name(values->backends[i]))) < 0)
                        return json_decref(list), NULL;
        return list;
}

static json_t *json_allow(const struct policy_values *values)
{
        json_t *list = json_array();

        for (size_t i = 0; i < values->network_allow.count; i++)
                if (json_array_append_new(list, json_text(values->network_allow.items[i])) < 0)
                        return json_decref(list), NULL;
        return list;
}

static json_t *json_mounts(const struct policy_values *values)
{
        json_t *list = json_array();

        for (size_t i = 0; i < values->mount_count; i++) {
                const struct policy_mount *mount = &values->mounts[i];
                json_t *item =
                        json_pack("{s:o, s:o, s:s}", "source", json_text(mount->source), "target",
                                  json_text(mount->target), "mode", mount->writable ? "rw" : "ro");

                if (json_array_append_new(list, item) < 0)
                        return json_decref(list), NULL;
        }
        return list;
}

static json_t *json_env(const struct policy_values *values)
{
        json_t *object = json_object();

        for (size_t i = 0; i < values->env.count; i++) {
                const char *entry = values->env.items[i];
                char name[POLICY_ENV_NAME_MAX + 1];
                size_t length = strcspn(entry, "=");

                (void)snprintf(name, sizeof(name), "%.*s", (int)length, entry);
                if (json_object_set_new(object, name, json_text(entry + length + 1)) < 0)
                        return json_decref(object), NULL;
        }
        return object;
}

static json_t *json_value(const struct policy_values *values, const struct policy_key *key)
{
        const void *slot = policy_slot_const(values, key);

        switch (key->kind) {
        case KIND_VERSION:
                return json_integer(1);
        case KIND_CHOICE:
                return json_string(key->names[*(const unsigned *)slot]);
        case KIND_BOOLEAN:
                return json_boolean(*(const bool *)slot);
        case KIND_PATH:
                return *(char *const *)slot ? json_text(*(char *const *)slot) : json_null();
        case KIND_BACKENDS:
                return json_backends(values);
        case KIND_ALLOW:
                return json_allow(values);
        case KIND_MOUNTS:
                return json_mounts(values);
        case KIND_ENV:
                return json_env(values);
        default:
                return json_number_of(key->kind, number_at(values, key));
        }
}

/* Puts `value` (taken) at the dotted name, making the section on the way. */
static int json_put(json_t *root, const char *dotted, json_t *value)
{
        const char *dot = strchr(dotted, '.');
        json_t *section;
        char name[64];

        if (!dot)
                return json_object_set_new(root, dotted, value);
        (void)snprintf(name, sizeof(name), "%.*s", (int)(dot - dotted), dotted);
        section = json_object_get(root, name);
        if (!section) {
                section = json_object();
                if (json_object_set_new(root, name, section) < 0) {
                        json_decref(value);
                        return -1;
                }
        }
        return json_object_set_new(section, dot + 1, value);
}

static int append_dump(const char *data, size_t length, void *out)
{
        strbuf_add(out, data, length);
        return 0;
}

static void json_policy(struct strbuf *out, const struct policy_values *values)
{
        json_t *root = json_object();
        int r = 0;

        for (size_t i = 0; r == 0 && i < policy_key_count; i++)
                if (is_shown(values, &policy_keys[i]))
                        r = json_put(root, policy_keys[i].key, json_value(values, &policy_keys[i]));
        /* Twelve digits say each thousandth exactly and hide what binary fractions add. */
        if (r < 0 || json_dump_callback(root, append_dump, out,
                                        JSON_INDENT(2) | JSON_REAL_PRECISION(12)) < 0)
                out->failed = true;
        strbuf_adds(out, "\n");
        json_decref(root);
}

char *policy_show(const struct policy_values *values, const char *form)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        if (strcmp(form, "json") == 0)
                json_policy(&out, values);
        else
                yaml_policy(&out, values);
        return strbuf_take(&out);
}
