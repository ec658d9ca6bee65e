/* The stock of nests; see nests.h. */
#include "engine/nests.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
        KINDS_MAX = 16,
        PER_KIND_MAX = 16,
        DOOMED_MAX = KINDS_MAX * (PER_KIND_MAX + 1),
        LOOK_SECONDS = 5,
        IDLE_MS_DEFAULT = 600000,
};
#define MEMORY_DEFAULT (UINT64_C(1) << 30)
#define PARK_GUESS     (UINT64_C(32) << 20) /* of an interpreter whose memory nobody counts */

/* One kind of run, the nests that wait for it, and its interpreter. */
struct stock {
        struct nest_kind kind;
        struct nest *idle[PER_KIND_MAX]; /* owned */
        unsigned idle_count;
        unsigned lent;     /* nests that runs have */
        unsigned missing;  /* nests that are to be built */
        struct park *park; /* owned, or NULL */
        unsigned park_users;
        bool wants_park; /* it is to be started */
        bool is_building;
        uint64_t used_ns; /* when a run last asked */
};

struct nests {
        struct engine *engine;
        void (*event)(void *context, const struct engine_event *event); /* or NULL */
        void *event_context;
        uint64_t started_ns;
        unsigned per_kind;
        uint64_t idle_ns;
        uint64_t memory_most; /* of all interpreters together */
        bool waits;           /* a run waits until there is one: for tests */
        pthread_mutex_t lock;
        pthread_cond_t changed, built;
        pthread_t builder;
        bool has_builder; /* guarded, as is all that follows */
        bool ending;
        struct stock stocks[KINDS_MAX];
        unsigned stock_count;
        struct doomed { /* what the builder is to end; both owned, one of them NULL */
                struct nest *nest;
                struct park *park;
                const char *event;
        } doomed[DOOMED_MAX];
        unsigned doomed_count;
        struct engine_stats stats;
};

/* Words for what a slot is made of. */
static const char container_slot[] = "container";
static const char interpreter_slot[] = "interpreter";

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
        return lodging->park ? interpreter_slot : container_slot;
}

/* ---- building, on a thread of its own ---- */

/* Both are called with the lock, which is let go while something is built. The bytes of a kind stay
 * as they are while its stock is there. */
static void add_nest(struct nests *nests, struct stock *stock)
{
        struct nest *nest;

        stock->missing--;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        nest = nest_build(nests->engine, &stock->kind.nest_plan, &stock->kind.limits);
        nests_tell(nests, nest ? "slot.made" : "slot.failed", container_slot);
        (void)pthread_mutex_lock(&nests->lock);
        stock->is_building = false;
        if (nest)
                stock->idle[stock->idle_count++] = nest; /* no more are missing than have room */
        else
                nests->stats.failures++;
}

static void add_park(struct nests *nests, struct stock *stock)
{
        struct park *park;

        stock->wants_park = false;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        park = park_build(nests->engine, &stock->kind.park_plan);
        nests_tell(nests, park ? "slot.made" : "slot.failed", interpreter_slot);
        (void)pthread_mutex_lock(&nests->lock);
        stock->is_building = false;
        stock->park = park;
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

static bool park_is_dead(const struct park *park)
{
        struct pollfd socket = { .fd = park->socket };

        return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLHUP | POLLERR));
}

/* Ending takes a while: it is left to the builder, who lets go of the lock for it. */
static void doom(struct nests *nests, struct nest *nest, struct park *park, const char *event)
{
        nests->doomed[nests->doomed_count++] = (struct doomed){ nest, park, event };
}

/* Everything that waits in a stock. */
static void doom_stock(struct nests *nests, struct stock *stock)
{
        while (stock->idle_count > 0 && nests->doomed_count < DOOMED_MAX)
                doom(nests, stock->idle[--stock->idle_count], NULL, "slot.ended");
        if (stock->park && stock->park_users == 0 && nests->doomed_count < DOOMED_MAX) {
                doom(nests, NULL, stock->park, "slot.ended");
                stock->park = NULL;
        }
}

/* What nobody wanted for a while, and interpreters that died; those are parked anew. */
static void look_after(struct nests *nests)
{
        uint64_t now = clock_now_ns();

        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                if (now - stock->used_ns > nests->idle_ns) {
                        doom_stock(nests, stock);
                } else if (stock->park && stock->park_users == 0 && park_is_dead(stock->park) &&
                           nests->doomed_count < DOOMED_MAX) {
                        doom(nests, NULL, stock->park, "slot.died");
                        stock->park = NULL;
                        stock->wants_park = true;
                }
        }
}

/* With the lock, which is let go while something is ended. */
static void end_doomed(struct nests *nests)
{
        while (nests->doomed_count > 0) {
                struct doomed doomed = nests->doomed[--nests->doomed_count];

                (void)pthread_mutex_unlock(&nests->lock);
                if (doomed.nest)
                        nest_drop(doomed.nest);
                if (doomed.park)
                        park_drop(doomed.park);
                nests_tell(nests, doomed.event, doomed.nest ? container_slot : interpreter_slot);
                (void)pthread_mutex_lock(&nests->lock);
        }
}

/* ---- room for all ---- */

/* The stock that was asked for longest ago, before `before_ns`, of those that nobody uses now; or
 * NULL. */
static struct stock *oldest_at_rest(struct nests *nests, uint64_t before_ns, bool with_park)
{
        struct stock *oldest = NULL;

        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                if (stock->lent == 0 && stock->park_users == 0 && !stock->is_building &&
                    (stock->park || !with_park) && stock->used_ns < before_ns) {
                        oldest = stock;
                        before_ns = stock->used_ns;
                }
        }
        return oldest;
}

static uint64_t memory_of(const struct nests *nests)
{
        uint64_t memory = 0;

        for (unsigned i = 0; i < nests->stock_count; i++) {
                const struct park *park = nests->stocks[i].park;

                if (park)
                        memory += park->run.group.dir_fds[CGROUP_MEMORY] >= 0
                                          ? cgroup_memory_now(&park->run.group)
                                          : PARK_GUESS;
        }
        return memory;
}

/* Whether one more interpreter may be parked, if need be at the cost of one that was not asked for
 * in a longer time. */
static bool make_room(struct nests *nests, const struct stock *stock)
{
        while (memory_of(nests) + PARK_GUESS > nests->memory_most) {
                struct stock *oldest = oldest_at_rest(nests, stock->used_ns, true);

                if (!oldest)
                        return false;
                doom_stock(nests, oldest);
        }
        return true;
}

static void *builder_main(void *argument)
{
        struct nests *nests = argument;

        (void)pthread_mutex_lock(&nests->lock);
        while (!nests->ending) {
                struct stock *stock = stock_to_fill(nests);
                struct timespec until;

                if (stock && stock->missing > 0)
                        add_nest(nests, stock);
                else if (stock && make_room(nests, stock))
                        add_park(nests, stock);
                else if (stock)
                        stock->wants_park = false;
                end_doomed(nests);
                if (stock) {
                        (void)pthread_cond_broadcast(&nests->built);
                        continue;
                }
                look_after(nests);
                end_doomed(nests);
                if (nests->ending || stock_to_fill(nests))
                        continue;
                (void)clock_gettime(CLOCK_MONOTONIC, &until);
                until.tv_sec += LOOK_SECONDS;
                (void)pthread_cond_timedwait(&nests->changed, &nests->lock, &until);
        }
        (void)pthread_mutex_unlock(&nests->lock);
        return NULL;
}

/* ---- taking and giving; with the lock where not said otherwise ---- */

static struct stock *find_stock(struct nests *nests, const char *name)
{
        for (unsigned i = 0; i < nests->stock_count; i++)
                if (str_equal(nests->stocks[i].kind.name, name))
                        return &nests->stocks[i];
        return NULL;
}

static void copy(struct strbuf *to, const struct strbuf *from)
{
        strbuf_add(to, from->data ? from->data : "", from->length);
}

static struct stock *add_stock(struct nests *nests, const struct nest_kind *kind)
{
        bool is_full = nests->stock_count == KINDS_MAX;
        struct stock *stock = is_full ? oldest_at_rest(nests, UINT64_MAX, false)
                                      : &nests->stocks[nests->stock_count];

        if (!stock)
                return NULL; /* all are in use: the rest go without */
        if (is_full) {
                doom_stock(nests, stock);
                if (stock->idle_count > 0 || stock->park)
                        return NULL;
                nest_kind_done(&stock->kind);
        }
        *stock = (struct stock){ .kind.limits = kind->limits };
        memcpy(stock->kind.name, kind->name, sizeof(kind->name));
        copy(&stock->kind.nest_plan, &kind->nest_plan);
        copy(&stock->kind.park_plan, &kind->park_plan);
        if (stock->kind.nest_plan.failed || stock->kind.park_plan.failed) {
                nest_kind_done(&stock->kind);
                stock->kind.name[0] = '\0'; /* nobody asks for that */
                return NULL;
        }
        nests->stock_count += !is_full;
        return stock;
}

/* One is always ready beside those that runs have, up to the maximum, so that the next run need not
 * miss it first; the interpreter comes with the first. */
static void order_missing(struct nests *nests, struct stock *stock)
{
        unsigned spare = stock->idle_count + stock->missing + stock->is_building;

        stock->used_ns = clock_now_ns();
        if (spare == 0 && stock->lent < nests->per_kind)
                stock->missing++;
        if (stock->kind.park_plan.length > 0 && !stock->park && !stock->is_building)
                stock->wants_park = true;
        if (!nests->has_builder)
                nests->has_builder =
                        pthread_create(&nests->builder, NULL, builder_main, nests) == 0;
        (void)pthread_cond_signal(&nests->changed);
}

static bool take(struct nests *nests, struct stock *stock, struct lodging *ret_lodging)
{
        bool has_park = stock->park && !park_is_dead(stock->park);

        if (stock->idle_count == 0)
                return false;
        *ret_lodging = (struct lodging){ .nest = stock->idle[--stock->idle_count],
                                         .park = has_park ? stock->park : NULL,
                                         .place = stock,
                                         .connection = -1 };
        stock->lent++;
        if (has_park) {
                stock->park_users++;
                nests->stats.forked++;
        }
        nests->stats.hatched++;
        order_missing(nests, stock);
        return true;
}

bool nests_take(struct nests *nests, const struct nest_kind *kind, struct lodging *ret_lodging)
{
        struct stock *stock;
        bool taken = false;

        (void)pthread_mutex_lock(&nests->lock);
        stock = find_stock(nests, kind->name);
        if (!stock)
                stock = add_stock(nests, kind);
        if (stock) {
                order_missing(nests, stock);
                while (nests->waits && nests->has_builder &&
                       (stock->missing > 0 || stock->wants_park || stock->is_building))
                        (void)pthread_cond_wait(&nests->built, &nests->lock);
                taken = take(nests, stock, ret_lodging);
        }
        if (!taken)
                nests->stats.missed++;
        (void)pthread_mutex_unlock(&nests->lock);
        return taken;
}

void nests_give(struct nests *nests, const struct lodging *lodging, bool clean)
{
        struct stock *stock = lodging->place;
        struct nest *nest = lodging->nest;

        (void)pthread_mutex_lock(&nests->lock);
        stock->lent--;
        if (lodging->park)
                stock->park_users--;
        if (clean && stock->idle_count + stock->lent + stock->missing + stock->is_building <
                             nests->per_kind) {
                stock->idle[stock->idle_count++] = nest;
                nest = NULL;
        } else if (!clean) {
                nests->stats.ended++;
                order_missing(nests, stock); /* also where its interpreter died */
        }
        (void)pthread_mutex_unlock(&nests->lock);
        if (!nest)
                return;
        nest_drop(nest);
        nests_tell(nests, "slot.ended", container_slot);
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
                stats.parked += nests->stocks[i].park != NULL;
        }
        stats.memory = memory_of(nests);
        (void)pthread_mutex_unlock(&nests->lock);
        return stats;
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
        nests->idle_ns =
                (options->warm_idle_ms ? options->warm_idle_ms : IDLE_MS_DEFAULT) * 1000000;
        nests->memory_most = options->warm_memory ? options->warm_memory : MEMORY_DEFAULT;
        nests->waits = options->warm_waits;
        (void)pthread_mutex_init(&nests->lock, NULL); /* cannot fail with default attributes */
        /* A clock that is set must not put off what is due. */
        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&nests->changed, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        (void)pthread_cond_init(&nests->built, NULL);
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
        (void)pthread_mutex_lock(&nests->lock);
        end_doomed(nests);
        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                doom_stock(nests, stock);
                end_doomed(nests);
                nest_kind_done(&stock->kind);
        }
        (void)pthread_mutex_unlock(&nests->lock);
        (void)pthread_cond_destroy(&nests->built);
        (void)pthread_cond_destroy(&nests->changed);
        (void)pthread_mutex_destroy(&nests->lock);
        mem_free(nests);
}
