/* The JSON Schema of a policy file, made from the table of keys. */
#include "policy/policy_show.h"

#include <stdio.h>
#include <string.h>

/* Two descriptions of which one must fit; both are taken. */
static json_t *one_of(json_t *first, json_t *second)
{
        return json_pack("{s:[o, o]}", "anyOf", first, second);
}

static json_t *text_pattern(const char *pattern)
{
        return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

static json_t *list_of(json_t *items, size_t max)
{
        return json_pack("{s:s, s:o, s:I}", "type", "array", "items", items, "maxItems",
                         (json_int_t)max);
}

/* A list, or { add: list }. */
static json_t *list_or_add(json_t *items, size_t max)
{
        json_t *list = list_of(items, max);
        json_t *adding =
                json_pack("{s:s, s:b, s:[s], s:{s:O}}", "type", "object", "additionalProperties", 0,
                          "required", "add", "properties", "add", list);

        return one_of(list, adding);
}

static json_t *object_schema(json_t *properties)
{
        return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0,
                         "properties", properties);
}

/* The names from the index `first` on. */
static json_t *choice_schema(const struct policy_key *key, uint64_t first)
{
        json_t *names = json_array();

        for (uint64_t i = first; i <= key->max; i++)
                if (json_array_append_new(names, json_string(key->names[i])) < 0)
                        return json_decref(names), NULL;
        return json_pack("{s:o}", "enum", names);
}

/* One of them, or a list without "auto", which stands alone. */
static json_t *backends_schema(const struct policy_key *key)
{
        json_t *list = list_of(choice_schema(key, BACKEND_AUTO + 1), POLICY_BACKENDS_MAX);

        if (list && (json_object_set_new(list, "minItems", json_integer(1)) < 0 ||
                     json_object_set_new(list, "uniqueItems", json_true()) < 0)) {
                json_decref(list);
                list = NULL;
        }
        return one_of(choice_schema(key, key->min), list);
}

static json_t *mounts_schema(void)
{
        json_t *item =
                json_pack("{s:s, s:b, s:[s, s], s:{s:{s:s}, s:{s:s, s:s}, s:{s:[s, s], s:s}}}",
                          "type", "object", "additionalProperties", 0, "required", "source",
                          "target", "properties", "source", "type", "string", "target", "type",
                          "string", "pattern", "^/", "mode", "enum", "ro", "rw", "default", "ro");

        return list_of(item, POLICY_MOUNTS_MAX);
}

static json_t *env_schema(void)
{
        json_t *value = json_pack("{s:[s, s, s]}", "type", "string", "number", "boolean");

        return json_pack("{s:s, s:b, s:{s:o}}", "type", "object", "additionalProperties", 0,
                         "patternProperties", "^[A-Za-z_][A-Za-z0-9_]*$", value);
}

static json_t *rules_schema(void)
{
        json_t *lists = json_object();

        for (size_t i = 0; i < POLICY_RULE_LISTS; i++) {
                json_t *rule = json_pack("{s:s, s:i}", "type", "string", "minLength", 1);

                if (json_object_set_new(lists, policy_rule_lists[i],
                                        list_or_add(rule, POLICY_RULES_MAX)) < 0)
                        return json_decref(lists), NULL;
        }
        return object_schema(lists);
}

static json_t *number_schema(const struct policy_key *key)
{
        double scale = key->kind == KIND_DURATION || key->kind == KIND_THOUSANDTHS ? 1000 : 1;
        const char *pattern = key->kind == KIND_DURATION ? "^[0-9]+(\\.[0-9]+)?(ms|s|m|min|h)?$"
                              : key->kind == KIND_SIZE
                                      ? "^[0-9]+(\\.[0-9]+)?([KMGTkmgt]?(i?[Bb])?)$"
                                      : "^[0-9]+(\\.[0-9]+)?$";
        json_t *number =
                json_pack("{s:s, s:f, s:f}", "type", scale == 1 ? "integer" : "number", "minimum",
                          (double)key->min / scale, "maximum", (double)key->max / scale);

        if (number && scale == 1) {
                /* Whole numbers are written without a fraction. */
                (void)json_object_set_new(number, "minimum", json_integer((json_int_t)key->min));
                (void)json_object_set_new(number, "maximum", json_integer((json_int_t)key->max));
        }
        return one_of(number, text_pattern(pattern));
}

static json_t *blocks_schema(bool per_language);

static json_t *languages_schema(void)
{
        return json_pack("{s:s, s:{s:s}, s:o}", "type", "object", "propertyNames", "pattern",
                         "^[A-Za-z0-9+#._-]{1,128}$", "additionalProperties", blocks_schema(true));
}

static json_t *value_schema(const struct policy_key *key)
{
        switch (key->kind) {
        case KIND_VERSION:
                return json_pack("{s:i}", "const", 1);
        case KIND_CHOICE:
                return choice_schema(key, key->min);
        case KIND_BOOLEAN:
                return json_pack("{s:s}", "type", "boolean");
        case KIND_BACKENDS:
                return backends_schema(key);
        case KIND_PATH:
                return json_pack("{s:[s, s], s:i}", "type", "string", "null", "minLength", 1);
        case KIND_ALLOW:
        case KIND_DENY:
                return list_or_add(json_pack("{s:s, s:i}", "type", "string", "minLength", 1),
                                   POLICY_ALLOW_MAX);
        case KIND_MODULES:
                return list_or_add(json_pack("{s:s, s:s}", "type", "string", "pattern",
                                             "^[A-Za-z_][A-Za-z0-9_.]{0,127}$"),
                                   POLICY_PRELOAD_MAX);
        case KIND_FOLDERS:
                return list_or_add(json_pack("{s:s, s:i}", "type", "string", "minLength", 1),
                                   POLICY_FOLDERS_MAX);
        case KIND_MOUNTS:
                return mounts_schema();
        case KIND_ENV:
                return env_schema();
        case KIND_RULES:
                return rules_schema();
        case KIND_LANGUAGES:
                return languages_schema();
        default:
                return number_schema(key);
        }
}

/* What holds where the key is left out; null where that cannot be said in a word. NULL when out of
 * memory. */
static json_t *default_of(const struct policy_key *key)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        switch (key->kind) {
        case KIND_CHOICE:
        case KIND_BACKENDS:
                return json_string(key->names[key->initial]);
        case KIND_BOOLEAN:
                return json_boolean(key->initial);
        case KIND_DURATION:
        case KIND_SIZE:
                policy_yaml_number(&text, key->kind, key->initial);
                return text.failed ? NULL : json_string(text.data);
        case KIND_THOUSANDTHS:
                return json_real((double)key->initial / 1000);
        case KIND_COUNT:
                return json_integer((json_int_t)key->initial);
        default:
                return json_null();
        }
}

static json_t *described(const struct policy_key *key)
{
        json_t *schema = value_schema(key), *initial = default_of(key);

        if (!initial || json_object_set_new(schema, "description", json_string(key->what)) < 0 ||
            json_object_set_new(schema, "x-sealed",
                                json_string(policy_tighten_words[key->tighten])) < 0 ||
            (!json_is_null(initial) && json_object_set(schema, "default", initial) < 0)) {
                json_decref(schema);
                schema = NULL;
        }
        json_decref(initial);
        return schema;
}

/* The properties of a section, made where it is not there yet; borrowed. NULL when out of memory.
 */
static json_t *section_properties(json_t *properties, const char *name)
{
        json_t *section = json_object_get(properties, name), *inner;

        if (section)
                return json_object_get(section, "properties");
        inner = json_object();
        if (json_object_set_new(properties, name, object_schema(inner)) < 0)
                return NULL;
        return inner; /* held by the section now */
}

/* What in a network block contradicts its mode; see check_network() in policy_yaml.c. */
static const char network_rules[] =
        "[{\"if\": {\"required\": [\"mode\"], \"properties\": {\"mode\": {\"not\": {\"const\": "
        "\"allowlist\"}}}}, \"then\": {\"properties\": {\"allow\": {\"maxItems\": 0, "
        "\"properties\": "
        "{\"add\": {\"maxItems\": 0}}}}}},"
        " {\"if\": {\"required\": [\"mode\"], \"properties\": {\"mode\": {\"enum\": [\"none\", "
        "\"localhost\"]}}}, \"then\": {\"properties\": {\"dns\": {\"const\": false}}}},"
        " {\"if\": {\"required\": [\"mode\"], \"properties\": {\"mode\": {\"const\": \"dns\"}}}, "
        "\"then\": {\"properties\": {\"dns\": {\"const\": true}}}},"
        " {\"if\": {\"required\": [\"mode\"], \"properties\": {\"mode\": {\"const\": \"host\"}}}, "
        "\"then\": {\"properties\": {\"deny\": {\"maxItems\": 0, \"properties\": "
        "{\"add\": {\"maxItems\": 0}}}}}}]";

/* A section that has a mode may be that mode alone; see mode_of() in policy_yaml.c. */
static int add_short_forms(json_t *properties)
{
        const char *name;
        json_t *section;

        json_object_foreach(properties, name, section)
        {
                const json_t *mode =
                        json_object_get(json_object_get(section, "properties"), "mode");

                if (!mode)
                        continue;
                if (json_object_set_new(section, "type", json_pack("[s, s]", "object", "string")) <
                            0 ||
                    json_object_set_new(section, "if", json_pack("{s:s}", "type", "string")) < 0 ||
                    json_object_set_new(section, "then",
                                        json_pack("{s:O}", "enum", json_object_get(mode, "enum"))) <
                            0)
                        return -1;
        }
        return 0;
}

/* All keys, or those that a block for one language may hold. */
static json_t *blocks_schema(bool per_language)
{
        json_t *properties = json_object();

        for (size_t i = 0; i < policy_key_count; i++) {
                const struct policy_key *key = &policy_keys[i];
                const char *dot = strchr(key->key, '.');
                json_t *where = properties;
                char name[64];

                if (per_language && !key->per_language)
                        continue;
                (void)snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - key->key) : 0,
                               key->key);
                if (dot)
                        where = section_properties(properties, name);
                if (json_object_set_new(where, dot ? dot + 1 : key->key, described(key)) < 0)
                        return json_decref(properties), NULL;
        }
        if (add_short_forms(properties) < 0 ||
            json_object_set_new(json_object_get(properties, "network"), "allOf",
                                json_loads(network_rules, 0, NULL)) < 0)
                return json_decref(properties), NULL;
        return object_schema(properties);
}

char *policy_schema(void)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *body = blocks_schema(false);
        json_t *schema =
                json_pack("{s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                          "title", "sandbox-run policy");

        if (!body || !schema || json_object_update(schema, body) < 0)
                out.failed = true;
        else
                policy_dump_json(&out, schema);
        json_decref(schema);
        json_decref(body);
        return strbuf_take(&out);
}
