/* What nests.c, which gives nests out, and nests_builder.c, which makes and ends them, share. */
#ifndef ENGINE_NESTS_STOCK_H
#define ENGINE_NESTS_STOCK_H

#include "engine/nests.h"

#include <pthread.h>

enum {
        KINDS_MAX = NESTS_ROWS_MAX,
        PER_KIND_MAX = 16,
        DOOMED_MAX = KINDS_MAX * (PER_KIND_MAX + 2),
        COPIES_MAX = 4096, /* of one interpreter; then another is parked */
        FAILURES_FREE = 3, /* so many in a row are tried again at once ... */
};
#define PAUSE_FIRST                                                                                \
        (UINT64_C(30) * 1000000000) /* ... then after this, and twice as long each time */
#define PAUSE_MOST (UINT64_C(600) * 1000000000)

/* What does not come about is not tried at every run. */
struct attempts {
        unsigned failures; /* one after the other */
        uint64_t pause_ns, next_ns;
};

/* One kind of run, the nests that wait for it, and its interpreter. */
struct stock {
        struct nest_kind kind;
        struct nest *idle[PER_KIND_MAX]; /* owned */
        unsigned idle_count;
        unsigned lent;     /* nests that runs have */
        unsigned settling; /* of those: the run is over, and the nest is looked after */
        unsigned waiting;  /* runs that wait for those */
        unsigned missing;  /* nests that are to be built */
        struct park *park; /* owned, or NULL */
        unsigned park_users;
        unsigned park_copies;  /* runs that it was lent to */
        struct park *old_park; /* owned: the one before it, until its last run has ended; or NULL */
        unsigned old_users;
        uint64_t size;       /* of the interpreter that was made last; 0: none was yet */
        bool park_is_silent; /* a run got no guest from it, or it is too large: it is to be ended */
        bool wants_park;     /* it is to be started */
        bool is_building;
        struct attempts at_nests, at_parks;
        uint64_t used_ns; /* when a run last asked */
};

struct nests {
        struct engine *engine;
        void (*event)(void *context, const struct engine_event *event); /* or NULL */
        void *event_context;
        uint64_t started_ns;
        unsigned per_kind, least; /* nests of a kind: at most, and also where nobody asks */
        uint64_t idle_ns;
        uint64_t memory_most; /* of all interpreters together */
        unsigned settle_wait_ms;
        bool waits; /* a run waits until there is one: for tests */
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
        bool is_ending;    /* one of them, without the lock */
        unsigned dropping; /* nests that whoever gave them back ends, without the lock */
        struct engine_stats stats;
        struct settling *settling; /* runs that are over; nests_settle.c */
        pthread_t settler;
        bool has_settler;               /* it was started, ... */
        bool settles;                   /* ... and goes on */
        int settler_epoll, settler_end; /* what it polls, and what tells it to end; or -1 */
};

static inline struct stock *nests_stock_of(const struct lodging *lodging)
{
        return lodging->place;
}

/* nests_settle.c. With the lock: nests whose word never comes are not waited for. */
void nests_give_up_unsettled(struct nests *nests);
/* Without it: ends the settler; what it had is put back. */
void nests_settle_all(struct nests *nests);

/* nests.c. Whether it was started. */
bool nests_start_thread(struct nests *nests, pthread_t *thread, void *(*main)(void *));
bool attempts_may_go_on(const struct attempts *attempts);
void attempts_note(struct attempts *attempts, bool is_made);

/* Words for what a slot is made of. */
extern const char nests_container_slot[], nests_interpreter_slot[];

/* nests_builder.c; all with the lock. */
void *nests_builder_main(void *nests);
bool nests_park_is_dead(const struct park *park);
/* Ending takes a while: it is left to the builder, who lets go of the lock for it. */
void nests_doom(struct nests *nests, struct nest *nest, struct park *park, const char *event);
/* What waits in a stock, but for so many nests; the interpreter as well where that is none. */
void nests_doom_stock(struct nests *nests, struct stock *stock, unsigned but);
/* An interpreter that was replaced, once its last run has ended. */
void nests_let_go_of_old(struct nests *nests, struct stock *stock);
/* Nests and guests that died while they waited; others are to take their places. */
void nests_doom_dead(struct nests *nests, struct stock *stock);
/* A run ends when its guest was reaped, and so does a nest, whose guest may only wait. The
 * interpreters do that, and their helpers where those are stopped; somebody may have stopped both.
 */
void nests_wake_parks(struct nests *nests);
/* Ends all that is to be ended; the lock is let go for it. */
void nests_end_doomed(struct nests *nests);
/* The stock that was asked for longest ago, before `before_ns`, of those that nobody uses now; or
 * NULL. */
struct stock *nests_oldest_at_rest(struct nests *nests, uint64_t before_ns, bool with_park);
/* Of all interpreters, in bytes; those too that were replaced and still have runs. */
uint64_t nests_memory(const struct nests *nests, bool with_replaced);

#endif
