/*
 * The nests that an engine keeps: containers built ahead of the runs that they are for, and parked
 * interpreters that guests are copied from. A run looks for one of its kind, and goes without where
 * there is none; a thread of the engine's builds what was missed, and ends what nobody wanted for a
 * while.
 */
#ifndef ENGINE_NESTS_H
#define ENGINE_NESTS_H

#include "backend/nest.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "plan/build.h"

struct nests *nests_new(struct engine *engine, const struct engine_options *options);
void nests_free(struct nests *nests);

enum { NEST_LANGUAGE_MAX = 32 };

/* What a nest is for. */
struct nest_kind {
        char language[NEST_LANGUAGE_MAX]; /* of its interpreter, to be shown; empty: it has none */
        /* Of its limits and the files that it is made from. Kinds whose plans differ may share it:
         * to compare those takes less time than to hash them. */
        char name[HASH_TEXT_MAX];
        struct strbuf nest_plan; /* encoded: how nests are built */
        struct strbuf park_plan; /* encoded: how its interpreter is parked; empty: it is not */
        struct strbuf key; /* the same without the text of the launcher, which `way` has; empty:
                            * it is compared by the whole */
        const struct language_park *way; /* borrowed from the engine's languages; NULL: the text is
                                          * in the key */
        bool is_once; /* each is for one run: the interpreter waits in the nest, or the
                       * nest is a container engine's */
        struct cgroup_limits limits;
        /* What its park_plan is made of by nest_kind_complete(). Borrowed. */
        const struct engine *engine;
        const struct plan_draft *draft;
};

static inline bool nest_kind_has_guest(const struct nest_kind *kind)
{
        return kind->is_once && kind->park_plan.length > 0;
}

/* The kind of a run: all of its plan but what a nest leaves open, the limits of its group, and how
 * an interpreter of its language is parked, where the draft has one. Enough to find nests of that
 * kind by; the draft must stay where it is. */
int nest_kind_make(const struct engine *engine, const struct plan_draft *draft,
                   const struct language *language, const struct cgroup_limits *limits,
                   struct nest_kind *ret_kind);
/* Enough to build them. 0, or -1 without memory. */
int nest_kind_complete(struct nest_kind *kind);
void nest_kind_done(struct nest_kind *kind);

/* nest_build.c: by the encoded plans; NULL where it did not come about. What was built is dropped,
 * not freed. A nest has its first guest made by the interpreter, where there is one already. */
struct nest *nest_build(struct engine *engine, const struct nest_kind *kind,
                        const struct park *park);
/* An interpreter that takes more than `memory` bytes is ended. */
struct park *park_build(struct engine *engine, const struct strbuf *plan, uint64_t memory);
void nest_drop(struct nest *nest);
void park_drop(struct park *park);

/* A nest that a run has for itself, until it is given back. */
struct lodging {
        struct nest *nest;
        const struct park *park; /* that its guest comes from, or NULL */
        void *place;             /* where it goes back to */
        int connection;          /* owned: to the keeper it was borrowed from, or -1 */
        bool is_once;            /* its guest waits in the nest already */
        bool is_unanswered;      /* its keeper stood, and no guest came from the interpreter */
        bool is_settling;        /* its run is over, and somebody else gives it back */
};

/* "container", or "interpreter" where the guest comes from one. */
const char *lodging_slot(const struct lodging *lodging);
/* How the run starts: "fork", "once" or "none". */
const char *lodging_way(const struct lodging *lodging);
/* Tells the engine's handler, if there is one. */
void nests_tell(const struct nests *nests, const char *kind, const char *text);

/* What there is of one kind now. */
struct nests_row {
        char language[NEST_LANGUAGE_MAX]; /* as in struct nest_kind */
        uint32_t is_once;
        uint32_t ready, in_use; /* containers */
        uint32_t parked;        /* interpreters */
        uint64_t memory;        /* of those that are copied, in bytes */
        uint64_t memory_limit;  /* of its runs */
        uint64_t asked_ms;      /* since a run last asked for it */
};

enum { NESTS_ROWS_MAX = 16 };
/* All kinds; how many. */
unsigned nests_rows(struct nests *nests, struct nests_row ret_rows[NESTS_ROWS_MAX]);

/* False where there is none. In either case the engine sees to it that there will be one. */
bool nests_take(struct nests *nests, struct nest_kind *kind, struct lodging *ret_lodging);
/* Gives it back after a run in it was finished; a nest that is not `clean` is ended. */
void nests_give(struct nests *nests, const struct lodging *lodging, bool clean);
/* The same for a run that is over and was let go: somebody else waits until all of it is gone, and
 * gives the nest back. Takes both; false where it does not. */
bool nests_settle(struct nests *nests, struct lodging *lodging, struct run *run);

#endif
