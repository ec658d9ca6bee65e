/* Parsing, and reading nodes by the grammar's table. */
#include "analysis/analysis.h"

#include <string.h>

/* What a grammar's table says, by the numbers of its symbols. */
struct tables {
        struct tables *next;
        const struct grammar *grammar;
        uint32_t symbol_count;
        uint8_t *roles;
        uint8_t *naming;
        TSFieldId (*fields)[ROLE_FIELDS];
        struct named_fields named;
        struct names verdicts;
};

/* Fields whose identifier names something instead of using it. */
static const char *const naming_fields[] = { "attribute", "property", "field",     "name",
                                             "key",       "alias",    "label",     "declarator",
                                             "pattern",   "left",     "parameter", "type" };

static uint8_t *find_naming(struct analysis *analysis, const TSLanguage *language)
{
        uint8_t *naming = arena_alloc(&analysis->arena, ts_language_field_count(language) + 1);

        for (size_t i = 0; i < sizeof(naming_fields) / sizeof(naming_fields[0]); i++) {
                TSFieldId id = ts_language_field_id_for_name(language, naming_fields[i],
                                                             (uint32_t)strlen(naming_fields[i]));

                if (id)
                        naming[id] = 1;
        }
        return naming;
}

static struct tables *tables_of(struct analysis *analysis, const struct grammar *grammar)
{
        const TSLanguage *language = grammar->language();
        uint32_t count = ts_language_symbol_count(language);
        struct tables *tables;

        for (tables = analysis->tables; tables; tables = tables->next)
                if (tables->grammar == grammar)
                        return tables;
        tables = arena_alloc(&analysis->arena, sizeof(*tables));
        tables->grammar = grammar;
        tables->symbol_count = count;
        tables->naming = find_naming(analysis, language);
        tables->roles = arena_alloc(&analysis->arena, count + 1);
        tables->fields = arena_alloc(&analysis->arena, (count + 1) * sizeof(*tables->fields));
        for (const struct grammar_role *role = grammar->roles; role->kind; role++) {
                TSSymbol symbol = ts_language_symbol_for_name(language, role->kind,
                                                              (uint32_t)strlen(role->kind), true);

                if (symbol == 0 || symbol >= count)
                        continue;
                tables->roles[symbol] = (uint8_t)role->role;
                for (unsigned i = 0; i < ROLE_FIELDS; i++)
                        if (role->fields[i])
                                tables->fields[symbol][i] = ts_language_field_id_for_name(
                                        language, role->fields[i],
                                        (uint32_t)strlen(role->fields[i]));
        }
        tables->next = analysis->tables;
        analysis->tables = tables;
        return tables;
}

void unit_parse(struct analysis *analysis, const struct grammar *grammar, const char *text,
                size_t length, struct unit *ret_unit)
{
        struct tables *tables = tables_of(analysis, grammar);
        TSTree *tree;

        ARENA_GROW(&analysis->arena, analysis->trees, analysis->tree_count,
                   analysis->tree_capacity);
        if (!ts_parser_set_language(analysis->parser, grammar->language()))
                arena_give_up(&analysis->arena, "the grammar does not fit the library");
        tree = ts_parser_parse_string(analysis->parser, NULL, text, (uint32_t)length);
        if (!tree)
                arena_give_up(&analysis->arena, "it could not be parsed");
        analysis->trees[analysis->tree_count++] = tree;
        *ret_unit = (struct unit){
                .grammar = grammar,
                .text = text,
                .length = (uint32_t)length,
                .tree = tree,
                .symbol_count = tables->symbol_count,
                .naming = tables->naming,
                .roles = tables->roles,
                .fields = (const TSFieldId(*)[ROLE_FIELDS])tables->fields,
                .named = &tables->named,
                .verdicts = &tables->verdicts,
        };
        visits_find(analysis, ret_unit);
}

static void parse_within(struct analysis *analysis, const struct unit *outer, TSNode place,
                         const struct grammar *grammar, const char *text, size_t length,
                         bool is_verbatim)
{
        struct unit unit;

        if (analysis->learning || outer->depth >= UNIT_DEPTH_MAX || length > UNIT_BYTES_MAX ||
            analysis->units >= UNITS_MAX)
                return;
        analysis->units++;
        unit_parse(analysis, grammar, text, length, &unit);
        unit.outer = outer;
        unit.place = place;
        unit.is_verbatim = is_verbatim;
        unit.depth = outer->depth + 1;
        scope_enter(analysis); /* what it binds is gone with it */
        walk_unit(analysis, &unit);
        scope_leave(analysis);
}

void unit_within(struct analysis *analysis, const struct unit *outer, TSNode place,
                 const struct grammar *grammar, const char *text, size_t length)
{
        parse_within(analysis, outer, place, grammar, text, length, false);
}

void unit_verbatim(struct analysis *analysis, const struct unit *outer, TSNode place,
                   const struct grammar *grammar, const char *text, size_t length)
{
        parse_within(analysis, outer, place, grammar, text, length, true);
}

/* A point of a text, seen from where the text begins. */
static TSPoint moved(TSPoint point, TSPoint origin)
{
        return (TSPoint){ point.row + origin.row,
                          point.column + (point.row == 0 ? origin.column : 0) };
}

struct place unit_place(const struct unit *unit, TSNode node)
{
        struct place place = { ts_node_start_point(node), ts_node_end_point(node),
                               ts_node_start_byte(node) };

        for (; unit->outer; unit = unit->outer) {
                TSPoint origin = ts_node_start_point(unit->place);
                uint32_t byte = ts_node_start_byte(unit->place);

                if (unit->is_verbatim)
                        place = (struct place){ moved(place.start, origin),
                                                moved(place.end, origin), place.byte + byte };
                else
                        place = (struct place){ origin, ts_node_end_point(unit->place), byte };
        }
        return place;
}

TSNode unit_field(const struct unit *unit, TSNode node, unsigned field)
{
        TSSymbol symbol = ts_node_is_null(node) ? 0 : ts_node_symbol(node);
        TSFieldId id = symbol < unit->symbol_count ? unit->fields[symbol][field] : 0;

        return id && !ts_node_is_null(node) ? ts_node_child_by_field_id(node, id) : (TSNode){ 0 };
}

/* The library compares the name with those of all fields; who asks again with the same literal is
 * answered from here. */
static TSFieldId field_of(const struct unit *unit, const char *name)
{
        struct named_fields *named = unit->named;
        TSFieldId id;

        for (unsigned i = 0; i < named->count; i++)
                if (named->names[i] == name)
                        return named->ids[i];
        id = ts_language_field_id_for_name(unit->grammar->language(), name, (uint32_t)strlen(name));
        if (named->count < NAMED_FIELDS_MAX) {
                named->names[named->count] = name;
                named->ids[named->count++] = id;
        }
        return id;
}

TSNode unit_named(const struct unit *unit, TSNode node, const char *field)
{
        TSFieldId id = ts_node_is_null(node) ? 0 : field_of(unit, field);

        return id ? ts_node_child_by_field_id(node, id) : (TSNode){ 0 };
}

const char *unit_text(const struct unit *unit, TSNode node, size_t *ret_length)
{
        uint32_t start = ts_node_is_null(node) ? 0 : ts_node_start_byte(node);
        uint32_t end = ts_node_is_null(node) ? 0 : ts_node_end_byte(node);

        if (start > unit->length || end > unit->length || end < start)
                start = end = 0; /* a token that was missing and is only thought of */
        *ret_length = end - start;
        return unit->text + start;
}

bool unit_is(TSNode node, const char *kind)
{
        return !ts_node_is_null(node) && strcmp(ts_node_type(node), kind) == 0;
}
