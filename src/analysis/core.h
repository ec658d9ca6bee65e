/*
 * What core.c adds to the parsing library: a way through all nodes of a tree that have a kind, in
 * the order of the text. The library's own cursor finds its place among the siblings anew at each
 * step; this one keeps it.
 */
#ifndef ANALYSIS_CORE_H
#define ANALYSIS_CORE_H

#include "analysis/arena.h"

#include <stdbool.h>
#include <tree_sitter/api.h>

struct core_place; /* a node on the way; lasts until the visitor returns */

struct core_visitor {
        /* Whether to go into its children. */
        bool (*enter)(void *context, TSSymbol symbol, const struct core_place *place);
        /* After all of them, or at once where there are none. */
        void (*leave)(void *context);
};

/* Never recurses, however deep the tree is. */
void core_walk(struct arena *arena, const TSTree *tree, const struct core_visitor *visitor,
               void *context);
TSNode core_node(const struct core_place *place);
TSFieldId core_field(const struct core_place *place);
bool core_is_missing(const struct core_place *place);

#endif
