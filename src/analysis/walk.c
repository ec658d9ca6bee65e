/* The walk along the visits of a tree: learns names, finds facts. */
#include "analysis/scope.h"

#include <string.h>

enum { PAIRS_MAX = 32, DECLARATORS_MAX = 16, PARAMETERS_MAX = 64 };

/* One walk: what is left again on the way, and the branches that were left for a function. */
struct walk {
        struct analysis *analysis;
        const struct unit *unit;
        const struct visit *visit;   /* the one we are at */
        const struct visit **around; /* functions and branches that it lies in */
        size_t around_count, around_capacity;
        unsigned *branches;
        size_t branch_count, branch_capacity;
};

static const struct value local = { VALUE_LOCAL, false, "", 0 };

/* An identifier as the language compares it; NULL where it is too long to be one. */
static const char *name_text(const struct walk *walk, TSNode name, size_t *ret_length)
{
        const char *text = unit_text(walk->unit, name, ret_length);

        return *ret_length > NAME_SHOWN_MAX * 8
                       ? NULL
                       : text_normal(walk->analysis, text, *ret_length, ret_length);
}

static void bind_text(struct walk *walk, TSNode name, struct value value, uint32_t byte)
{
        size_t length;
        const char *text = name_text(walk, name, &length);

        if (text)
                scope_bind(walk->analysis, text, length, value, byte);
}

/* The name within a declarator of C, or the node itself; null where there is none. */
static TSNode innermost_name(const struct unit *unit, TSNode node)
{
        for (unsigned i = 0; i < DECLARATORS_MAX && !ts_node_is_null(node); i++) {
                TSNode inner;

                if (unit_role(unit, node) == ROLE_IDENTIFIER)
                        return node;
                inner = unit_named(unit, node, "declarator");
                if (ts_node_is_null(inner))
                        inner = unit_named(unit, node, "pattern");
                if (ts_node_is_null(inner))
                        inner = node_child(node, 0);
                node = inner;
        }
        return (TSNode){ 0 };
}

static bool is_group(const struct unit *unit, TSNode node)
{
        return node_count(node) > 1 &&
               (unit_role(unit, node) == ROLE_LIST || unit_role(unit, node) == ROLE_PARAMETERS);
}

static void bind_target(struct walk *walk, TSNode target, TSNode value, uint32_t byte);

/* a, b = c, d */
static void bind_pairs(struct walk *walk, TSNode targets, TSNode values, uint32_t byte)
{
        uint32_t count = node_count(targets);

        for (uint32_t i = 0; i < count && i < PAIRS_MAX; i++)
                bind_target(walk, node_child(targets, i), node_child(values, i), byte);
}

/* {exec: e, spawn} = value */
static void bind_members(struct walk *walk, TSNode pattern, struct value object, uint32_t byte)
{
        uint32_t count = node_count(pattern);

        for (uint32_t i = 0; i < count && i < PARAMETERS_MAX; i++) {
                TSNode child = node_child(pattern, i), key, name;
                const char *text;
                size_t length;

                key = unit_named(walk->unit, child, "key");
                name = unit_named(walk->unit, child, "value");
                if (ts_node_is_null(key))
                        key = unit_named(walk->unit, child, "left");
                if (ts_node_is_null(key))
                        key = child;
                if (ts_node_is_null(name) || ts_node_eq(key, child))
                        name = key;
                text = unit_text(walk->unit, key, &length);
                if (length < NAME_SHOWN_MAX)
                        bind_text(walk, innermost_name(walk->unit, name),
                                  object.kind == VALUE_NAME || maker_is_member(object, text, length)
                                          ? value_member(walk->analysis, walk->unit, object, text,
                                                         length)
                                          : local,
                                  byte);
        }
}

/* Whether this walk learns what is bound to the target; where it is more than a name, it may. */
static bool is_learnt(const struct walk *walk, TSNode target)
{
        size_t length;
        const char *text = unit_role(walk->unit, target) == ROLE_IDENTIFIER
                                   ? name_text(walk, target, &length)
                                   : NULL;

        return !text || scope_is_learnt(walk->analysis, text, length);
}

static void bind_target(struct walk *walk, TSNode target, TSNode value, uint32_t byte)
{
        const struct unit *unit = walk->unit;
        struct analysis *analysis = walk->analysis;
        struct value meaning;

        if (ts_node_is_null(target))
                return;
        while (!ts_node_is_null(value) && unit_role(unit, value) == ROLE_LIST &&
               unit_role(unit, target) != ROLE_IDENTIFIER && node_count(value) == 1 &&
               node_count(target) == 1) {
                value = node_child(value, 0);
                target = node_child(target, 0);
        }
        if (is_group(unit, target) && !ts_node_is_null(value) && is_group(unit, value)) {
                bind_pairs(walk, target, value, byte);
                return;
        }
        if (unit_role(unit, target) == ROLE_MEMBER || unit_role(unit, target) == ROLE_INDEX ||
            !is_learnt(walk, target))
                return;
        if (unit->grammar == &grammar_cpp && node_count(value) == 1 &&
            (unit_is(value, "initializer_list") || unit_is(value, "argument_list")))
                value = node_child(value, 0); /* auto x{y}, auto x(y) */
        analysis->pick = 0;
        meaning = ts_node_is_null(value) ? local : value_of(analysis, unit, value);
        if (unit_is(target, "object_pattern")) {
                bind_members(walk, target, meaning, byte);
                return;
        }
        if (meaning.kind == VALUE_UNKNOWN)
                meaning.kind = VALUE_LOCAL;
        bind_text(walk, innermost_name(unit, target), meaning, byte);
}

/* var a, b = c, d of Go has its names side by side. */
static void bind_specified(struct walk *walk, TSNode node, TSNode values, uint32_t byte)
{
        uint32_t count = node_count(node), index = 0;

        for (uint32_t i = 0; i < count && i < PAIRS_MAX; i++) {
                TSNode name = node_child(node, i);

                if (unit_role(walk->unit, name) == ROLE_IDENTIFIER)
                        bind_target(walk, name, node_child(values, index++), byte);
        }
}

/* x = y, x += y */
static void bind_assigned(struct walk *walk, TSNode node, uint32_t byte)
{
        TSNode target = unit_field(walk->unit, node, 0), value = unit_field(walk->unit, node, 1);
        struct value sum;

        if (walk->unit->grammar == &grammar_go && unit_is(value, "expression_list") &&
            unit_role(walk->unit, target) == ROLE_IDENTIFIER) {
                bind_specified(walk, node, value, byte);
                return;
        }
        if (!value_is_sum(walk->unit, node)) {
                bind_target(walk, target, value, byte);
                return;
        }
        if (unit_role(walk->unit, target) != ROLE_IDENTIFIER)
                return;
        walk->analysis->pick = 0;
        sum = value_of(walk->analysis, walk->unit, node);
        bind_text(walk, target, sum.kind == VALUE_TEXT ? sum : local, byte);
}

static void enter_binding(struct walk *walk, TSNode node, enum role role)
{
        TSNode value = unit_field(walk->unit, node, 1);
        uint32_t byte = walk->unit->outer ? 0 : ts_node_end_byte(node);
        struct analysis *analysis = walk->analysis;

        /* `var x;` leaves what x was before, such as a parameter of the module's wrapper. */
        if (ts_node_is_null(value) && unit_is(ts_node_parent(node), "variable_declaration"))
                return;
        if (role == ROLE_ASSIGN && analysis->learning && analysis->scope->level > 0) {
                /* It may be a name of the file's that a function assigns to. */
                unsigned level = analysis->scope->level;

                analysis->scope->level = 0;
                analysis->branch++;
                bind_assigned(walk, node, byte);
                analysis->branch--;
                analysis->scope->level = level;
                return;
        }
        bind_assigned(walk, node, byte);
}

/* The parameters' names mean what is handed in, or their default. */
static void bind_parameters(struct walk *walk, TSNode parameters)
{
        uint32_t count;

        if (ts_node_is_null(parameters))
                return;
        if (unit_role(walk->unit, parameters) == ROLE_IDENTIFIER) {
                bind_text(walk, parameters, local, 0);
                return;
        }
        count = node_count(parameters);
        for (uint32_t i = 0; i < count && i < PARAMETERS_MAX; i++) {
                TSNode child = node_child(parameters, i), name, value;

                name = unit_named(walk->unit, child, "name");
                if (ts_node_is_null(name))
                        name = unit_named(walk->unit, child, "left");
                value = unit_named(walk->unit, child, "value");
                if (ts_node_is_null(value))
                        value = unit_named(walk->unit, child, "right");
                name = innermost_name(walk->unit, ts_node_is_null(name) ? child : name);
                if (ts_node_is_null(name))
                        continue;
                if (ts_node_is_null(value))
                        bind_text(walk, name, local, 0);
                else
                        bind_target(walk, name, value, 0);
        }
}

/* The parameter list of a declarator of C is further in. */
static TSNode find_parameters(const struct unit *unit, TSNode node)
{
        TSNode parameters = unit_field(unit, node, 1);

        if (ts_node_is_null(parameters))
                parameters = unit_named(unit, node, "parameter"); /* x => x */
        for (unsigned i = 0; i < DECLARATORS_MAX && ts_node_is_null(parameters); i++) {
                node = unit_named(unit, node, "declarator");
                if (ts_node_is_null(node))
                        return node;
                parameters = unit_named(unit, node, "parameters");
        }
        return parameters;
}

static void enter_function(struct walk *walk, TSNode node, enum role role)
{
        struct analysis *analysis = walk->analysis;
        TSNode name = role == ROLE_DEFINE ? unit_field(walk->unit, node, 0) : (TSNode){ 0 };

        if (!ts_node_is_null(name))
                bind_text(walk, innermost_name(walk->unit, name), maker_function(walk->unit),
                          walk->unit->outer ? 0 : ts_node_start_byte(node));
        ARENA_GROW(&analysis->arena, walk->branches, walk->branch_count, walk->branch_capacity);
        walk->branches[walk->branch_count++] = analysis->branch;
        analysis->branch = 0;
        scope_enter(analysis);
        if (!analysis->learning)
                bind_parameters(walk, find_parameters(walk->unit, node));
}

static void enter_call(struct walk *walk, TSNode node, enum role role)
{
        struct analysis *analysis = walk->analysis;
        const struct unit *unit = walk->unit;
        TSNode arguments = unit_field(unit, node, role == ROLE_CALL ? 1 : 2);
        struct value function;

        if (analysis->learning)
                return;
        for (unsigned pick = 0; pick < ALTERNATIVES_MAX; pick++) {
                analysis->pick = pick;
                analysis->more = false;
                if (role == ROLE_CALL) {
                        function = value_of(analysis, unit, unit_field(unit, node, 0));
                        function = maker_called(analysis, unit, node, function, arguments);
                } else {
                        TSNode object = unit_field(unit, node, 0), name;
                        struct value owner = { VALUE_NAME, false, "", 0 };
                        const char *text;
                        size_t length;

                        name = unit_field(unit, node, 1);
                        if (ts_node_is_null(name))
                                return;
                        if (!ts_node_is_null(object))
                                owner = value_of(analysis, unit, object);
                        text = unit_text(unit, name, &length);
                        if (ts_node_is_null(object))
                                function = value_identifier(analysis, unit, name);
                        else
                                function = value_member(analysis, unit, owner, text, length);
                }
                analysis->pick = 0;
                match_call(analysis, unit, node, function);
                known_effects(analysis, unit, function, node, arguments);
                if (!analysis->more)
                        break;
        }
        analysis->pick = 0;
}

/* Whether an identifier means nothing that anybody forbids, as most do. */
static bool is_harmless(const struct walk *walk, TSNode node)
{
        const struct unit *unit = walk->unit;
        size_t length;
        const char *text =
                walk->visit->role == ROLE_IDENTIFIER ? name_text(walk, node, &length) : NULL;

        return text && scope_is_harmless(walk->analysis, unit, text, length,
                                         unit->outer ? UINT32_MAX : ts_node_start_byte(node));
}

/* Whether a name is handed on, so that nobody sees what is done with it: not called, asked for a
 * member, bound to a name that is followed, or asked for its type. */
static bool is_handed_on(const struct walk *walk, TSNode node)
{
        const struct unit *unit = walk->unit;
        TSNode around = ts_node_parent(node);

        for (unsigned i = 0; i < DECLARATORS_MAX; i++) {
                enum role role = unit_role(unit, around);

                if (role != ROLE_WRAP && role != ROLE_LAST)
                        break;
                node = around;
                around = ts_node_parent(node);
        }
        switch (unit_role(unit, around)) {
        case ROLE_CALL:
        case ROLE_MEMBER:
        case ROLE_INDEX:
        case ROLE_BIND:
                return false;
        case ROLE_ASSIGN:
                return unit_role(unit, unit_field(unit, around, 0)) != ROLE_IDENTIFIER;
        default: {
                size_t length;
                const char *text = unit_text(unit, around, &length);

                return !unit_is(around, "unary_expression") || length < 6 ||
                       memcmp(text, "typeof", 6) != 0;
        }
        }
}

static void enter_name(struct walk *walk, TSNode node)
{
        struct analysis *analysis = walk->analysis;
        const struct visit *visit = walk->visit;

        if (analysis->learning || visit->around == ROLE_PARAMETERS ||
            unit_is_naming(walk->unit, (enum role)visit->around, visit->field) ||
            is_harmless(walk, node))
                return;
        for (unsigned pick = 0; pick < ALTERNATIVES_MAX; pick++) {
                struct value value;

                analysis->pick = pick;
                analysis->more = false;
                value = value_of(analysis, walk->unit, node);
                analysis->pick = 0;
                if (value.kind == VALUE_NAME)
                        match_reference(analysis, walk->unit, node, value);
                if (walk->unit->grammar->calls_by_method &&
                    known_is_import(analysis, walk->unit, value) && is_handed_on(walk, node))
                        match_computed_import(analysis, walk->unit, node);
                if (!analysis->more)
                        break;
        }
        analysis->pick = 0;
}

static void enter_global(struct walk *walk, TSNode node)
{
        uint32_t count = node_count(node);

        for (uint32_t i = 0; i < count && i < PARAMETERS_MAX; i++) {
                size_t length;
                const char *text = unit_text(walk->unit, node_child(node, i), &length);

                scope_add_global(walk->analysis, text, length);
        }
}

/* Whether to go into its children. */
static bool enter(struct walk *walk, TSNode node, enum role role)
{
        struct analysis *analysis = walk->analysis;

        switch (role) {
        case ROLE_IMPORT:
                walk->unit->grammar->import(analysis, walk->unit, node);
                return false;
        case ROLE_EXPORT:
                walk->unit->grammar->import(analysis, walk->unit, node);
                return true;
        case ROLE_DEFINE:
        case ROLE_LAMBDA:
                enter_function(walk, node, role);
                return true;
        case ROLE_BRANCH:
                analysis->branch++;
                if (unit_is(node, "for_statement") && walk->unit->grammar == &grammar_shell)
                        shell_loop(analysis, walk->unit, node);
                return true;
        case ROLE_BIND:
        case ROLE_ASSIGN:
                enter_binding(walk, node, role);
                return true;
        case ROLE_CALL:
        case ROLE_METHOD:
                enter_call(walk, node, role);
                return true;
        case ROLE_IDENTIFIER:
        case ROLE_MEMBER:
        case ROLE_INDEX:
                enter_name(walk, node);
                return true;
        case ROLE_PATH:
                enter_name(walk, node);
                return false;
        case ROLE_GLOBAL:
                enter_global(walk, node);
                return false;
        case ROLE_TOKENS:
                tokens_paths(analysis, walk->unit, node);
                return true;
        case ROLE_COMMAND:
                shell_command(analysis, walk->unit, node);
                return true;
        case ROLE_REDIRECTED:
                shell_redirected(analysis, walk->unit, node);
                return true;
        case ROLE_PIPELINE:
                shell_pipeline(analysis, walk->unit, node);
                return true;
        case ROLE_COMMENT:
        case ROLE_SKIP:
                return false;
        default:
                return true;
        }
}

static void leave(struct walk *walk)
{
        const struct visit *visit = walk->around[--walk->around_count];

        if (visit->role == ROLE_BRANCH) {
                walk->analysis->branch--;
                return;
        }
        scope_leave(walk->analysis);
        walk->analysis->branch = walk->branches[--walk->branch_count];
}

/* Leaves what ends before the visit of this number. */
static void leave_before(struct walk *walk, size_t number)
{
        while (walk->around_count > 0 && walk->around[walk->around_count - 1]->end <= number)
                leave(walk);
}

void walk_unit(struct analysis *analysis, const struct unit *unit)
{
        struct walk walk = { .analysis = analysis, .unit = unit };
        size_t next;

        for (size_t i = 0; i < unit->visit_count; i = next) {
                const struct visit *visit = &unit->visits[i];
                enum role role = (enum role)visit->role;

                leave_before(&walk, i);
                walk.visit = visit;
                arena_step(&analysis->arena);
                if (visit->is_wrong && !analysis->learning)
                        report_error(analysis, unit, visit->node);
                if (visit->is_wrong && unit->grammar == &grammar_shell)
                        shell_wrong(analysis, unit, visit->node);
                next = enter(&walk, visit->node, role) ? i + 1 : visit->end;
                if (role == ROLE_BRANCH || role == ROLE_DEFINE || role == ROLE_LAMBDA) {
                        ARENA_GROW(&analysis->arena, walk.around, walk.around_count,
                                   walk.around_capacity);
                        walk.around[walk.around_count++] = visit;
                }
        }
        leave_before(&walk, unit->visit_count);
}
