/*
 * Queries without the library. It reads a query by walking the tables of the whole grammar, which
 * costs more than to parse a thousand lines; for patterns of plain shape that is not needed. Plain
 * are: (kind ...), (_ ...), [(a) (b)], field: (kind), ".", captures and predicates. Not plain are
 * repetitions, tokens in quotes, negated fields: such a text is left to the library.
 */
#ifndef ANALYSIS_PLAIN_H
#define ANALYSIS_PLAIN_H

#include "analysis/arena.h"

#include <stdbool.h>
#include <tree_sitter/api.h>

enum { PLAIN_CAPTURES_MAX = 8 }; /* of one pattern, at a time */

/* The pattern of one node. */
struct plain_node {
        TSSymbol symbol; /* 0: any that has a name */
        TSFieldId field; /* 0: whichever */
        bool is_next;    /* no other node with a name stands before it */
        int capture;     /* number of the name, or -1 */
        struct plain_node *children, *next;
        struct plain_node *otherwise; /* a further form that the node may have */
};

struct plain_pattern {
        struct plain_node *root;
        TSQueryPredicateStep *steps; /* as the library gives them */
        uint32_t step_count;
        uint32_t byte; /* where it begins */
};

struct plain {
        const TSLanguage *language; /* borrowed */
        struct plain_pattern *patterns;
        size_t count, capacity;
        const char **strings; /* texts and names of captures, by number */
        size_t string_count, string_capacity;
};

/* All of it lives in the arena. NULL where the text is not plain, or is wrong. */
struct plain *plain_read(struct arena *arena, const TSLanguage *language, const char *text);

/* Called for each match; its captures are in the order of the pattern. */
typedef void plain_found(void *context, const TSQueryMatch *match);
void plain_match(struct arena *arena, const struct plain *plain, size_t pattern, TSNode node,
                 plain_found *found, void *context);

#endif
