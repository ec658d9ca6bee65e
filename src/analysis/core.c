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

/* ---- counting ---- */

/* There is one thread. Counting as if there were more took a twentieth of the time. */
#define TREE_SITTER_ATOMIC_H_

#include <stddef.h>
#include <stdint.h>

static inline size_t atomic_load(const volatile size_t *number)
{
        return *number;
}

static inline uint32_t atomic_inc(volatile uint32_t *number)
{
        return ++*(uint32_t *)number;
}

static inline uint32_t atomic_dec(volatile uint32_t *number)
{
        return --*(uint32_t *)number;
}

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

#include "analysis/lexing.h"
#undef eof

#define ts_lexer_init lexer_init
void lexer_init(Lexer *lexer);
#include <lexer.c>
#undef ts_lexer_init

static void advance(TSLexer *data, bool skip)
{
        if (!lexing_step(data, skip))
                ts_lexer__advance(data, skip);
}

void ts_lexer_init(Lexer *lexer)
{
        lexer_init(lexer);
        lexer->data.advance = advance;
        lexer->data.mark_end = lexing_mark_end;
}

/* To a place in the same piece of the source, before a character of one byte. */
static inline void lexer_reset(Lexer *lexer, Length position)
{
        uint32_t place = position.bytes - lexer->chunk_start;

        if (position.bytes == lexer->current_position.bytes)
                return;
        if (place >= lexer->chunk_size || (unsigned char)lexer->chunk[place] >= 0x80) {
                ts_lexer_reset(lexer, position);
                return;
        }
        lexer->current_position = position;
        lexer->current_included_range_index = 0;
        lexer->lookahead_size = 1;
        lexer->data.lookahead = (unsigned char)lexer->chunk[place];
}

/* Where the character is known already, and cannot be a mark of the order of bytes. */
static inline void lexer_start(Lexer *lexer)
{
        if (lexer->chunk_size == 0 || lexer->lookahead_size == 0 ||
            lexer->current_position.bytes == 0) {
                ts_lexer_start(lexer);
                return;
        }
        lexer->token_start_position = lexer->current_position;
        lexer->token_end_position = LENGTH_UNDEFINED;
        lexer->data.result_symbol = 0;
        lexer->did_get_column = false;
}

/* ---- the stack ---- */

#include <subtree.h>

/* Most of what is let go is held by others, too. */
static inline void release(SubtreePool *pool, Subtree subtree)
{
        if (subtree.data.is_inline)
                return;
        if (subtree.ptr->ref_count > 1)
                ((SubtreeHeapData *)subtree.ptr)->ref_count--;
        else
                ts_subtree_release(pool, subtree);
}

#define ts_subtree_release release
#include <stack.c>
#undef ts_subtree_release

/* A list becomes a chain of nodes without a kind, which the library makes a balanced tree of in the
 * end, by going through all that it has made. Short chains do as they are. */
enum { CHAIN_MAX = 200 };
static bool has_long_chain;

static void balance(Subtree subtree, SubtreePool *pool, const TSLanguage *language)
{
        if (has_long_chain)
                ts_subtree_balance(subtree, pool, language);
        has_long_chain = false;
}

/* The library clears room for eight ways back, of which nearly every node has one. */
static inline void push(Stack *stack, StackVersion version, Subtree subtree, bool is_pending,
                        TSStateId state)
{
        StackHead *head = &stack->heads.contents[version];
        const StackNode *below = head->node;
        StackNode *node;

        has_long_chain |= subtree.ptr && ts_subtree_repeat_depth(subtree) > CHAIN_MAX;
        if (!subtree.ptr || stack->node_pool.size == 0) {
                ts_stack_push(stack, version, subtree, is_pending, state);
                return;
        }
        node = array_pop(&stack->node_pool);
        node->state = state;
        node->position = length_add(below->position, ts_subtree_total_size(subtree));
        node->links[0] = (StackLink){ head->node, subtree, is_pending };
        node->link_count = 1;
        node->ref_count = 1;
        node->error_cost = below->error_cost + ts_subtree_error_cost(subtree);
        node->node_count = below->node_count + stack__subtree_node_count(subtree);
        node->dynamic_precedence =
                below->dynamic_precedence + ts_subtree_dynamic_precedence(subtree);
        head->node = node;
}

/* Takes what a rule is made of off the stack. Where there is one way back, as nearly everywhere,
 * nothing need be tried, and the room is right at once. */
static inline StackSliceArray pop_count(Stack *stack, StackVersion version, uint32_t count)
{
        StackNode *top = stack->heads.contents[version].node, *node = top;
        StackSlice slice = { .subtrees = array_new() };
        uint32_t size = 0;

        for (uint32_t left = count; left > 0; node = node->links[0].node, size++) {
                if (node->link_count != 1 || !node->links[0].subtree.ptr)
                        return ts_stack_pop_count(stack, version, count);
                left -= !ts_subtree_extra(node->links[0].subtree);
        }
        array_reserve(&slice.subtrees, (uint32_t)(ts_subtree_alloc_size(size) / sizeof(Subtree)));
        slice.subtrees.size = size;
        for (uint32_t i = size; i-- > 0; top = top->links[0].node) {
                slice.subtrees.contents[i] = top->links[0].subtree;
                ts_subtree_retain(top->links[0].subtree);
        }
        slice.version = ts_stack__add_version(stack, version, node);
        array_clear(&stack->slices);
        array_push(&stack->slices, slice);
        return stack->slices;
}

#define ts_lexer_reset     lexer_reset
#define ts_lexer_start     lexer_start
#define ts_stack_push      push
#define ts_stack_pop_count pop_count
#define ts_subtree_release release
#define ts_subtree_balance balance
#include <parser.c>
#undef ts_lexer_reset
#undef ts_lexer_start
#undef ts_stack_push
#undef ts_stack_pop_count
#undef ts_subtree_release
#undef ts_subtree_balance

#include <node.c>
#include <query.c>
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
