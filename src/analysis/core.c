/*
 * The parsing library, built in one piece as its own lib.c builds it, but for what costs most of
 * the time of a source of a thousand lines and has a shorter way for all that we ask of it:
 * to go on by one character, to look an action up, and to go through the nodes of a tree.
 *
 * A function of the library is replaced by giving the library's own another name while its file is
 * read. The private parts that this relies on are those of the version that tools/fetch-grammars
 * pins; another one that does not have them does not compile.
 */
#include "analysis/core.h"

#include <alloc.c>
#include <get_changed_ranges.c>

/* ---- actions ---- */

#include <language.h>

enum { LOOKUP_BITS = 11 };

/* A state's actions are found by going through a list; the same few are asked for again and again.
 * No state and no symbol has the greatest number, so 0 is the key of none. */
static uint16_t lookup(const TSLanguage *language, TSStateId state, TSSymbol symbol)
{
        static struct lookup {
                uint32_t key;
                uint16_t found;
        } * lookups;
        static const TSLanguage *of;
        uint32_t key = ~((uint32_t)state << 16 | symbol);
        struct lookup *slot;

        if (of != language) {
                if (!lookups)
                        lookups = ts_malloc(sizeof(*lookups) << LOOKUP_BITS);
                memset(lookups, 0, sizeof(*lookups) << LOOKUP_BITS);
                of = language;
        }
        slot = &lookups[key * 0x9e3779b1u >> (32 - LOOKUP_BITS)];
        if (slot->key != key) {
                slot->key = key;
                slot->found = ts_language_lookup(language, state, symbol);
        }
        return slot->found;
}

#define ts_language_lookup lookup
#include <language.c>
#undef ts_language_lookup

/* ---- characters ---- */

#include <lexer.h>

#define ts_lexer_init lexer_init
void lexer_init(Lexer *lexer);
#include <lexer.c>
#undef ts_lexer_init

/* A character of one byte after another, in the same piece of the source. We give the source as one
 * piece, and never ask for parts of it alone, so what the library's own does further is needed at
 * its ends, and for other letters. */
static void advance(TSLexer *data, bool skip)
{
        Lexer *lexer = (Lexer *)data;
        uint32_t next = lexer->current_position.bytes + 1 - lexer->chunk_start;
        unsigned char c;

        if (lexer->lookahead_size != 1 || next >= lexer->chunk_size || !lexer->chunk ||
            (c = (unsigned char)lexer->chunk[next]) >= 0x80) {
                ts_lexer__advance(data, skip);
                return;
        }
        lexer->current_position.bytes++;
        if (data->lookahead == '\n') {
                lexer->current_position.extent.row++;
                lexer->current_position.extent.column = 0;
        } else {
                lexer->current_position.extent.column++;
        }
        if (skip)
                lexer->token_start_position = lexer->current_position;
        data->lookahead = c;
}

void ts_lexer_init(Lexer *lexer)
{
        lexer_init(lexer);
        lexer->data.advance = advance;
}

#include <node.c>
#include <parser.c>
#include <query.c>
#include <stack.c>
#include <subtree.c>
#include <tree_cursor.c>
#include <tree.c>
#include <wasm_store.c>

/* ---- nodes ---- */

/* A node whose children we are at. */
struct around {
        const Subtree *children;
        uint32_t count, index;     /* of the next one */
        uint32_t structural;       /* its number among those that are no extras */
        Length position;           /* where it begins */
        const TSSymbol *aliases;   /* of those children; or NULL */
        uint16_t production;       /* says what fields they are */
        bool is_visible, is_extra; /* the node itself */
        uint32_t own_structural;
};

struct walk {
        struct arena *arena;
        const TSTree *tree;
        struct around *around;
        size_t depth, capacity;
};

struct core_place {
        const struct walk *walk;
        const Subtree *subtree;
        Length position;
        TSSymbol alias; /* or 0 */
        bool is_extra;
        uint32_t structural;
};

static void go_in(struct walk *walk, const struct core_place *place, bool is_visible)
{
        Subtree subtree = *place->subtree;
        uint16_t production = subtree.ptr->production_id;

        ARENA_GROW(walk->arena, walk->around, walk->depth, walk->capacity);
        walk->around[walk->depth++] = (struct around){
                .children = ts_subtree_children(subtree),
                .count = subtree.ptr->child_count,
                .position = place->position,
                .aliases = ts_language_alias_sequence(walk->tree->language, production),
                .production = production,
                .is_visible = is_visible,
                .is_extra = place->is_extra,
                .own_structural = place->structural,
        };
}

/* The next child of the innermost node around; that goes on to the one after. */
static struct core_place next_child(const struct walk *walk)
{
        struct around *around = &walk->around[walk->depth - 1];
        const Subtree *child = &around->children[around->index];
        struct core_place place = {
                .walk = walk,
                .subtree = child,
                .position = around->position,
                .is_extra = ts_subtree_extra(*child),
                .structural = around->structural,
        };

        if (!place.is_extra) {
                place.alias = around->aliases ? around->aliases[around->structural] : 0;
                around->structural++;
        }
        if (++around->index < around->count)
                around->position = length_add(length_add(around->position, ts_subtree_size(*child)),
                                              ts_subtree_padding(child[1]));
        return place;
}

static void visit(struct walk *walk, const struct core_place *place,
                  const struct core_visitor *visitor, void *context)
{
        const TSLanguage *language = walk->tree->language;
        TSSymbol symbol = place->alias ? place->alias : ts_subtree_symbol(*place->subtree);

        if (visitor->enter(context, ts_language_public_symbol(language, symbol), place) &&
            ts_subtree_child_count(*place->subtree) > 0)
                go_in(walk, place, true);
        else
                visitor->leave(context);
}

void core_walk(struct arena *arena, const TSTree *tree, const struct core_visitor *visitor,
               void *context)
{
        struct walk walk = { .arena = arena, .tree = tree };
        struct core_place place = { .walk = &walk,
                                    .subtree = &tree->root,
                                    .position = ts_subtree_padding(tree->root) };

        visit(&walk, &place, visitor, context);
        while (walk.depth > 0) {
                const struct around *around = &walk.around[walk.depth - 1];

                if (around->index == around->count) {
                        walk.depth--;
                        if (around->is_visible)
                                visitor->leave(context);
                        continue;
                }
                place = next_child(&walk);
                if (place.alias || ts_subtree_visible(*place.subtree))
                        visit(&walk, &place, visitor, context);
                else if (ts_subtree_visible_child_count(*place.subtree) > 0)
                        go_in(&walk, &place, false);
        }
}

TSNode core_node(const struct core_place *place)
{
        return ts_node_new(place->walk->tree, place->subtree, place->position, place->alias);
}

bool core_is_missing(const struct core_place *place)
{
        return ts_subtree_missing(*place->subtree);
}

/* A node without a kind hands its own field on to its children. */
TSFieldId core_field(const struct core_place *place)
{
        const struct walk *walk = place->walk;
        uint32_t structural = place->structural;
        bool is_extra = place->is_extra;

        for (size_t i = walk->depth; i-- > 0 && !is_extra;) {
                const struct around *around = &walk->around[i];
                const TSFieldMapEntry *map, *end;

                ts_language_field_map(walk->tree->language, around->production, &map, &end);
                for (; map < end; map++)
                        if (!map->inherited && map->child_index == structural)
                                return map->field_id;
                if (around->is_visible)
                        break;
                structural = around->own_structural;
                is_extra = around->is_extra;
        }
        return 0;
}
