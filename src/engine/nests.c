/* The stock of nests; see nests.h. */
#include "engine/nests_stock.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { IDLE_MS_DEFAULT = 600000, SETTLE_WAIT_MS = 30 };
#define MEMORY_DEFAULT (UINT64_C(1) << 30)

void nests_tell(const struct nests *nests, const char *kind, const char *text)
{
        const struct engine_event event = {
                .kind = kind,
                .time = (double)(clock_now_ns() - nests->started_ns) / 1e9,
                .text = text,
        };

        if (nests->event)
                nests->event(nests->event_context, &event);
}

const char *lodging_slot(const struct lodging *lodging)
{
        return lodging->park || lodging->is_once ? nests_interpreter_slot : nests_container_slot;
}

const char *lodging_way(const struct lodging *lodging)
{
        return lodging->is_once ? "once" : lodging->park ? "fork" : "none";
}

/* ---- taking and giving; with the lock where not said otherwise ---- */

static bool is_same(const struct strbuf *a, const struct strbuf *b)
{
        return a->length == b->length &&
               (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

static struct stock *find_stock(struct nests *nests, const struct nest_kind *kind)
{
        for (unsigned i = 0; i < nests->stock_count; i++) {
                const struct nest_kind *known = &nests->stocks[i].kind;

                if (str_equal(known->name, kind->name) && known->way == kind->way &&
                    is_same(&known->nest_plan, &kind->nest_plan) &&
                    is_same(&known->key, &kind->key) &&
                    (kind->key.length > 0 || is_same(&known->park_plan, &kind->park_plan)))
                        return &nests->stocks[i];
        }
        return NULL;
}

static void copy(struct strbuf *to, const struct strbuf *from)
{
        strbuf_add(to, from->data ? from->data : "", from->length);
}

static struct stock *add_stock(struct nests *nests, struct nest_kind *kind)
{
        bool is_full = nests->stock_count == KINDS_MAX;
        struct stock *stock = is_full ? nests_oldest_at_rest(nests, UINT64_MAX, false)
                                      : &nests->stocks[nests->stock_count];

        if (!stock || nest_kind_complete(kind) < 0)
                return NULL; /* all are in use: the rest go without */
        if (is_full) {
                nests_doom_stock(nests, stock, 0);
                if (stock->idle_count > 0 || stock->park)
                        return NULL;
                nest_kind_done(&stock->kind);
        }
        *stock = (struct stock){ .kind.limits = kind->limits,
                                 .kind.is_once = kind->is_once,
                                 .kind.way = kind->way };
        memcpy(stock->kind.name, kind->name, sizeof(kind->name));
        memcpy(stock->kind.language, kind->language, sizeof(kind->language));
        copy(&stock->kind.nest_plan, &kind->nest_plan);
        copy(&stock->kind.park_plan, &kind->park_plan);
        copy(&stock->kind.key, &kind->key);
        if (stock->kind.nest_plan.failed || stock->kind.park_plan.failed ||
            stock->kind.key.failed) {
                nest_kind_done(&stock->kind);
                stock->kind.name[0] = '\0'; /* nobody asks for that */
                return NULL;
        }
        nests->stock_count += !is_full;
        return stock;
}

bool attempts_may_go_on(const struct attempts *attempts)
{
        return attempts->failures < FAILURES_FREE || clock_now_ns() >= attempts->next_ns;
}

void attempts_note(struct attempts *attempts, bool is_made)
{
        if (is_made) {
                *attempts = (struct attempts){ 0 };
                return;
        }
        if (++attempts->failures < FAILURES_FREE)
                return;
        attempts->pause_ns = attempts->pause_ns ? attempts->pause_ns * 2 : PAUSE_FIRST;
        if (attempts->pause_ns > PAUSE_MOST)
                attempts->pause_ns = PAUSE_MOST;
        attempts->next_ns = clock_now_ns() + attempts->pause_ns;
}

/* One that has been copied often is to be replaced: addresses and seeds that its copies share are
 * not to be those of all runs there ever are. */
static bool needs_park(const struct stock *stock)
{
        if (stock->kind.park_plan.length == 0 || stock->kind.is_once || stock->is_building ||
            !attempts_may_go_on(&stock->at_parks))
                return false;
        return !stock->park || (stock->park_copies >= COPIES_MAX && !stock->old_park);
}

/* Signals are the caller's business, and must find its own threads. */
bool nests_start_thread(struct nests *nests, pthread_t *thread, void *(*main)(void *))
{
        sigset_t all, before;
        int r;

        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(thread, NULL, main, nests);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r == 0;
}

/* One is always ready beside those that runs have, or as many as were asked for, up to the maximum,
 * so that the next run need not miss it first; the interpreter comes with the first. */
static void order_missing(struct nests *nests, struct stock *stock)
{
        unsigned all = stock->lent + stock->idle_count + stock->missing + stock->is_building;
        unsigned spare = all - stock->lent;
        unsigned wanted = nests->least > 1 ? nests->least : 1;

        if (nests->ending)
                return;
        stock->used_ns = clock_now_ns();
        if (!attempts_may_go_on(&stock->at_nests))
                wanted = 0;
        for (; spare < wanted && all < nests->per_kind; spare++, all++)
                stock->missing++;
        if (needs_park(stock))
                stock->wants_park = true;
        if (!nests->has_builder)
                nests->has_builder = nests_start_thread(nests, &nests->builder, nests_builder_main);
        /* Most runs find all that they need: nobody is woken for those. */
        if (stock->missing > 0 || stock->wants_park)
                (void)pthread_cond_signal(&nests->changed);
}

/* The one that rested longest: one that was given back just now still makes ready for its next run.
 */
static struct nest *take_idle(struct stock *stock)
{
        struct nest *nest = stock->idle[0];

        stock->idle_count--;
        memmove(stock->idle, stock->idle + 1, stock->idle_count * sizeof(*stock->idle));
        return nest;
}

static bool take(struct nests *nests, struct stock *stock, struct lodging *ret_lodging)
{
        bool has_park = stock->park && !stock->park_is_silent && !nests_park_is_dead(stock->park);
        bool has_guest = nest_kind_has_guest(&stock->kind);

        nests_doom_dead(nests, stock);
        if (stock->park && !has_park)
                (void)pthread_cond_signal(&nests->changed); /* another is parked in its place */
        if (stock->idle_count == 0)
                return false;
        *ret_lodging = (struct lodging){ .nest = take_idle(stock),
                                         .park = has_park ? stock->park : NULL,
                                         .place = stock,
                                         .connection = -1,
                                         .is_once = has_guest };
        stock->lent++;
        stock->park_users += has_park;
        stock->park_copies += has_park;
        nests->stats.forked += has_park || has_guest;
        nests->stats.hatched++;
        /* The next guest that waits is made when this one is done: starting it takes what the run
         * could use. */
        if (!stock->kind.is_once)
                order_missing(nests, stock);
        return true;
}

/* Most runs find a nest. Where the last one has only just been left it is there in a moment, and
 * the run would take longer without it; but only as many wait as there are. */
static void wait_for_settling(struct nests *nests, struct stock *stock)
{
        struct timespec until;

        if (stock->idle_count > 0 || stock->waiting >= stock->settling)
                return;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += nests->settle_wait_ms * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        stock->waiting++;
        while (stock->idle_count == 0 && stock->settling > 0 &&
               pthread_cond_timedwait(&nests->built, &nests->lock, &until) == 0)
                ;
        stock->waiting--;
}

bool nests_take(struct nests *nests, struct nest_kind *kind, struct lodging *ret_lodging)
{
        struct stock *stock;
        bool taken = false;

        (void)pthread_mutex_lock(&nests->lock);
        stock = find_stock(nests, kind);
        if (!stock)
                stock = add_stock(nests, kind);
        if (stock) {
                order_missing(nests, stock);
                while (nests->waits && nests->has_builder &&
                       (stock->missing > 0 || stock->wants_park || stock->is_building))
                        (void)pthread_cond_wait(&nests->built, &nests->lock);
                wait_for_settling(nests, stock);
                taken = take(nests, stock, ret_lodging);
        }
        if (!taken)
                nests->stats.missed++;
        (void)pthread_mutex_unlock(&nests->lock);
        return taken;
}

/* The run that had a guest of it has ended. */
static void give_park(struct nests *nests, struct stock *stock, const struct lodging *lodging)
{
        if (lodging->park == stock->park) {
                stock->park_users--;
                stock->park_is_silent |= lodging->is_unanswered;
        } else if (lodging->park == stock->old_park) {
                stock->old_users--;
                nests_let_go_of_old(nests, stock);
        }
}

void nests_give(struct nests *nests, const struct lodging *lodging, bool clean)
{
        struct stock *stock = lodging->place;
        struct nest *nest = lodging->nest;

        if (clean && !stock->kind.is_once)
                (void)nest_prepare(nest, lodging->park); /* before anybody else has it */
        (void)pthread_mutex_lock(&nests->lock);
        stock->lent--;
        stock->settling -= lodging->is_settling;
        if (lodging->park)
                give_park(nests, stock, lodging);
        if (stock->kind.is_once) {
                order_missing(nests, stock);
                if (nests->has_builder && nests->doomed_count < DOOMED_MAX) {
                        nests_doom(nests, nest, NULL, "slot.ended");
                        nest = NULL;
                }
        } else if (clean && stock->idle_count + stock->lent + stock->missing + stock->is_building <
                                    nests->per_kind) {
                stock->idle[stock->idle_count++] = nest;
                nest = NULL;
        } else if (!clean) {
                nests->stats.ended++;
                order_missing(nests, stock);
                (void)pthread_cond_signal(&nests->changed); /* its interpreter may have died */
        }
        if (nest && lodging->is_settling && nests->has_builder && !nests->ending &&
            nests->doomed_count < DOOMED_MAX) {
                nests_doom(nests, nest, NULL, "slot.ended"); /* others settle meanwhile */
                nest = NULL;
        }
        if (nest)
                nests_wake_parks(nests);
        nests->dropping += nest != NULL;
        (void)pthread_cond_broadcast(&nests->built); /* who waits for it looks again */
        (void)pthread_mutex_unlock(&nests->lock);
        if (!nest)
                return;
        nest_drop(nest);
        nests_tell(nests, "slot.ended", nests_container_slot);
        (void)pthread_mutex_lock(&nests->lock);
        nests->dropping--;
        (void)pthread_mutex_unlock(&nests->lock);
}

struct nests *nests_new(struct engine *engine, const struct engine_options *options)
{
        struct nests *nests = mem_alloc(sizeof(*nests));
        pthread_condattr_t attributes;

        if (!nests)
                return NULL;
        nests->engine = engine;
        nests->event = options->slot_event;
        nests->event_context = options->slot_context;
        nests->started_ns = clock_now_ns();
        nests->per_kind = options->warm_slots < PER_KIND_MAX ? options->warm_slots : PER_KIND_MAX;
        nests->least =
                options->warm_least < nests->per_kind ? options->warm_least : nests->per_kind;
        nests->idle_ns =
                (options->warm_idle_ms ? options->warm_idle_ms : IDLE_MS_DEFAULT) * 1000000;
        nests->memory_most = options->warm_memory ? options->warm_memory : MEMORY_DEFAULT;
        nests->waits = options->warm_waits;
        (void)pthread_mutex_init(&nests->lock, NULL); /* cannot fail with default attributes */
        /* A clock that is set must not put off what is due. */
        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&nests->changed, &attributes);
        (void)pthread_cond_init(&nests->built, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        nests->settler_epoll = nests->settler_end = -1;
        nests->settle_wait_ms = SETTLE_WAIT_MS;
        return nests;
}

void nests_free(struct nests *nests)
{
        if (!nests)
                return;
        (void)pthread_mutex_lock(&nests->lock);
        nests->ending = true;
        (void)pthread_cond_signal(&nests->changed);
        (void)pthread_mutex_unlock(&nests->lock);
        if (nests->has_builder)
                (void)pthread_join(nests->builder, NULL);
        nests_settle_all(nests);
        (void)pthread_mutex_lock(&nests->lock);
        nests_end_doomed(nests);
        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                nests_doom_stock(nests, stock, 0);
                nests_end_doomed(nests);
                nest_kind_done(&stock->kind);
        }
        (void)pthread_mutex_unlock(&nests->lock);
        (void)pthread_cond_destroy(&nests->built);
        (void)pthread_cond_destroy(&nests->changed);
        (void)pthread_mutex_destroy(&nests->lock);
        mem_free(nests);
}
