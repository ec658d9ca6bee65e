/*
 * Which layer set what: the layers are walked as policy_effective() does, and for each value the
 * last block that gave it is remembered.
 */
#include "policy/policy_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The block that gave a value, and where. A NULL layer is the defaults. */
struct origin {
        const struct policy *layer;
        const char *language; /* borrowed: the block's name, or NULL for the general one */
        struct policy_place place;
};

struct walk {
        const struct policy *const *layers;
        size_t layer_count;
        const char *language;               /* or NULL */
        const struct policy_values *values; /* effective */
};

/* Whether a block says something about the key, and its item where that is not NULL. */
struct question {
        const struct policy_key *key;
        const char *item; /* a variable, a target or the name of a rule list */
};

static bool gives_item(const struct policy_values *values, const struct question *question,
                       struct policy_place *ret_place)
{
        const struct policy_key *key = question->key;

        if (!policy_gives(values, key->field))
                return false;
        *ret_place = values->places[key->field];
        if (key->kind == KIND_ENV)
                return policy_env_find(&values->env, question->item, strlen(question->item)) <
                       values->env.count;
        if (key->kind == KIND_MOUNTS)
                return !question->item || policy_mount_find(values, question->item);
        if (key->kind == KIND_RULES) {
                const struct policy_list *lists = policy_lists_of_const(values, key);

                for (size_t i = 0; i < POLICY_RULE_LISTS; i++) {
                        if (strcmp(policy_rule_lists[i], question->item) != 0 || !lists[i].given)
                                continue;
                        *ret_place = lists[i].place;
                        return true;
                }
                return false;
        }
        return true;
}

/* What a block implies about the network without saying it; see imply_network_mode(). */
static bool implies_mode(const struct policy_values *values, const struct question *question,
                         struct policy_place *ret_place)
{
        bool resolves = policy_gives(values, FIELD_NETWORK_DNS) && values->network_dns;

        if (question->key->field != FIELD_NETWORK_MODE ||
            (!values->network_allow.count && !resolves))
                return false;
        *ret_place = values->places[values->network_allow.count ? FIELD_NETWORK_ALLOW
                                                                : FIELD_NETWORK_DNS];
        return true;
}

static void ask_block(const struct policy *layer, const struct policy_values *values,
                      const char *language, const struct question *question, struct origin *origin)
{
        struct policy_place place = { 0 };

        if (gives_item(values, question, &place) || implies_mode(values, question, &place))
                *origin = (struct origin){ layer, language, place };
}

static struct origin find_origin(const struct walk *walk, const struct question *question)
{
        struct origin origin = { 0 };

        for (size_t i = 0; i < walk->layer_count; i++) {
                const struct policy *layer = walk->layers[i];
                const struct policy_language *block =
                        walk->language ? policy_language_find(layer, walk->language) : NULL;

                ask_block(layer, &layer->general, NULL, question, &origin);
                if (block)
                        ask_block(layer, &block->values, block->name, question, &origin);
        }
        return origin;
}

/* ---- as JSON ---- */

static const char *const layer_names[] = {
        [LAYER_DEFAULT] = "default",
        [LAYER_LANGUAGE] = "language",
        [LAYER_FILE] = "file",
        [LAYER_PROFILE] = "profile",
        [LAYER_ENVIRONMENT] = "environment",
        [LAYER_REQUEST] = "request",
};

static json_t *text_or_null(const char *text)
{
        return text ? json_string(text) : json_null();
}

static json_t *number_or_null(unsigned number)
{
        return number ? json_integer(number) : json_null();
}

/* The value on one line for a person; taken from YAML where JSON would lose the unit. */
static char *value_text(const struct walk *walk, const struct policy_key *key, const json_t *value)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        char *text;

        if (key->kind < KIND_ALLOW) {
                policy_yaml_value(&out, walk->values, key);
                return out.failed ? NULL : mem_strdup(out.data + 1); /* without the space */
        }
        if (json_is_string(value))
                return mem_strdup(json_string_value(value));
        text = json_dumps(value, JSON_ENCODE_ANY);
        strbuf_adds(&out, text ? text : "");
        out.failed = out.failed || !text;
        free(text);
        return strbuf_take(&out);
}

/* Appends one value (taken). */
static int add_value(json_t *list, const struct walk *walk, const struct question *question,
                     const char *name, json_t *value)
{
        AUTO_FREE char *text = value_text(walk, question->key, value);
        struct origin origin = find_origin(walk, question);
        enum policy_layer layer = origin.layer ? origin.layer->layer : LAYER_DEFAULT;
        const char *source = origin.layer ? origin.layer->name : NULL;

        if (!text) {
                json_decref(value);
                return -1;
        }
        if (layer == LAYER_ENVIRONMENT)
                source = policy_env_variable(question->key->key);
        return json_array_append_new(
                list, json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "key", name, "value",
                                value, "text", text, "layer", layer_names[layer], "source",
                                text_or_null(source), "line", number_or_null(origin.place.line),
                                "column", number_or_null(origin.place.column), "language",
                                text_or_null(origin.language)));
}

static int add_env(json_t *list, const struct walk *walk, const struct policy_values *values,
                   const struct policy_key *key)
{
        json_t *all = policy_json_value(values, key), *value;
        const char *variable;
        int r = all ? 0 : -1;

        json_object_foreach(all, variable, value)
        {
                const struct question question = { key, variable };
                char name[POLICY_ENV_NAME_MAX + 8];

                (void)snprintf(name, sizeof(name), "env.%s", variable);
                if (r == 0)
                        r = add_value(list, walk, &question, name, json_incref(value));
        }
        json_decref(all);
        return r;
}

static int add_mounts(json_t *list, const struct walk *walk, const struct policy_values *values,
                      const struct policy_key *key)
{
        json_t *all = policy_json_value(values, key);
        int r = all ? 0 : -1;

        for (size_t i = 0; r == 0 && i < values->mount_count; i++) {
                const struct question question = { key, values->mounts[i].target };

                r = add_value(list, walk, &question, key->key, json_incref(json_array_get(all, i)));
        }
        if (r == 0 && values->mount_count == 0) {
                const struct question question = { key, NULL };

                r = add_value(list, walk, &question, key->key, json_incref(all));
        }
        json_decref(all);
        return r;
}

static int add_rules(json_t *list, const struct walk *walk, const struct policy_values *values,
                     const struct policy_key *key)
{
        json_t *all = policy_json_value(values, key), *value;
        const char *rule;
        int r = all ? 0 : -1;

        json_object_foreach(all, rule, value)
        {
                const struct question question = { key, rule };
                char name[80];

                (void)snprintf(name, sizeof(name), "%.40s.%.30s", key->key, rule);
                if (r == 0)
                        r = add_value(list, walk, &question, name, json_incref(value));
        }
        json_decref(all);
        return r;
}

static int add_key(json_t *list, const struct walk *walk, const struct policy_values *values,
                   const struct policy_key *key)
{
        const struct question question = { key, NULL };

        switch (key->kind) {
        case KIND_VERSION: /* no layer sets it to anything else */
                return 0;
        case KIND_ENV:
                return add_env(list, walk, values, key);
        case KIND_MOUNTS:
                return add_mounts(list, walk, values, key);
        case KIND_RULES:
                return add_rules(list, walk, values, key);
        default:
                return add_value(list, walk, &question, key->key, policy_json_value(values, key));
        }
}

char *policy_explain(const struct policy *const *layers, size_t layer_count, const char *language,
                     const struct policy_values *values)
{
        const struct walk walk = { layers, layer_count, language, values };
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *list = json_array();
        int r = list ? 0 : -1;

        for (size_t i = 0; r == 0 && i < policy_key_count; i++)
                if (policy_key_is_shown(values, &policy_keys[i]))
                        r = add_key(list, &walk, values, &policy_keys[i]);
        if (r == 0)
                policy_dump_json(&out, list);
        json_decref(list);
        return r == 0 ? strbuf_take(&out) : NULL;
}
