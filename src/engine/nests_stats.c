/* What is kept, counted for those who ask. */
#include "engine/nests_stock.h"
#include "base/clock.h"

#include <string.h>

static unsigned count_parked(const struct stock *stock)
{
        return (stock->park != NULL) + (nest_kind_has_guest(&stock->kind) ? stock->idle_count : 0);
}

struct engine_stats engine_stats(struct engine *engine)
{
        struct nests *nests = engine->nests;
        struct engine_stats stats = { 0 };

        if (!nests)
                return stats;
        (void)pthread_mutex_lock(&nests->lock);
        stats = nests->stats;
        for (unsigned i = 0; i < nests->stock_count; i++) {
                stats.ready += nests->stocks[i].idle_count;
                stats.making += nests->stocks[i].missing + nests->stocks[i].wants_park +
                                nests->stocks[i].is_building + nests->stocks[i].settling;
                stats.parked += count_parked(&nests->stocks[i]);
        }
        stats.making += nests->doomed_count + nests->is_ending + nests->dropping;
        stats.memory = nests_memory(nests, true);
        (void)pthread_mutex_unlock(&nests->lock);
        return stats;
}

static struct nests_row row_of(const struct stock *stock, uint64_t now)
{
        struct nests_row row = {
                .is_once = stock->kind.is_once,
                .ready = stock->idle_count,
                .in_use = stock->lent - stock->settling,
                .parked = count_parked(stock),
                .memory = stock->park ? stock->size : 0,
                .memory_limit = stock->kind.limits.memory_bytes,
                .asked_ms = (now - stock->used_ns) / 1000000,
        };

        memcpy(row.language, stock->kind.language, sizeof(row.language));
        return row;
}

unsigned nests_rows(struct nests *nests, struct nests_row ret_rows[NESTS_ROWS_MAX])
{
        unsigned count;

        (void)pthread_mutex_lock(&nests->lock);
        count = nests->stock_count;
        for (unsigned i = 0; i < count; i++)
                ret_rows[i] = row_of(&nests->stocks[i], clock_now_ns());
        (void)pthread_mutex_unlock(&nests->lock);
        return count;
}
