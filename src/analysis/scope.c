/*
 * Names and their meanings.
 *
 * The file's own names are learnt in a first walk, because functions use what is bound below them;
 * those of functions are learnt as the second walk passes. A binding hides the older ones only
 * where it surely took place: it stands above the use and in no branch. All others are
 * alternatives, and the name itself, as the language knows it, is the last of them.
 */
#include "analysis/scope.h"

#include <string.h>

enum { CHAIN_MAX = 64 }; /* bindings of one name that are looked at */

void scope_enter(struct analysis *analysis)
{
        analysis->scope->level++;
}

void scope_leave(struct analysis *analysis)
{
        struct scope *scope = analysis->scope;

        scope->level--;
        while (scope->log_count > 0 && scope->log[scope->log_count - 1]->level > scope->level) {
                struct binding *binding = scope->log[--scope->log_count];

                binding->word->latest = binding->older;
                analysis->epoch++;
        }
}

void scope_add_wildcard(struct analysis *analysis, const char *module)
{
        struct scope *scope = analysis->scope;

        for (unsigned i = 0; i < scope->wildcard_count; i++)
                if (strcmp(scope->wildcards[i], module) == 0)
                        return;
        if (scope->wildcard_count < WILDCARDS_MAX)
                scope->wildcards[scope->wildcard_count++] = module;
        analysis->epoch++;
}

void scope_add_global(struct analysis *analysis, const char *name, size_t length)
{
        *names_put(&analysis->arena, &analysis->scope->globals, name, length) = analysis->scope;
}

static struct word *find_word(struct analysis *analysis, const char *name, size_t length)
{
        struct word **slot =
                (struct word **)names_put(&analysis->arena, &analysis->scope->words, name, length);

        if (!*slot)
                *slot = arena_alloc(&analysis->arena, sizeof(**slot));
        return *slot;
}

bool scope_was_bound(const struct analysis *analysis, const char *name, size_t length)
{
        void **slot = names_find(&analysis->scope->words, name, length);

        return slot && ((const struct word *)*slot)->was_bound;
}

static bool is_global(const struct scope *scope, const char *name, size_t length)
{
        return scope->level > 0 && names_find(&scope->globals, name, length) != NULL;
}

bool scope_is_learnt(const struct analysis *analysis, const char *name, size_t length)
{
        bool is_files_own = analysis->scope->level == 0 || is_global(analysis->scope, name, length);

        return length > 0 && analysis->learning == is_files_own;
}

void scope_bind(struct analysis *analysis, const char *name, size_t length, struct value value,
                uint32_t byte)
{
        struct scope *scope = analysis->scope;
        bool is_files_own = is_global(scope, name, length);
        unsigned level = is_files_own ? 0 : scope->level;
        struct binding *binding;

        if (!scope_is_learnt(analysis, name, length))
                return;
        binding = arena_alloc(&analysis->arena, sizeof(*binding));
        binding->word = find_word(analysis, name, length);
        binding->older = binding->word->latest;
        binding->value = value;
        binding->level = level;
        binding->byte = byte;
        binding->may_not_happen = is_files_own || analysis->branch > 0;
        binding->word->latest = binding;
        binding->word->was_bound = true;
        analysis->epoch++;
        if (level == 0)
                return;
        ARENA_GROW(&analysis->arena, scope->log, scope->log_count, scope->log_capacity);
        scope->log[scope->log_count++] = binding;
}

static unsigned add(struct value *values, unsigned count, struct value value)
{
        for (unsigned i = 0; i < count; i++)
                if (values[i].kind == value.kind && values[i].length == value.length &&
                    (value.length == 0 || memcmp(values[i].text, value.text, value.length) == 0))
                        return count;
        if (count < ALTERNATIVES_MAX)
                values[count++] = value;
        return count;
}

/* What the name means where nothing was bound to it: itself, and the members of that name of all
 * modules that were imported whole. */
static void find_as_is(struct analysis *analysis, const struct unit *unit, struct word *word,
                       const char *name, size_t length)
{
        const struct scope *scope = analysis->scope;

        if (word->grammar == unit->grammar && word->wildcard_count == scope->wildcard_count)
                return;
        word->grammar = unit->grammar;
        word->wildcard_count = scope->wildcard_count;
        word->as_is =
                arena_alloc(&analysis->arena, (scope->wildcard_count + 1) * sizeof(*word->as_is));
        word->as_is[0] = value_name(analysis, unit, name, length, false);
        word->as_is_count = 1;
        for (unsigned i = 0; i < scope->wildcard_count; i++) {
                const char *module = scope->wildcards[i];

                word->as_is_count =
                        add(word->as_is, word->as_is_count,
                            value_member(analysis, unit,
                                         value_name(analysis, unit, module, strlen(module), false),
                                         name, length));
        }
        word->is_harmless = true;
        for (unsigned i = 0; i < word->as_is_count; i++)
                word->is_harmless &= match_is_harmless(analysis, unit, word->as_is[i]);
}

bool scope_is_harmless(struct analysis *analysis, const struct unit *unit, const char *name,
                       size_t length, uint32_t byte)
{
        struct word *word = find_word(analysis, name, length);
        unsigned looked = 0;

        for (const struct binding *binding = word->latest; binding && looked < CHAIN_MAX;
             binding = binding->older, looked++) {
                if (binding->value.kind == VALUE_NAME)
                        return false;
                if (!binding->may_not_happen && binding->byte <= byte)
                        return true;
        }
        find_as_is(analysis, unit, word, name, length);
        return word->is_harmless;
}

unsigned scope_alternatives(struct analysis *analysis, const struct unit *unit, const char *name,
                            size_t length, uint32_t byte, struct value *ret_values)
{
        struct word *word = find_word(analysis, name, length);
        unsigned count = 0, looked = 0;
        bool hidden = false;

        for (const struct binding *binding = word->latest; binding && !hidden && looked < CHAIN_MAX;
             binding = binding->older, looked++) {
                count = add(ret_values, count, binding->value);
                hidden = !binding->may_not_happen && binding->byte <= byte;
        }
        if (!hidden) {
                find_as_is(analysis, unit, word, name, length);
                for (unsigned i = 0; i < word->as_is_count; i++)
                        count = add(ret_values, count, word->as_is[i]);
        }
        if (count > 1 && word->was_bound)
                for (unsigned i = 0; i < count; i++)
                        ret_values[i].guess = true;
        return count;
}
