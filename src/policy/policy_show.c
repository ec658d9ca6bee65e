/* The effective policy for people: YAML with comments, loadable again. policy_show_json.c has JSON.
 */
#include "policy/policy_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

/* The length of the UTF-8 sequence at `text`, or 0 where there is none. */
size_t policy_sequence_length(const char *text)
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

static void add_quoted(struct strbuf *out, const char *text)
{
        strbuf_adds(out, "\"");
        while (*text) {
                size_t length = policy_sequence_length(text);
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

/* ---- numbers ---- */

static uint64_t number_at(const struct policy_values *values, const struct policy_key *key)
{
        return *(const uint64_t *)policy_slot_const(values, key);
}

void policy_yaml_number(struct strbuf *out, enum policy_kind kind, uint64_t number)
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

static void yaml_list(struct strbuf *out, const struct strlist *list)
{
        if (list->count == 0)
                strbuf_adds(out, " []");
        for (size_t i = 0; i < list->count; i++) {
                strbuf_adds(out, "\n    - ");
                add_quoted(out, list->items[i]);
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

/* Only what a layer gave: the lists that nobody wrote are many. */
static void yaml_rules(struct strbuf *out, const struct policy_list *lists)
{
        for (size_t i = 0; i < POLICY_RULE_LISTS; i++) {
                if (!lists[i].given)
                        continue;
                strbuf_addf(out, "\n    %s: [", policy_rule_lists[i]);
                for (size_t j = 0; j < lists[i].items.count; j++) {
                        strbuf_adds(out, j ? ", " : "");
                        add_quoted(out, lists[i].items.items[j]);
                }
                strbuf_adds(out, "]");
        }
}

void policy_yaml_value(struct strbuf *out, const struct policy_values *values,
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
        case KIND_DENY:
                yaml_list(out, slot);
                break;
        case KIND_MODULES:
                yaml_list(out, &values->preload);
                break;
        case KIND_FOLDERS:
                yaml_list(out, &policy_lists_of_const(values, key)->items);
                break;
        case KIND_MOUNTS:
                yaml_mounts(out, values);
                break;
        case KIND_ENV:
                yaml_env(out, values);
                break;
        case KIND_RULES:
                yaml_rules(out, policy_lists_of_const(values, key));
                break;
        default:
                policy_yaml_number(out, key->kind, number_at(values, key));
                break;
        }
}

bool policy_key_is_shown(const struct policy_values *values, const struct policy_key *key)
{
        if (key->kind == KIND_RULES) {
                const struct policy_list *lists = policy_lists_of_const(values, key);

                for (size_t i = 0; i < POLICY_RULE_LISTS; i++)
                        if (lists[i].given)
                                return true;
                return false;
        }
        if (key->kind == KIND_FOLDERS) /* of interest to few */
                return policy_lists_of_const(values, key)->given;
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

                if (!policy_key_is_shown(values, key))
                        continue;
                if (dot && (length != section_length || memcmp(section, key->key, length) != 0)) {
                        strbuf_addf(out, "%.*s:\n", (int)length, key->key);
                        start = out->length;
                }
                section = key->key;
                section_length = length;
                strbuf_addf(out, "%s%s:", dot ? "  " : "", dot ? dot + 1 : key->key);
                policy_yaml_value(out, values, key);
                /* A sentence beside what is short; lists and mappings have lines of their own. */
                if (key->kind < KIND_PATH && out->length - start < 32)
                        strbuf_addf(out, "%*s# %s", (int)(32 - (out->length - start)), "",
                                    key->what);
                strbuf_adds(out, "\n");
        }
}

char *policy_show(const struct policy_values *values, const char *form)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        if (strcmp(form, "json") == 0)
                policy_show_json(&out, values);
        else
                yaml_policy(&out, values);
        return strbuf_take(&out);
}
