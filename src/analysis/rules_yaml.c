/* The reader of rule files: a list of mappings, nothing deeper than a list of texts in one. */
#include "analysis/rules.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct rules_loaded {
        struct rule *rules; /* owned */
        size_t count;
        struct strlist texts; /* what the rules point to */
        const char ***lists;  /* owned, with their items in `texts` */
        size_t list_count, list_capacity;
};

struct reader {
        yaml_document_t document;
        const char *name;
        struct rules_loaded *loaded;
        struct error *err;
};

static const char *const list_keys[RULE_LISTS] = { "imports", "functions", "commands", "patterns" };

static int complain(struct reader *reader, const yaml_node_t *node, const char *format,
                    const char *word)
{
        char text[160], shown[80];

        (void)snprintf(text, sizeof(text), format, str_printable(word, shown, sizeof(shown)));
        return error_set(reader->err, SBX_EINVAL, "%s:%zu:%zu: %s", reader->name,
                         node->start_mark.line + 1, node->start_mark.column + 1, text);
}

static const char *scalar(const yaml_node_t *node)
{
        return (const char *)node->data.scalar.value;
}

/* A copy of the text that lives as long as the rules; NULL with the error set. */
static const char *keep_text(struct reader *reader, const yaml_node_t *node, const char *key)
{
        struct strlist *texts = &reader->loaded->texts;

        if (node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0 ||
            node->data.scalar.length > RULE_TEXT_MAX ||
            memchr(scalar(node), '\0', node->data.scalar.length)) {
                (void)complain(reader, node, "'%s' must be a text", key);
                return NULL;
        }
        if (strlist_add(texts, scalar(node)) < 0) {
                (void)error_set_nomem(reader->err);
                return NULL;
        }
        return texts->items[texts->count - 1];
}

static int read_list(struct reader *reader, const yaml_node_t *node, const char *key,
                     const char *const **ret_list)
{
        struct rules_loaded *loaded = reader->loaded;
        const char **list;
        size_t count = 0;

        if (node->type != YAML_SEQUENCE_NODE)
                return complain(reader, node, "'%s' must be a list of texts", key);
        if (node->data.sequence.items.top - node->data.sequence.items.start > RULE_ITEMS_MAX)
                return complain(reader, node, "'%s' is too long", key);
        if (MEM_GROW(loaded->lists, loaded->list_count, loaded->list_capacity) < 0)
                return error_set_nomem(reader->err);
        list = mem_alloc(sizeof(*list) * (size_t)(node->data.sequence.items.top -
                                                  node->data.sequence.items.start + 1));
        if (!list)
                return error_set_nomem(reader->err);
        loaded->lists[loaded->list_count++] = list;
        for (const yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++) {
                const yaml_node_t *text = yaml_document_get_node(&reader->document, *item);

                list[count] = text ? keep_text(reader, text, key) : NULL;
                if (!list[count++])
                        return reader->err->code;
        }
        *ret_list = list;
        return 0;
}

static int read_severity(struct reader *reader, const yaml_node_t *node, enum severity *ret)
{
        for (unsigned i = SEVERITY_LOW; i < SEVERITIES; i++)
                if (node->type == YAML_SCALAR_NODE &&
                    strcmp(scalar(node), severity_names[i]) == 0) {
                        *ret = (enum severity)i;
                        return 0;
                }
        return complain(reader, node, "'%s' must be low, medium, high or critical", "severity");
}

static int read_pair(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value,
                     struct rule *rule)
{
        const struct {
                const char *key;
                const char **slot;
        } texts[] = {
                { "id", &rule->id },
                { "sentence", &rule->sentence },
                { "recommendation", &rule->recommendation },
        };

        if (key->type != YAML_SCALAR_NODE)
                return complain(reader, key, "a key must be a %s", "text");
        if (strcmp(scalar(key), "severity") == 0)
                return read_severity(reader, value, &rule->severity);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (strcmp(scalar(key), texts[i].key) == 0) {
                        *texts[i].slot = keep_text(reader, value, texts[i].key);
                        return *texts[i].slot ? 0 : reader->err->code;
                }
        for (unsigned i = 0; i < RULE_LISTS; i++)
                if (strcmp(scalar(key), list_keys[i]) == 0)
                        return read_list(reader, value, list_keys[i], &rule->lists[i]);
        return complain(reader, key, "unknown key '%s'", scalar(key));
}

static int read_rule(struct reader *reader, const yaml_node_t *node, struct rule *rule)
{
        if (node->type != YAML_MAPPING_NODE)
                return complain(reader, node, "a rule must be a %s", "mapping");
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
                const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
                const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
                int r = read_pair(reader, key, value, rule);

                if (r < 0)
                        return r;
        }
        if (!rule->id || !rule->sentence || !rule->recommendation || !rule->severity)
                return complain(reader, node, "a rule needs id, severity, sentence and %s",
                                "recommendation");
        return 0;
}

static int read_rules(struct reader *reader)
{
        const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
        struct rules_loaded *loaded = reader->loaded;
        size_t count;

        if (!root || root->type != YAML_SEQUENCE_NODE)
                return error_set(reader->err, SBX_EINVAL, "%s:1:1: must be a list of rules",
                                 reader->name);
        count = (size_t)(root->data.sequence.items.top - root->data.sequence.items.start);
        if (count > RULES_MAX)
                return complain(reader, root, "too many %s", "rules");
        loaded->rules = mem_alloc((count + 1) * sizeof(*loaded->rules));
        if (!loaded->rules)
                return error_set_nomem(reader->err);
        for (; loaded->count < count; loaded->count++) {
                int r = read_rule(
                        reader,
                        yaml_document_get_node(&reader->document,
                                               root->data.sequence.items.start[loaded->count]),
                        &loaded->rules[loaded->count]);

                if (r < 0)
                        return r;
        }
        return 0;
}

int rules_load_yaml(const char *text, size_t length, const char *name,
                    struct rules_loaded **ret_loaded, struct error *err)
{
        struct rules_loaded *loaded = mem_alloc(sizeof(*loaded));
        struct reader reader = { .name = name, .loaded = loaded, .err = err };
        yaml_parser_t parser;
        int r = 0;

        if (!loaded || !yaml_parser_initialize(&parser)) {
                mem_free(loaded);
                return error_set_nomem(err);
        }
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
        if (length > RULE_FILE_MAX) {
                r = error_set(err, SBX_EINVAL, "%s: larger than %d KiB", name, RULE_FILE_MAX >> 10);
        } else if (!yaml_parser_load(&parser, &reader.document)) {
                r = error_set(err, SBX_EINVAL, "%s:%zu:%zu: %s", name, parser.problem_mark.line + 1,
                              parser.problem_mark.column + 1,
                              parser.problem ? parser.problem : "not valid YAML");
        } else {
                r = read_rules(&reader);
                yaml_document_delete(&reader.document);
        }
        yaml_parser_delete(&parser);
        if (r < 0) {
                rules_free(loaded);
                return r;
        }
        *ret_loaded = loaded;
        return 0;
}

const struct rule *rules_loaded_list(const struct rules_loaded *loaded, size_t *ret_count)
{
        *ret_count = loaded->count;
        return loaded->rules;
}

void rules_free(struct rules_loaded *loaded)
{
        if (!loaded)
                return;
        for (size_t i = 0; i < loaded->list_count; i++)
                mem_free(loaded->lists[i]);
        mem_free(loaded->lists);
        strlist_done(&loaded->texts);
        mem_free(loaded->rules);
        mem_free(loaded);
}
