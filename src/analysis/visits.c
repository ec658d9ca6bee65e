/*
 * The nodes of a tree that mean something, in the order of the text. Going through a tree costs
 * more than anything that is done at its nodes, and most of them are brackets and commas; so it is
 * gone through once, and the walks go along this list. Never recurses, however deep the tree is.
 */
#include "analysis/analysis.h"

struct collector {
        struct analysis *analysis;
        const struct unit *unit;
        struct visit *visits;
        size_t count, capacity;
        const bool *is_root; /* or NULL */
        TSNode *roots;
        size_t root_count, root_capacity;
        struct {
                uint32_t visit; /* its number, or NOT_VISITED */
                uint8_t role;
        } * way; /* the nodes around, by depth */
        size_t depth, way_capacity;
        bool has_errors;
};

static const uint32_t NOT_VISITED = UINT32_MAX; /* no source has as many */

/* What lies within is either no code or read by whoever visits the node itself. */
static bool is_closed(enum role role)
{
        return role == ROLE_COMMENT || role == ROLE_SKIP || role == ROLE_IMPORT ||
               role == ROLE_GLOBAL;
}

static bool is_root(const struct collector *collector, TSNode node)
{
        TSSymbol symbol = ts_node_symbol(node);

        return symbol < collector->unit->symbol_count && collector->is_root[symbol];
}

/* Notes the node at the cursor; whether to go into its children. */
static bool see(struct collector *collector, TSTreeCursor *cursor)
{
        struct arena *arena = &collector->analysis->arena;
        const struct unit *unit = collector->unit;
        TSNode node = ts_tree_cursor_current_node(cursor);
        enum role role = unit_role(unit, node);
        bool is_wrong =
                collector->has_errors && (ts_node_is_error(node) || ts_node_is_missing(node));
        TSFieldId field = 0;

        arena_step(arena);
        if (collector->is_root && is_root(collector, node)) {
                ARENA_GROW(arena, collector->roots, collector->root_count,
                           collector->root_capacity);
                collector->roots[collector->root_count++] = node;
        }
        ARENA_GROW(arena, collector->way, collector->depth, collector->way_capacity);
        collector->way[collector->depth].visit = NOT_VISITED;
        if (role != ROLE_NONE || is_wrong) {
                field = ts_tree_cursor_current_field_id(cursor);
                /* A list that is assigned to names its items. */
                if (role == ROLE_LIST && unit->naming[field])
                        role = ROLE_PARAMETERS;
                ARENA_GROW(arena, collector->visits, collector->count, collector->capacity);
                collector->way[collector->depth].visit = (uint32_t)collector->count;
                collector->visits[collector->count++] = (struct visit){
                        .node = node,
                        .field = field,
                        .role = (uint8_t)role,
                        .around = collector->depth ? collector->way[collector->depth - 1].role : 0,
                        .is_wrong = is_wrong,
                };
        }
        collector->way[collector->depth++].role = (uint8_t)role;
        return !is_closed(role);
}

static void leave(struct collector *collector)
{
        uint32_t visit = collector->way[--collector->depth].visit;

        if (visit != NOT_VISITED)
                collector->visits[visit].end = (uint32_t)collector->count;
}

void visits_find(struct analysis *analysis, struct unit *unit)
{
        TSNode root = ts_tree_root_node(unit->tree);
        struct collector collector = {
                .analysis = analysis,
                .unit = unit,
                .has_errors = ts_node_has_error(root),
                .is_root = unit->grammar == analysis->grammar ? analysis->is_root : NULL,
                /* Brackets and the like are more than half of all nodes. */
                .capacity = ts_node_descendant_count(root) / 2 + 1,
        };
        TSTreeCursor *cursor = &analysis->cursor;

        collector.visits = arena_alloc(&analysis->arena, collector.capacity * sizeof(struct visit));
        if (analysis->has_cursor)
                ts_tree_cursor_reset(cursor, root);
        else
                *cursor = ts_tree_cursor_new(root);
        analysis->has_cursor = true;
        for (bool is_done = false; !is_done;) {
                if (see(&collector, cursor) && ts_tree_cursor_goto_first_child(cursor))
                        continue;
                leave(&collector);
                while (!is_done && !ts_tree_cursor_goto_next_sibling(cursor)) {
                        is_done = !ts_tree_cursor_goto_parent(cursor);
                        if (!is_done)
                                leave(&collector);
                }
        }
        unit->visits = collector.visits;
        unit->visit_count = collector.count;
        unit->roots = collector.roots;
        unit->root_count = collector.root_count;
}
