/*
 * The nodes of a tree that mean something, in the order of the text. Going through a tree costs
 * more than anything that is done at its nodes, and most of them are brackets and commas; so it is
 * gone through once, and the walks go along this list. Never recurses, however deep the tree is.
 */
#include "analysis/analysis.h"
#include "analysis/core.h"

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

/* Whether a walk has anything to do at such a node. What is not noted is read by whoever visits one
 * around it. */
static bool is_visited(const struct unit *unit, enum role role, enum role around, TSFieldId field)
{
        switch (role) {
        case ROLE_NONE:
        case ROLE_STRING:
        case ROLE_STRINGS:
        case ROLE_CONCAT:
        case ROLE_WRAP:
        case ROLE_LAST:
        case ROLE_LIST:
        case ROLE_PARAMETERS:
        case ROLE_SKIP:
        case ROLE_COMMENT:
        case ROLE_INTERPOLATION:
        case ROLE_VARIABLE:
        case ROLE_WORD:
                return false;
        case ROLE_IDENTIFIER: /* a name that is not used, but given */
                return around != ROLE_PARAMETERS && !unit_is_naming(unit, around, field);
        default:
                return true;
        }
}

/* Notes a node; whether to go into its children. */
static bool see(void *context, TSSymbol symbol, const struct core_place *place)
{
        struct collector *collector = context;
        struct arena *arena = &collector->analysis->arena;
        const struct unit *unit = collector->unit;
        /* The symbol of an error is beyond all others. */
        bool is_error = symbol >= unit->symbol_count;
        enum role role = is_error ? ROLE_NONE : (enum role)unit->roles[symbol];
        bool is_wrong = collector->has_errors && (is_error || core_is_missing(place));
        enum role around =
                collector->depth ? (enum role)collector->way[collector->depth - 1].role : ROLE_NONE;
        TSFieldId field = 0;

        arena_step(arena);
        if (collector->is_root && !is_error && collector->is_root[symbol]) {
                ARENA_GROW(arena, collector->roots, collector->root_count,
                           collector->root_capacity);
                collector->roots[collector->root_count++] = core_node(place);
        }
        ARENA_GROW(arena, collector->way, collector->depth, collector->way_capacity);
        collector->way[collector->depth].visit = NOT_VISITED;
        if (role != ROLE_NONE || is_wrong)
                field = core_field(place);
        /* A list that is assigned to names its items. */
        if (role == ROLE_LIST && unit->naming[field])
                role = ROLE_PARAMETERS;
        if (is_wrong || is_visited(unit, role, around, field)) {
                ARENA_GROW(arena, collector->visits, collector->count, collector->capacity);
                collector->way[collector->depth].visit = (uint32_t)collector->count;
                collector->visits[collector->count++] = (struct visit){
                        .node = core_node(place),
                        .field = field,
                        .role = (uint8_t)role,
                        .around = (uint8_t)around,
                        .is_wrong = is_wrong,
                };
        }
        collector->way[collector->depth++].role = (uint8_t)role;
        return !is_closed(role);
}

static void leave(void *context)
{
        struct collector *collector = context;
        uint32_t visit = collector->way[--collector->depth].visit;

        if (visit != NOT_VISITED)
                collector->visits[visit].end = (uint32_t)collector->count;
}

void visits_find(struct analysis *analysis, struct unit *unit)
{
        static const struct core_visitor visitor = { see, leave };
        TSNode root = ts_tree_root_node(unit->tree);
        struct collector collector = {
                .analysis = analysis,
                .unit = unit,
                .has_errors = ts_node_has_error(root),
                .is_root = unit->grammar == analysis->grammar ? analysis->is_root : NULL,
                /* Brackets, literals and the like are more than two thirds of all nodes. */
                .capacity = ts_node_descendant_count(root) / 3 + 1,
        };

        collector.visits = arena_alloc(&analysis->arena, collector.capacity * sizeof(struct visit));
        core_walk(&analysis->arena, unit->tree, &visitor, &collector);
        unit->visits = collector.visits;
        unit->visit_count = collector.count;
        unit->roots = collector.roots;
        unit->root_count = collector.root_count;
}
