/*
 * A small document of YAML or JSON as a tree of texts, lists and mappings: for files that hold
 * foreign bytes and are read whole, such as templates and cases.
 *
 * What no such file needs is refused: aliases, anchors, tags, a second document, repeated keys,
 * deep nesting, more nodes than a stated maximum, bytes that are not UTF-8. Numbers, booleans and
 * null stay texts, marked as plain; the reader of the tree decides what they mean. Complaints are
 * SBX_EINVAL and begin with the file's name, and with line and column where they are known.
 */
#ifndef BASE_DOCUMENT_H
#define BASE_DOCUMENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { DOCUMENT_DEPTH_MAX = 8, DOCUMENT_KEYS_MAX = 256, DOCUMENT_KEY_BYTES_MAX = 128 };

enum document_kind { DOCUMENT_TEXT, DOCUMENT_LIST, DOCUMENT_MAPPING };

struct document_node {
        enum document_kind kind;
        bool is_plain; /* a text that is written without quotes: a number, true, null, a word */
        size_t line, column; /* of it or its key, from 1; 0 where they are not known, as in JSON */
        char *key;           /* owned; in a mapping, else NULL */
        char *text;          /* owned, NUL-terminated after `length`; of a text */
        size_t length;
        struct document_node *items; /* owned; of a list or mapping */
        size_t count, capacity;
};

struct document {
        struct document_node root;
        char name[256]; /* printable */
        size_t nodes;
};

/* Reads the bytes: JSON where `name` ends in ".json" or, without a telling name, where they begin
 * with a brace or bracket; else YAML. Caller frees `*ret_document`. */
int document_read(const char *text, size_t length, const char *name, size_t nodes_max,
                  struct document **ret_document, struct error *err);
void document_free(struct document *document);

/* "name:line:column: <words>". */
int document_fail(const struct document *document, const struct document_node *node,
                  struct error *err, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The entry of a mapping, or NULL. */
const struct document_node *document_get(const struct document_node *mapping, const char *key);
/* A plain text that means "no value". */
bool document_is_null(const struct document_node *node);
/* A plain true or false; anything else is not. */
bool document_is_flag(const struct document_node *node, bool *ret_value);
/* What it is, for a person: "a list". */
const char *document_describe(const struct document_node *node);

#define AUTO_DOCUMENT __attribute__((cleanup(document_free_p)))
static inline void document_free_p(struct document **document)
{
        document_free(*document);
}

#endif
