/* The thread that makes nests and interpreters ahead of demand, and ends what nobody wants. */
#include "engine/nests_stock.h"
#include "base/clock.h"
#include "base/mem.h"

#include <poll.h>
#include <time.h>

enum { LOOK_SECONDS = 5 };
#define PARK_GUESS (UINT64_C(32) << 20) /* of an interpreter that was not made yet */

const char nests_container_slot[] = "container";
const char nests_interpreter_slot[] = "interpreter";

/* Told when it is there for the next run, and without the lock: who hears it may ask for figures.
 * The stock stays what it is while something is being built in it. */
static void end_building(struct nests *nests, struct stock *stock, bool is_made, const char *slot)
{
        nests->stats.failures += !is_made;
        (void)pthread_mutex_unlock(&nests->lock);
        nests_tell(nests, is_made ? "slot.made" : "slot.failed", slot);
        (void)pthread_mutex_lock(&nests->lock);
        stock->is_building = false;
}

/* Both are called with the lock, which is let go while something is built; whether it was. */
static bool add_nest(struct nests *nests, struct stock *stock)
{
        const struct park *park = stock->park; /* which nobody but this thread ends */
        struct nest *nest;

        stock->missing--;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        nest = nest_build(nests->engine, &stock->kind, park);
        (void)pthread_mutex_lock(&nests->lock);
        if (nest)
                stock->idle[stock->idle_count++] = nest; /* no more are missing than have room */
        end_building(nests, stock, nest != NULL,
                     nest_kind_has_guest(&stock->kind) ? nests_interpreter_slot
                                                       : nests_container_slot);
        return nest != NULL;
}

/* The one before it, if there is one, serves the runs that have it to their end. */
static void replace_park(struct nests *nests, struct stock *stock, struct park *park)
{
        if (stock->park) {
                stock->old_park = stock->park;
                stock->old_users = stock->park_users;
        }
        stock->park = park;
        stock->park_users = 0;
        stock->park_is_silent = false;
        nests_let_go_of_old(nests, stock);
}

static bool add_park(struct nests *nests, struct stock *stock)
{
        struct park *park;

        stock->wants_park = false;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        park = park_build(nests->engine, &stock->kind.park_plan, nests->memory_most);
        (void)pthread_mutex_lock(&nests->lock);
        stock->park_copies = 0; /* also of one that could not be replaced: not at every run */
        if (park)
                replace_park(nests, stock, park);
        end_building(nests, stock, park != NULL, nests_interpreter_slot);
        return park != NULL;
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

void nests_let_go_of_old(struct nests *nests, struct stock *stock)
{
        if (!stock->old_park || stock->old_users > 0 || nests->doomed_count == DOOMED_MAX)
                return;
        nests_doom(nests, NULL, stock->old_park, "slot.ended");
        stock->old_park = NULL;
}

void nests_doom_stock(struct nests *nests, struct stock *stock, unsigned but)
{
        while (stock->idle_count > but && nests->doomed_count < DOOMED_MAX)
                nests_doom(nests, stock->idle[--stock->idle_count], NULL, "slot.ended");
        if (but == 0 && stock->park && stock->park_users == 0 && nests->doomed_count < DOOMED_MAX) {
                nests_doom(nests, NULL, stock->park, "slot.ended");
                stock->park = NULL;
        }
}

void nests_doom_dead(struct nests *nests, struct stock *stock)
{
        struct nest *dead;

        while (nests->doomed_count < DOOMED_MAX && (dead = take_dead(stock))) {
                nests_doom(nests, dead, NULL, "slot.died");
                stock->missing += stock->idle_count + stock->missing == 0 &&
                                  attempts_may_go_on(&stock->at_nests);
        }
}

/* What nobody wanted for a while, and interpreters that died; those are parked anew. */
static void look_after(struct nests *nests)
{
        uint64_t now = clock_now_ns();

        nests_wake_parks(nests);
        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                bool is_idle = now - stock->used_ns > nests->idle_ns;

                nests_let_go_of_old(nests, stock);
                if (is_idle)
                        nests_doom_stock(nests, stock, nests->least);
                if (is_idle && nests->least == 0)
                        continue;
                if (stock->park && stock->park_users == 0 &&
                    (stock->park_is_silent || nests_park_is_dead(stock->park)) &&
                    nests->doomed_count < DOOMED_MAX) {
                        nests_doom(nests, NULL, stock->park, "slot.died");
                        stock->park = NULL;
                        stock->wants_park = attempts_may_go_on(&stock->at_parks);
                } else {
                        nests_doom_dead(nests, stock);
                }
        }
}

void nests_wake_parks(struct nests *nests)
{
        for (unsigned i = 0; i < nests->stock_count; i++) {
                if (nests->stocks[i].park)
                        park_wake(nests->stocks[i].park);
                if (nests->stocks[i].old_park)
                        park_wake(nests->stocks[i].old_park);
        }
}

/* With the lock, which is let go while something is ended. */
void nests_end_doomed(struct nests *nests)
{
        while (nests->doomed_count > 0) {
                struct doomed doomed = nests->doomed[--nests->doomed_count];

                nests_wake_parks(nests);
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

                if (stock->lent == 0 && stock->waiting == 0 && stock->park_users == 0 &&
                    !stock->is_building && (has_interpreter(stock) || !with_park) &&
                    stock->used_ns < before_ns) {
                        oldest = stock;
                        before_ns = stock->used_ns;
                }
        }
        return oldest;
}

/* Of an interpreter's group; copies of it that wait have little of their own. */
static uint64_t memory_of(const struct run *run, bool is_once)
{
        if (run->group.dir_fds[CGROUP_MEMORY] >= 0)
                return cgroup_memory_now(&run->group);
        return run_weigh(run, is_once);
}

uint64_t nests_memory(const struct nests *nests, bool with_replaced)
{
        uint64_t memory = 0;

        for (unsigned i = 0; i < nests->stock_count; i++) {
                const struct stock *stock = &nests->stocks[i];

                if (stock->park)
                        memory += memory_of(&stock->park->run, false);
                if (stock->old_park && with_replaced)
                        memory += memory_of(&stock->old_park->run, false);
                for (unsigned n = 0; stock->kind.is_once && n < stock->idle_count; n++)
                        memory += memory_of(&stock->idle[n]->run, true);
        }
        return memory;
}

/* Whether there is room for so much more, if need be at the cost of interpreters that were not
 * asked for in a longer time. Those that were replaced are on their way out. */
static bool make_room(struct nests *nests, const struct stock *stock, uint64_t more)
{
        while (nests_memory(nests, false) + more > nests->memory_most) {
                struct stock *oldest = nests_oldest_at_rest(nests, stock->used_ns, true);

                if (!oldest)
                        return false;
                nests_doom_stock(nests, oldest, 0);
        }
        return true;
}

/* What was made last; a run that has it already is let finish. */
static void end_newest(struct nests *nests, struct stock *stock)
{
        if (stock->kind.is_once) {
                nests_doom_stock(nests, stock, stock->idle_count - 1);
        } else if (stock->park_users > 0 || nests->doomed_count == DOOMED_MAX) {
                stock->park_is_silent = true; /* look_after() ends it */
        } else {
                nests_doom(nests, NULL, stock->park, "slot.ended");
                stock->park = NULL;
        }
}

/* How large an interpreter is shows when it waits: one that leaves too little to the others, who
 * are wanted as much, goes again. */
static bool is_within_bounds(struct nests *nests, struct stock *stock)
{
        if (!has_interpreter(stock))
                return true;
        stock->size = stock->kind.is_once
                              ? memory_of(&stock->idle[stock->idle_count - 1]->run, true)
                              : memory_of(&stock->park->run, false);
        if (make_room(nests, stock, 0))
                return true;
        end_newest(nests, stock);
        nests->stats.failures++;
        return false;
}

/* What did not come about, or was too large, is not tried again soon. */
static void note_attempt(struct stock *stock, struct attempts *attempts, bool is_made, bool fits)
{
        if (is_made && !fits && attempts->failures < FAILURES_FREE)
                attempts->failures = FAILURES_FREE; /* it will be as large the next time */
        attempts_note(attempts, is_made && fits);
        if (attempts_may_go_on(attempts))
                return;
        if (attempts == &stock->at_nests)
                stock->missing = 0;
        else
                stock->wants_park = false;
}

static void fill(struct nests *nests, struct stock *stock)
{
        bool is_nest = stock->missing > 0;
        bool takes_memory = stock->kind.is_once || !is_nest;
        bool is_made;

        if (takes_memory && !make_room(nests, stock, stock->size ? stock->size : PARK_GUESS)) {
                stock->missing = stock->wants_park = 0;
                return;
        }
        if (takes_memory && nests->doomed_count > 0)
                return; /* those who gave way are ended first */
        is_made = is_nest ? add_nest(nests, stock) : add_park(nests, stock);
        note_attempt(stock, is_nest ? &stock->at_nests : &stock->at_parks, is_made,
                     !takes_memory || !is_made || is_within_bounds(nests, stock));
}

void *nests_builder_main(void *argument)
{
        struct nests *nests = argument;

        (void)pthread_mutex_lock(&nests->lock);
        while (!nests->ending) {
                struct stock *stock = stock_to_fill(nests);
                struct timespec until;

                nests_give_up_unsettled(nests);
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
