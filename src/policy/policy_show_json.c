/* The effective policy for programs, as JSON. */
#include "policy/policy_show.h"

#include <stdio.h>
#include <string.h>

/* Paths and variables may hold any bytes, while both forms are UTF-8: what is not becomes U+FFFD.
 */
static void add_clean(struct strbuf *out, const char *text)
{
        while (*text) {
                size_t length = policy_sequence_length(text);

                if (length)
                        strbuf_add(out, text, length);
                else
                        strbuf_adds(out, "\xef\xbf\xbd");
                text += length ? length : 1;
        }
}

static json_t *json_text(const char *text)
{
        AUTO_STRBUF struct strbuf clean = { 0 };

        add_clean(&clean, text);
        strbuf_add(&clean, "", 0);
        return clean.failed ? NULL : json_string(clean.data);
}

static json_t *json_number_of(enum policy_kind kind, uint64_t number)
{
        if (kind == KIND_DURATION || kind == KIND_THOUSANDTHS)
                return json_real((double)number / 1000);
        return json_integer((json_int_t)number); /* no limit's maximum is above INT64_MAX */
}

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

static json_t *json_list(const struct strlist *items)
{
        json_t *list = json_array();

        for (size_t i = 0; i < items->count; i++)
                if (json_array_append_new(list, json_text(items->items[i])) < 0)
                        return json_decref(list), NULL;
        return list;
}

static json_t *json_rules(const struct policy_list *lists)
{
        json_t *object = json_object();

        for (size_t i = 0; i < POLICY_RULE_LISTS; i++)
                if (lists[i].given && json_object_set_new(object, policy_rule_lists[i],
                                                          json_list(&lists[i].items)) < 0)
                        return json_decref(object), NULL;
        return object;
}

json_t *policy_json_value(const struct policy_values *values, const struct policy_key *key)
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
        case KIND_DENY:
                return json_list(slot);
        case KIND_MODULES:
                return json_list(&values->preload);
        case KIND_FOLDERS:
                return json_list(&policy_lists_of_const(values, key)->items);
        case KIND_MOUNTS:
                return json_mounts(values);
        case KIND_ENV:
                return json_env(values);
        case KIND_RULES:
                return json_rules(policy_lists_of_const(values, key));
        default:
                return json_number_of(key->kind, *(const uint64_t *)slot);
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

void policy_dump_json(struct strbuf *out, const json_t *value)
{
        /* Twelve digits say each thousandth exactly and hide what binary fractions add. */
        if (json_dump_callback(value, append_dump, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) <
            0)
                out->failed = true;
        strbuf_adds(out, "\n");
}

void policy_show_json(struct strbuf *out, const struct policy_values *values)
{
        json_t *root = json_object();
        int r = 0;

        for (size_t i = 0; r == 0 && i < policy_key_count; i++)
                if (policy_key_is_shown(values, &policy_keys[i]))
                        r = json_put(root, policy_keys[i].key,
                                     policy_json_value(values, &policy_keys[i]));
        if (r < 0)
                out->failed = true;
        else
                policy_dump_json(out, root);
        json_decref(root);
}
