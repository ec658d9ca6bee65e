#include "base/document.h"
#include "base/mem.h"
#include "base/str.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct reader {
        struct document *document;
        size_t nodes_max;
        unsigned depth;
        struct error *err;
        yaml_parser_t parser;
        yaml_event_t event; /* the current one; zeroed when there is none */
        const char *text;   /* borrowed: the bytes being read */
        size_t length;
};

/* ---- the tree ---- */

static void node_done(struct document_node *node)
{
        for (size_t i = 0; i < node->count; i++)
                node_done(&node->items[i]); /* no deeper than the reader built it */
        mem_free(node->items);
        mem_free(node->key);
        mem_free(node->text);
}

void document_free(struct document *document)
{
        if (!document)
                return;
        node_done(&document->root);
        mem_free(document);
}

int document_fail(const struct document *document, const struct document_node *node,
                  struct error *err, const char *format, ...)
{
        char words[ERROR_MESSAGE_MAX / 2];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(words, sizeof(words), format, args); /* cut is fine */
        va_end(args);
        if (!node || !node->line)
                return error_set(err, SBX_EINVAL, "%s: %s", document->name, words);
        return error_set(err, SBX_EINVAL, "%s:%zu:%zu: %s", document->name, node->line,
                         node->column, words);
}

const struct document_node *document_get(const struct document_node *mapping, const char *key)
{
        for (size_t i = 0; i < mapping->count; i++)
                if (str_equal(mapping->items[i].key, key))
                        return &mapping->items[i];
        return NULL;
}

bool document_is_null(const struct document_node *node)
{
        static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

        if (node->kind != DOCUMENT_TEXT || !node->is_plain)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(nulls); i++)
                if (str_equal(node->text, nulls[i]))
                        return true;
        return false;
}

bool document_is_flag(const struct document_node *node, bool *ret_value)
{
        if (node->kind != DOCUMENT_TEXT || !node->is_plain)
                return false;
        if (strcasecmp(node->text, "true") != 0 && strcasecmp(node->text, "false") != 0)
                return false;
        *ret_value = strcasecmp(node->text, "true") == 0;
        return true;
}

const char *document_describe(const struct document_node *node)
{
        static const char *const kinds[] = {
                [DOCUMENT_TEXT] = "a single value",
                [DOCUMENT_LIST] = "a list",
                [DOCUMENT_MAPPING] = "a mapping",
        };

        return document_is_null(node) ? "null" : kinds[node->kind];
}

static int count_node(struct reader *r, const struct document_node *node)
{
        if (++r->document->nodes <= r->nodes_max)
                return 0;
        return document_fail(r->document, node, r->err, "more than %zu values", r->nodes_max);
}

static int enter(struct reader *r, const struct document_node *node)
{
        if (++r->depth <= DOCUMENT_DEPTH_MAX)
                return 0;
        return document_fail(r->document, node, r->err, "nested more than %d deep",
                             DOCUMENT_DEPTH_MAX);
}

/* Room for one more child. */
static int add_child(struct reader *r, struct document_node *node, struct document_node **ret_child)
{
        if (MEM_GROW(node->items, node->count, node->capacity) < 0)
                return error_set_nomem(r->err);
        *ret_child = &node->items[node->count++];
        **ret_child = (struct document_node){ 0 };
        return 0;
}

static int set_text(struct reader *r, struct document_node *node, const char *text, size_t length)
{
        node->kind = DOCUMENT_TEXT;
        node->text = mem_dup(text, length); /* ends with a NUL byte of its own */
        node->length = length;
        return node->text ? 0 : error_set_nomem(r->err);
}

/* A key is a short word, and there once. */
static int set_key(struct reader *r, const struct document_node *mapping,
                   struct document_node *child, const char *key, size_t length)
{
        char shown[80];

        if (length > DOCUMENT_KEY_BYTES_MAX || memchr(key, '\0', length))
                return document_fail(r->document, child, r->err,
                                     "a key is longer than %d bytes or holds a NUL byte",
                                     DOCUMENT_KEY_BYTES_MAX);
        if (mapping->count > DOCUMENT_KEYS_MAX)
                return document_fail(r->document, child, r->err, "more than %d keys",
                                     DOCUMENT_KEYS_MAX);
        child->key = mem_strndup(key, length);
        if (!child->key)
                return error_set_nomem(r->err);
        for (size_t i = 0; i + 1 < mapping->count; i++)
                if (strcmp(mapping->items[i].key, child->key) == 0)
                        return document_fail(r->document, child, r->err, "repeated key '%s'",
                                             str_printable(child->key, shown, sizeof(shown)));
        return 0;
}

/* ---- YAML ---- */

static int read_node(struct reader *r, struct document_node *node);

static int fail_in_parser(struct reader *r)
{
        const yaml_parser_t *parser = &r->parser;
        struct document_node place = { .line = parser->problem_mark.line + 1,
                                       .column = parser->problem_mark.column + 1 };

        if (parser->error == YAML_MEMORY_ERROR)
                return error_set_nomem(r->err);
        if (parser->error == YAML_READER_ERROR) { /* it was read ahead of any mark */
                place.line = place.column = 1;
                for (size_t i = 0; i < parser->problem_offset && i < r->length; i++) {
                        place.column = r->text[i] == '\n' ? 1 : place.column + 1;
                        place.line += r->text[i] == '\n';
                }
        }
        return document_fail(r->document, &place, r->err, "not YAML: %s",
                             parser->problem ? parser->problem : "unreadable");
}

static bool is_marked(const yaml_event_t *event)
{
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return event->data.scalar.anchor || event->data.scalar.tag;
        case YAML_SEQUENCE_START_EVENT:
                return event->data.sequence_start.anchor || event->data.sequence_start.tag;
        case YAML_MAPPING_START_EVENT:
                return event->data.mapping_start.anchor || event->data.mapping_start.tag;
        default:
                return event->type == YAML_ALIAS_EVENT;
        }
}

static void place_node(struct reader *r, struct document_node *node)
{
        node->line = r->event.start_mark.line + 1;
        node->column = r->event.start_mark.column + 1;
}

static int next(struct reader *r)
{
        struct document_node place = { 0 };

        yaml_event_delete(&r->event);
        memset(&r->event, 0, sizeof(r->event));
        if (!yaml_parser_parse(&r->parser, &r->event))
                return fail_in_parser(r);
        if (!is_marked(&r->event))
                return 0;
        place_node(r, &place);
        return document_fail(r->document, &place, r->err,
                             "anchors, aliases and tags are not allowed");
}

static int read_items(struct reader *r, struct document_node *node)
{
        yaml_event_type_t end =
                node->kind == DOCUMENT_LIST ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
        int rc = enter(r, node);

        if (rc == 0)
                rc = next(r);
        while (rc == 0 && r->event.type != end) {
                struct document_node *child;

                rc = add_child(r, node, &child);
                if (rc < 0)
                        return rc;
                place_node(r, child);
                if (node->kind == DOCUMENT_MAPPING) {
                        if (r->event.type != YAML_SCALAR_EVENT)
                                return document_fail(r->document, child, r->err,
                                                     "a key must be a word");
                        rc = set_key(r, node, child, (const char *)r->event.data.scalar.value,
                                     r->event.data.scalar.length);
                        if (rc == 0)
                                rc = next(r);
                }
                if (rc == 0)
                        rc = read_node(r, child);
        }
        r->depth--;
        return rc < 0 ? rc : next(r);
}

/* Reads the value at the current event and steps on to what follows it. */
static int read_node(struct reader *r, struct document_node *node)
{
        int rc;

        if (!node->key) /* else it is where its key is */
                place_node(r, node);
        rc = count_node(r, node);
        if (rc < 0)
                return rc;
        if (r->event.type == YAML_SCALAR_EVENT) {
                node->is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
                rc = set_text(r, node, (const char *)r->event.data.scalar.value,
                              r->event.data.scalar.length);
                return rc < 0 ? rc : next(r);
        }
        node->kind = r->event.type == YAML_SEQUENCE_START_EVENT ? DOCUMENT_LIST : DOCUMENT_MAPPING;
        return read_items(r, node);
}

static int walk_yaml(struct reader *r)
{
        struct document_node place = { 0 };
        int rc = next(r); /* the stream's start, which says nothing */

        if (rc == 0)
                rc = next(r);
        if (rc < 0)
                return rc;
        if (r->event.type != YAML_DOCUMENT_START_EVENT)
                return document_fail(r->document, NULL, r->err, "the file is empty");
        rc = next(r);
        if (rc == 0)
                rc = read_node(r, &r->document->root);
        if (rc == 0)
                rc = next(r); /* after the document's end */
        if (rc < 0 || r->event.type == YAML_STREAM_END_EVENT)
                return rc;
        place_node(r, &place);
        return document_fail(r->document, &place, r->err, "here begins a second document");
}

static int read_yaml(struct reader *r)
{
        int rc;

        if (!yaml_parser_initialize(&r->parser))
                return error_set_nomem(r->err);
        yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, r->length);
        rc = walk_yaml(r);
        yaml_event_delete(&r->event);
        yaml_parser_delete(&r->parser);
        return rc;
}

/* ---- JSON ---- */

static int take_scalar(struct reader *r, struct document_node *node, const json_t *value)
{
        char number[64];

        node->is_plain = !json_is_string(value);
        if (json_is_string(value))
                return set_text(r, node, json_string_value(value), json_string_length(value));
        if (json_is_integer(value))
                (void)snprintf(number, sizeof(number), "%lld",
                               (long long)json_integer_value(value));
        else if (json_is_real(value)) /* with a point whatever the locale says */
                number[json_dumpb(value, number, sizeof(number) - 1,
                                  JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))] = '\0';
        else
                (void)snprintf(number, sizeof(number), "%s",
                               json_is_null(value)   ? "null"
                               : json_is_true(value) ? "true"
                                                     : "false");
        return set_text(r, node, number, strlen(number));
}

static int take_value(struct reader *r, struct document_node *node, json_t *value);

static int take_members(struct reader *r, struct document_node *node, json_t *object)
{
        struct document_node *child;
        const char *key;
        json_t *member;
        int rc;

        json_object_foreach(object, key, member)
        {
                rc = add_child(r, node, &child);
                if (rc == 0)
                        rc = set_key(r, node, child, key, strlen(key));
                if (rc == 0)
                        rc = take_value(r, child, member);
                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int take_elements(struct reader *r, struct document_node *node, const json_t *array)
{
        for (size_t i = 0; i < json_array_size(array); i++) {
                struct document_node *child;
                int rc = add_child(r, node, &child);

                if (rc == 0)
                        rc = take_value(r, child, json_array_get(array, i));
                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int take_value(struct reader *r, struct document_node *node, json_t *value)
{
        int rc = count_node(r, node);

        if (rc < 0)
                return rc;
        if (!json_is_array(value) && !json_is_object(value))
                return take_scalar(r, node, value);
        rc = enter(r, node);
        if (rc < 0)
                return rc;
        node->kind = json_is_array(value) ? DOCUMENT_LIST : DOCUMENT_MAPPING;
        rc = json_is_array(value) ? take_elements(r, node, value) : take_members(r, node, value);
        r->depth--;
        return rc;
}

/* jansson builds the whole before we can count it, and an empty list takes fifty times the bytes it
 * is written with. Every comma and every opening bracket outside of a string is a value, at least.
 */
static bool has_too_many_values(const struct reader *r)
{
        bool in_string = false;
        size_t count = 0;

        for (size_t i = 0; i < r->length && count <= r->nodes_max; i++) {
                char c = r->text[i];

                if (in_string && c == '\\')
                        i++;
                else if (c == '"')
                        in_string = !in_string;
                else if (!in_string && (c == ',' || c == '[' || c == '{'))
                        count++;
        }
        return count > r->nodes_max;
}

static int read_json(struct reader *r)
{
        json_error_t problem;
        json_t *root;
        struct document_node place = { 0 };
        char shown[JSON_ERROR_TEXT_LENGTH * 4];
        int rc;

        if (has_too_many_values(r))
                return document_fail(r->document, NULL, r->err, "more than %zu values",
                                     r->nodes_max);
        root = json_loadb(r->text, r->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
        if (!root) {
                place.line = problem.line > 0 ? (size_t)problem.line : 1;
                place.column = problem.column > 0 ? (size_t)problem.column : 1;
                return document_fail(r->document, &place, r->err, "not JSON: %s",
                                     str_printable(problem.text, shown, sizeof(shown)));
        }
        rc = take_value(r, &r->document->root, root);
        json_decref(root);
        return rc;
}

/* ---- both ---- */

static bool is_json(const char *text, size_t length, const char *name)
{
        size_t i = 0;

        if (str_has_suffix(name, ".json"))
                return true;
        if (str_has_suffix(name, ".yaml") || str_has_suffix(name, ".yml"))
                return false;
        while (i < length && strchr(" \t\r\n", text[i]) && text[i])
                i++;
        return i < length && (text[i] == '{' || text[i] == '[');
}

int document_read(const char *text, size_t length, const char *name, size_t nodes_max,
                  struct document **ret_document, struct error *err)
{
        AUTO_DOCUMENT struct document *document = mem_alloc(sizeof(*document));
        struct reader r = { .document = document,
                            .nodes_max = nodes_max,
                            .err = err,
                            .text = text,
                            .length = length };
        int rc;

        if (!document)
                return error_set_nomem(err);
        (void)str_printable(name, document->name, sizeof(document->name));
        if (!str_is_utf8(text, length))
                return document_fail(document, NULL, err, "not valid UTF-8");
        rc = is_json(text, length, name) ? read_json(&r) : read_yaml(&r);
        if (rc < 0)
                return rc;
        *ret_document = TAKE(document);
        return 0;
}
