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

enum { KINDS_MAX = 16, PER_KIND_MAX = 16, PARK_START_MS = 30000, LOOK_SECONDS = 5 };
static const struct cgroup_limits park_limits = { UINT64_C(2) << 30, 64, 1000 };

/* One kind of run, the nests that wait for it, and its interpreter. */
struct stock {
        struct nest_kind kind;
        struct nest *idle[PER_KIND_MAX]; /* owned */
        unsigned idle_count;
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
        bool waits; /* a run waits until there is one: for tests */
        pthread_mutex_t lock;
        pthread_cond_t changed, built;
        pthread_t builder;
        bool has_builder; /* guarded, as is all that follows */
        bool ending;
        struct stock stocks[KINDS_MAX];
        unsigned stock_count;
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

static int decode(const struct strbuf *bytes, struct plan *ret_plan, void **ret_arena)
{
        size_t size = plan_arena_size(bytes->length);

        *ret_arena = mem_alloc(size);
        return *ret_arena && !plan_decode(bytes->data, bytes->length, *ret_arena, size, ret_plan)
                       ? 0
                       : -1;
}

static struct backend_host host_of(struct engine *engine)
{
        struct backend_host host = { .init_path = engine->init_path, .site = &engine->site };

        (void)pthread_mutex_lock(&engine->lock);
        host.number = engine->next_number++;
        (void)pthread_mutex_unlock(&engine->lock);
        return host;
}

static void end_nest(struct nest *nest)
{
        nest_end(nest);
        mem_free(nest);
}

static void end_park(struct park *park)
{
        park_end(park);
        mem_free(park);
}

static struct nest *build_nest(struct engine *engine, const struct strbuf *bytes,
                               const struct cgroup_limits *limits)
{
        struct backend_host host = host_of(engine);
        struct nest *nest = mem_alloc(sizeof(*nest));
        AUTO_FREE void *arena = NULL;
        struct plan plan;

        if (!nest || decode(bytes, &plan, &arena) < 0 ||
            nest_start(&backend_container, &host, &plan, limits, nest, NULL) < 0) {
                mem_free(nest);
                return NULL;
        }
        if (nest_wait(nest) == 0)
                return nest;
        end_nest(nest);
        return NULL;
}

static struct park *build_park(struct engine *engine, const struct strbuf *bytes)
{
        struct backend_host host = host_of(engine);
        struct park *park = mem_alloc(sizeof(*park));
        AUTO_FREE void *arena = NULL;
        struct plan plan;

        if (!park || decode(bytes, &plan, &arena) < 0 ||
            park_start(&host, &plan, &park_limits, park, NULL) < 0) {
                mem_free(park);
                return NULL;
        }
        if (park_wait(park, PARK_START_MS) == 0)
                return park;
        end_park(park);
        return NULL;
}

/* Both are called with the lock, which is let go while something is built. The bytes of a kind stay
 * as they are while its stock is there. */
static void add_nest(struct nests *nests, struct stock *stock)
{
        struct nest *nest;

        stock->missing--;
        stock->is_building = true;
        (void)pthread_mutex_unlock(&nests->lock);
        nest = build_nest(nests->engine, &stock->kind.nest_plan, &stock->kind.limits);
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
        park = build_park(nests->engine, &stock->kind.park_plan);
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

/* Ends what nobody wanted for a while, and interpreters that died; those are parked anew. */
static void look_after(struct nests *nests)
{
        uint64_t now = clock_now_ns();

        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];
                bool unwanted = now - stock->used_ns > nests->idle_ns;

                while (unwanted && stock->idle_count > 0) {
                        end_nest(stock->idle[--stock->idle_count]);
                        nests_tell(nests, "slot.ended", container_slot);
                }
                if (!stock->park || stock->park_users > 0)
                        continue;
                if (!unwanted && park_is_dead(stock->park))
                        stock->wants_park = true;
                else if (!unwanted)
                        continue;
                nests_tell(nests, unwanted ? "slot.ended" : "slot.died", interpreter_slot);
                end_park(stock->park);
                stock->park = NULL;
        }
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
                else if (stock)
                        add_park(nests, stock);
                if (stock) {
                        (void)pthread_cond_broadcast(&nests->built);
                        continue;
                }
                look_after(nests);
                if (stock_to_fill(nests))
                        continue;
                (void)clock_gettime(CLOCK_REALTIME, &until);
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
        struct stock *stock = &nests->stocks[nests->stock_count];

        if (nests->stock_count == KINDS_MAX)
                return NULL; /* the rest go without */
        *stock = (struct stock){ .kind.limits = kind->limits };
        memcpy(stock->kind.name, kind->name, sizeof(kind->name));
        copy(&stock->kind.nest_plan, &kind->nest_plan);
        copy(&stock->kind.park_plan, &kind->park_plan);
        if (stock->kind.nest_plan.failed || stock->kind.park_plan.failed) {
                nest_kind_done(&stock->kind);
                return NULL;
        }
        nests->stock_count++;
        return stock;
}

/* As many as there are runs at once, up to the maximum; the interpreter comes with the first. */
static void order_missing(struct nests *nests, struct stock *stock)
{
        stock->used_ns = clock_now_ns();
        if (stock->idle_count + stock->missing + stock->is_building < nests->per_kind &&
            stock->idle_count == 0)
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
        if (has_park) {
                stock->park_users++;
                nests->stats.forked++;
        }
        nests->stats.hatched++;
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
        if (lodging->park)
                stock->park_users--;
        if (clean && stock->idle_count + stock->missing + stock->is_building < nests->per_kind) {
                stock->idle[stock->idle_count++] = nest;
                nest = NULL;
        } else if (!clean) {
                nests->stats.ended++;
                order_missing(nests, stock); /* also where its interpreter died */
        }
        (void)pthread_mutex_unlock(&nests->lock);
        if (!nest)
                return;
        end_nest(nest);
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
        (void)pthread_mutex_unlock(&nests->lock);
        return stats;
}

struct nests *nests_new(struct engine *engine, const struct engine_options *options)
{
        struct nests *nests = mem_alloc(sizeof(*nests));

        if (!nests)
                return NULL;
        nests->engine = engine;
        nests->event = options->slot_event;
        nests->event_context = options->slot_context;
        nests->started_ns = clock_now_ns();
        nests->per_kind = options->warm_slots < PER_KIND_MAX ? options->warm_slots : PER_KIND_MAX;
        nests->idle_ns = (options->warm_idle_ms ? options->warm_idle_ms : 600000) * 1000000;
        nests->waits = options->warm_waits;
        (void)pthread_mutex_init(&nests->lock, NULL); /* cannot fail with default attributes */
        (void)pthread_cond_init(&nests->changed, NULL);
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
        for (unsigned i = 0; i < nests->stock_count; i++) {
                struct stock *stock = &nests->stocks[i];

                while (stock->idle_count > 0) {
                        end_nest(stock->idle[--stock->idle_count]);
                        nests_tell(nests, "slot.ended", container_slot);
                }
                if (stock->park) {
                        end_park(stock->park);
                        nests_tell(nests, "slot.ended", interpreter_slot);
                }
                nest_kind_done(&stock->kind);
        }
        (void)pthread_cond_destroy(&nests->built);
        (void)pthread_cond_destroy(&nests->changed);
        (void)pthread_mutex_destroy(&nests->lock);
        mem_free(nests);
}
