/* What one case asks for, over the request that all of them share. */
#ifndef ENGINE_CASE_ORDER_H
#define ENGINE_CASE_ORDER_H

#include "cases/cases.h"
#include "engine/engine.h"

/* The layers of the order, and over them `limits`, filled with those of a case; the layers borrow
 * it, and the caller ends it. */
int case_layers(const struct engine_order *order, const struct cases *cases, size_t index,
                struct policy *limits, const struct policy *ret_layers[ENGINE_LAYERS_MAX],
                struct error *err);
/* The policy that layers amount to, for a language or NULL. */
int case_effective(const struct policy *const layers[ENGINE_LAYERS_MAX], const char *language,
                   struct policy_values *ret_policy, struct error *err);
/* The request's arguments, then those of a case; `arguments` must be empty. */
int case_arguments(const struct engine_order *order, const struct cases *cases, size_t index,
                   struct strlist *arguments, struct error *err);
/* Everything that can be wrong with a case, before any runs. */
int case_check_all(const struct engine_order *order, const struct cases *cases, struct error *err);

#endif
