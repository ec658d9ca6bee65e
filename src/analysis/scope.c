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

                *binding->slot = binding->older;
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
}

void scope_add_global(struct analysis *analysis, const char *name, size_t length)
{
        *names_put(&analysis->arena, &analysis->scope->globals, name, length) = analysis->scope;
}

void scope_bind(struct analysis *analysis, const char *name, size_t length, struct value value,
                uint32_t byte)
{
        struct scope *scope = analysis->scope;
        bool is_global = scope->level > 0 && names_find(&scope->globals, name, length) != NULL;
        unsigned level = is_global ? 0 : scope->level;
        struct binding *binding;

        /* Each walk learns its own. */
        if (length == 0 || analysis->learning != (level == 0))
                return;
        binding = arena_alloc(&analysis->arena, sizeof(*binding));
        binding->slot = (struct binding **)names_put(&analysis->arena, &scope->names, name, length);
        binding->older = *binding->slot;
        binding->value = value;
        binding->level = level;
        binding->byte = byte;
        binding->may_not_happen = is_global || analysis->branch > 0;
        *binding->slot = binding;
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

unsigned scope_alternatives(struct analysis *analysis, const struct unit *unit, const char *name,
                            size_t length, uint32_t byte, struct value *ret_values)
{
        struct scope *scope = analysis->scope;
        void **slot = names_find(&scope->names, name, length);
        unsigned count = 0, looked = 0;
        bool hidden = false;

        for (const struct binding *binding = slot ? *slot : NULL;
             binding && !hidden && looked < CHAIN_MAX; binding = binding->older, looked++) {
                count = add(ret_values, count, binding->value);
                hidden = !binding->may_not_happen && binding->byte <= byte;
        }
        if (!hidden) {
                count = add(ret_values, count, value_name(analysis, unit, name, length, false));
                for (unsigned i = 0; i < scope->wildcard_count; i++)
                        count = add(ret_values, count,
                                    value_member(analysis, unit,
                                                 value_name(analysis, unit, scope->wildcards[i],
                                                            strlen(scope->wildcards[i]), false),
                                                 name, length));
        }
        if (count > 1 && slot)
                for (unsigned i = 0; i < count; i++)
                        ret_values[i].guess = true;
        return count;
}
