#include "engine/case_order.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>

/* Puts the place of a limit, or the case's number alone, before what is wrong with it. */
static int blame(const struct cases *cases, size_t index, const struct case_limit *limit, int r,
                 struct error *err)
{
        if (r == SBX_ENOMEM)
                return r;
        if (limit && limit->line)
                error_prefix(err, "%s:%zu:%zu: case %zu", cases->name, limit->line, limit->column,
                             index + 1);
        else
                error_prefix(err, "%s: case %zu", cases->name, index + 1);
        return r;
}

static int set_limits(const struct cases *cases, size_t index, struct policy_values *values,
                      struct error *err)
{
        const struct case_limits *limits = &cases->items[index].limits;

        for (size_t i = 0; i < limits->count; i++) {
                const struct case_limit *limit = &limits->items[i];
                char key[160];
                int r;

                (void)snprintf(key, sizeof(key), "limits.%s", limit->name);
                r = policy_set(values, key, limit->value, err);
                if (r < 0)
                        return blame(cases, index, limit, r, err);
        }
        return 0;
}

int case_layers(const struct engine_order *order, const struct cases *cases, size_t index,
                struct policy *limits, const struct policy *ret_layers[ENGINE_LAYERS_MAX],
                struct error *err)
{
        size_t count = 0;
        int r;

        for (size_t i = 0; i < ENGINE_LAYERS_MAX; i++) {
                ret_layers[i] = order->layers[i];
                if (order->layers[i])
                        count = i + 1;
        }
        policy_init(limits);
        if (cases->items[index].limits.count == 0)
                return 0;
        if (count == ENGINE_LAYERS_MAX)
                return error_set(err, SBX_ETOOBIG, "too many policies for cases with limits");
        r = set_limits(cases, index, &limits->general, err);
        if (r < 0) {
                policy_done(limits);
                return r;
        }
        ret_layers[count] = limits;
        return 0;
}

int case_effective(const struct policy *const layers[ENGINE_LAYERS_MAX], const char *language,
                   struct policy_values *ret_policy, struct error *err)
{
        const struct policy *given[ENGINE_LAYERS_MAX];
        size_t count = 0;

        for (size_t i = 0; i < ENGINE_LAYERS_MAX; i++)
                if (layers[i])
                        given[count++] = layers[i];
        return policy_effective(given, count, language, ret_policy, err);
}

int case_arguments(const struct engine_order *order, const struct cases *cases, size_t index,
                   struct strlist *arguments, struct error *err)
{
        const struct strlist *common = &order->request->arguments;
        const struct strlist *own = &cases->items[index].arguments;
        int r = 0;

        for (size_t i = 0; i < common->count && r == 0; i++)
                r = strlist_add(arguments, common->items[i]);
        for (size_t i = 0; i < own->count && r == 0; i++)
                r = strlist_add(arguments, own->items[i]);
        return r < 0 ? error_set_nomem(err) : 0;
}

/* Whether its limits can be had: a sealed policy may forbid them. */
static int check_limits(const struct engine_order *order, const struct cases *cases, size_t index,
                        struct error *err)
{
        const struct policy *layers[ENGINE_LAYERS_MAX];
        struct policy_values policy;
        struct policy limits;
        int r = case_layers(order, cases, index, &limits, layers, err);

        if (r < 0)
                return r;
        r = case_effective(layers, NULL, &policy, err);
        policy_done(&limits);
        if (r < 0)
                return blame(cases, index, NULL, r, err);
        policy_values_done(&policy);
        return 0;
}

int case_check_all(const struct engine_order *order, const struct cases *cases, struct error *err)
{
        for (size_t i = 0; i < cases->count; i++) {
                const struct test_case *one = &cases->items[i];
                int r = one->limits.count ? check_limits(order, cases, i, err) : 0;

                if (r < 0)
                        return r;
                if ((one->stdin_part.path && !one->stdin_part.data) ||
                    (one->expected.path && !one->expected.data))
                        return error_set(
                                err, SBX_EINVAL, "%s: case %zu: the file '%s' was not read",
                                cases->name, i + 1,
                                one->stdin_part.path ? one->stdin_part.path : one->expected.path);
        }
        return 0;
}
