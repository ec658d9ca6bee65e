/* The thread that makes nests and interpreters ahead of demand, and ends what nobody wants. */
#include "engine/nests_stock.h"
#include "base/clock.h"
#include "base/mem.h"

#include <poll.h>
#include <time.h>

enum { LOOK_SECONDS = 5 };
#define PARK_GUESS (UINT64_C(32) << 20) /* of an interpreter whose memory nobody counts */

const char nests_container_slot[] = "container";
const char nests_interpreter_slot[] = "interpreter";

/* Both are called with the lock, which is let go while something is built. The bytes of a kind stay
 * as they are while its stock is there. */
static void add_nest(struct nests *nests, struct stock *stock)
{
        struct nest *nest;

        stock->missing--;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        nest = nest_build(nests->engine, &stock->kind);
        nests_tell(nests, nest ? "slot.made" : "slot.failed",
                   nest_kind_has_guest(&stock->kind) ? nests_interpreter_slot
                                                     : nests_container_slot);
        (void)pthread_mutex_lock(&nests->lock);
        stock->is_building = false;
        if (nest)
                stock->idle[stock->idle_count++] = nest; /* no more are missing than have room */
        else
                nests->stats.failures++;
        stock->failures = nest ? 0 : stock->failures + 1;
}

static void add_park(struct nests *nests, struct stock *stock)
{
        struct park *park;

        stock->wants_park = false;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        park = park_build(nests->engine, &stock->kind.park_plan);
        nests_tell(nests, park ? "slot.made" : "slot.failed", nests_interpreter_slot);
        (void)pthread_mutex_lock(&nests->lock);
        stock->is_building = false;
        stock->park = park;
        stock->park_is_silent = false;
        if (!park)
                nests->stats.failures++;
}

static struct stock *stock_to_fill(struct nests *nests)
{
        for (unsigned i = 0; i < nests->stock_count; i++)
                if (nests->stocks[i].missing > 0 || nests->stocks[i].wants_park)
                        return &nests->stocks[i];
        return NULL;
}

/* Takes what died while it waited out of the stock, a nest or the guest in it; NULL where all are
 * well. */
static struct nest *take_dead(struct stock *stock)
{
        for (unsigned i = 0; i < stock->idle_count; i++) {
                struct nest *nest = stock->idle[i];

                if (nest_lives(nest))
                        continue;
                stock->idle[i] = stock->idle[--stock->idle_count];
                return nest;
        }
        return NULL;
}

bool nests_park_is_dead(const struct park *park)
{
        struct pollfd socket = { .fd = park->socket };

        return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLHUP | POLLERR));
}

void nests_doom(struct nests *nests, struct nest *nest, struct park *park, const char *event)
{
        nests->doomed[nests->doomed_count++] = (struct doomed){ nest, park, event };
        (void)pthread_cond_signal(&nests->changed);
}

void nests_doom_stock(struct nests *nests, struct stock *stock)
{
        while (stock->idle_count > 0 && nests->doomed_count < DOOMED_MAX)
                nests_doom(nests, stock->idle[--stock->idle_count], NULL, "slot.ended");
        if (stock->park && stock->park_users == 0 && nests->doomed_count < DOOMED_MAX) {
                nests_doom(nests, NULL, stock->park, "slot.ended");
                stock->park = NULL;
        }
}

void nests_doom_dead(struct nests *nests, struct stock *stock)
{
        struct nest *dead;

        while (nests->doomed_count < DOOMED_MAX && (dead = take_dead(stock))) {
                nests_doom(nests, dead, NULL, "slot.died");
                stock->missing += stock->idle_count + stock->missing == 0;
        }
}

/* What nobody wanted for a while, and interpreters that died; those are parked anew. */
static void look_after(struct nests *nests)
{
        uint64_t now = clock_now_ns();

        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                if (now - stock->used_ns > nests->idle_ns) {
                        nests_doom_stock(nests, stock);
                } else if (stock->park && stock->park_users == 0 &&
                           (stock->park_is_silent || nests_park_is_dead(stock->park)) &&
                           nests->doomed_count < DOOMED_MAX) {
                        nests_doom(nests, NULL, stock->park, "slot.died");
                        stock->park = NULL;
                        stock->wants_park = true;
                } else {
                        nests_doom_dead(nests, stock);
                }
        }
}

/* With the lock, which is let go while something is ended. */
void nests_end_doomed(struct nests *nests)
{
        while (nests->doomed_count > 0) {
                struct doomed doomed = nests->doomed[--nests->doomed_count];

                nests->is_ending = true;
                (void)pthread_mutex_unlock(&nests->lock);
                if (doomed.nest)
                        nest_drop(doomed.nest);
                if (doomed.park)
                        park_drop(doomed.park);
                nests_tell(nests, doomed.event,
                           doomed.nest ? nests_container_slot : nests_interpreter_slot);
                (void)pthread_mutex_lock(&nests->lock);
                nests->is_ending = false;
        }
}

/* ---- room for all ---- */

static bool has_interpreter(const struct stock *stock)
{
        return stock->park || (stock->kind.is_once && stock->idle_count > 0);
}

struct stock *nests_oldest_at_rest(struct nests *nests, uint64_t before_ns, bool with_park)
{
        struct stock *oldest = NULL;

        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                if (stock->lent == 0 && stock->park_users == 0 && !stock->is_building &&
                    (has_interpreter(stock) || !with_park) && stock->used_ns < before_ns) {
                        oldest = stock;
                        before_ns = stock->used_ns;
                }
        }
        return oldest;
}

static uint64_t memory_in(const struct cgroup *group)
{
        return group->dir_fds[CGROUP_MEMORY] >= 0 ? cgroup_memory_now(group) : PARK_GUESS;
}

uint64_t nests_memory(const struct nests *nests)
{
        uint64_t memory = 0;

        for (unsigned i = 0; i < nests->stock_count; i++) {
                const struct stock *stock = &nests->stocks[i];

                if (stock->park)
                        memory += memory_in(&stock->park->run.group);
                for (unsigned n = 0; stock->kind.is_once && n < stock->idle_count; n++)
                        memory += memory_in(&stock->idle[n]->run.group);
        }
        return memory;
}

/* Whether one more interpreter may be parked, if need be at the cost of one that was not asked for
 * in a longer time. */
static bool make_room(struct nests *nests, const struct stock *stock)
{
        while (nests_memory(nests) + PARK_GUESS > nests->memory_most) {
                struct stock *oldest = nests_oldest_at_rest(nests, stock->used_ns, true);

                if (!oldest)
                        return false;
                nests_doom_stock(nests, oldest);
        }
        return true;
}

static void fill(struct nests *nests, struct stock *stock)
{
        bool takes_memory = stock->kind.is_once || stock->missing == 0;

        if (takes_memory && !make_room(nests, stock))
                stock->missing = stock->wants_park = 0;
        else if (stock->missing > 0)
                add_nest(nests, stock);
        else
                add_park(nests, stock);
}

void *nests_builder_main(void *argument)
{
        struct nests *nests = argument;

        (void)pthread_mutex_lock(&nests->lock);
        while (!nests->ending) {
                struct stock *stock = stock_to_fill(nests);
                struct timespec until;

                if (stock)
                        fill(nests, stock);
                nests_end_doomed(nests);
                if (stock) {
                        (void)pthread_cond_broadcast(&nests->built);
                        continue;
                }
                look_after(nests);
                nests_end_doomed(nests);
                if (nests->ending || stock_to_fill(nests))
                        continue;
                (void)clock_gettime(CLOCK_MONOTONIC, &until);
                until.tv_sec += LOOK_SECONDS;
                (void)pthread_cond_timedwait(&nests->changed, &nests->lock, &until);
        }
        (void)pthread_mutex_unlock(&nests->lock);
        return NULL;
}
