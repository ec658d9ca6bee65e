/*
 * The engine: takes a request through the pipeline (pipeline.c: read that first). Holds what runs
 * share: the languages, the place for control groups, the number of runs at once. Thread-safe.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/bundle.h"
#include "base/error.h"
#include "backend/child.h"
#include "history/history.h"
#include "kernel/cgroup.h"
#include "languages/languages.h"
#include "policy/policy.h"
#include "request/request.h"
#include "result/result.h"
#include "templates/templates.h"

#include <pthread.h>
#include <stdbool.h>

struct analysis_memory; /* analysis.h */
struct engine_event;
struct filled; /* templating.h */
struct nests;
struct tools; /* tools.h */

/* How the guest's identity is made, found out once. */
struct engine_identity {
        bool user_namespace; /* the caller has no privilege of its own */
        uint32_t uid_base, uid_span;
        uint32_t host_uid; /* what the caller's id is outside of its user namespace */
};

struct engine {
        struct languages *languages; /* owned */
        char *init_path;             /* owned */
        char *analyze_path;          /* owned: see engine_analyze_path(); NULL at first */
        char *park_path;             /* owned: the library of parked interpreters, or NULL */
        char *cache_dir;             /* owned, or NULL: nothing is remembered */
        uint64_t cache_bytes;        /* compiled programs that are kept, at most */
        struct history history;      /* where records are kept; each run opens it itself */
        struct cgroup_site site;
        struct engine_identity identity;
        pthread_mutex_t lock;
        pthread_cond_t freed;
        unsigned running; /* guarded by lock */
        unsigned max_runs;
        unsigned next_number;             /* guarded by lock */
        bool swept;                       /* guarded by lock */
        struct nests *nests;              /* owned, or NULL: none are kept */
        struct analysis_memory *analysed; /* owned, or NULL: nothing is remembered */
        struct tools *tools;              /* owned, or NULL: tools are looked for each time */
        bool serves_alone;                /* our process is a keeper, and nothing else */
        char *keeper_path; /* owned: the socket of a keeper that lends nests, or NULL */
        int keeper_fd;     /* owned, guarded by lock: a connection to it for the first run, or -1 */
        struct helper *early; /* owned, guarded by lock: started before the first run; or NULL */
};

struct engine_options {
        const char *init_path;   /* NULL: found */
        unsigned max_runs;       /* 0: the default */
        unsigned warm_slots;     /* containers kept ready for each kind of run; 0: none */
        unsigned warm_least;     /* of them, also where none is asked for any more */
        uint64_t warm_idle_ms;   /* for so long without a run of the kind; 0: the default */
        uint64_t warm_memory;    /* bytes of all parked interpreters together; 0: the default */
        bool warm_waits;         /* a run waits for one: for tests */
        const char *keeper_path; /* of a keeper's socket; NULL: nothing is borrowed */
        bool early_start;        /* a run follows at once: the helper starts beside our own start */
        bool serves_alone;       /* the process is a keeper, and nothing else */
        /* Hears of the nests; or NULL. */
        void (*slot_event)(void *context, const struct engine_event *event);
        void *slot_context;
};

/* What became of runs that could start warm, and what is kept for them. */
struct engine_stats {
        uint64_t hatched;       /* runs in a container that was ready */
        uint64_t forked;        /* those of them whose interpreter was ready */
        uint64_t missed;        /* runs for which none was ready */
        uint64_t ended;         /* containers that a run left other than it found them */
        uint64_t failures;      /* containers and interpreters that could not be made */
        unsigned ready, parked; /* now */
        uint64_t memory;        /* of the parked interpreters, in bytes */
        unsigned making;        /* are being made, ended or put back */
};

/* What a run uses; ENGINE_UNKNOWN where that is not known. */
#define ENGINE_UNKNOWN UINT64_MAX
struct engine_usage {
        uint64_t memory, memory_peak, cpu_us, cpu_milli, disk, io_read, io_write, network_in,
                network_out;
        uint32_t processes;
};

/* Events as they happen; data as in sbx_event. */
struct engine_event {
        const char *kind;
        const char *id;
        double time;
        const void *data;
        size_t length;
        const char *text;
        const struct engine_usage *usage; /* "usage" */
        uint64_t used, allowed;           /* "limit.warning" */
        const struct result *result;
};

/* Code that was compiled once, to be run many times. */
struct engine_program {
        const struct request *code; /* borrowed: language, code and sources */
        struct bundle built;        /* what the compiler made; empty where the code itself is run */
        struct filled *filled;      /* owned: the template with the code in it, or NULL */
};

enum { ENGINE_LAYERS_MAX = 24, ENGINE_WAIT_MS = 200 /* between two calls of `wait` */ };

struct engine_order {
        const struct request *request;
        const struct engine_program
                *program; /* what is run instead of the request's code, or NULL */
        const struct policy *layers[ENGINE_LAYERS_MAX]; /* files, environment, request, in their
                                                           order; NULL is none */
        const struct template_use *template;            /* or NULL */
        int cancel_fd;
        void (*event)(void *context, const struct engine_event *event); /* or NULL */
        void (*log)(void *context, const struct engine_event *event); /* all but output; or NULL */
        void (*usage)(void *context, const struct engine_usage *usage); /* each sample; or NULL */
        void (*wait)(void *context); /* now and then while something is waited for; or NULL */
        void *context;
        void *log_context; /* of all but `event`, where others may come between */
};

int engine_init(struct engine *engine, const struct engine_options *options, struct error *err);
void engine_done(struct engine *engine);
/* The path of one of our helper programs: what the environment variable says, beside the running
 * program, as in a build tree, as installed. NULL when out of memory. Caller frees. */
char *engine_find_helper(const char *name, const char *variable);
/* What lies beside a helper that was found: installed, or in a build tree in a room of its own;
 * NULL: nothing there. */
char *engine_find_beside(const char *helper, const char *name, const char *room);
/* The same beside the engine's helper; NULL, with the error, where it is not there. */
char *engine_need_beside(const struct engine *engine, const char *name, const char *room,
                         struct error *err);
/* The program of static analysis, be it there or not; NULL: no memory. Looked for when it is first
 * wanted. */
const char *engine_analyze_path(struct engine *engine);

/* Runs it. A refusal and a failure of ours are results too; an error means that the request was
 * wrong and nothing ran. */
int engine_run(struct engine *engine, const struct engine_order *order, struct result **ret_result,
               struct error *err);

/* Compiles the code and runs nothing. `ret_program` is filled where the result is "ok"; the request
 * must outlive it. */
int engine_compile(struct engine *engine, const struct engine_order *order,
                   struct engine_program *ret_program, struct result **ret_result,
                   struct error *err);
void engine_program_done(struct engine_program *program);

/* Static analysis alone: the report as JSON. Nothing runs. Caller frees; NULL with an error. */
char *engine_check(struct engine *engine, const struct engine_order *order, struct error *err);

/* What one turn of a program that takes turns came to; all is borrowed. */
struct engine_turn_stream {
        const char *data; /* or NULL */
        size_t length;
        uint64_t bytes; /* dropped ones included */
        bool truncated;
};

struct engine_turn {
        const char *turn_of; /* id of the program's run, or NULL */
        const char *status, *message;
        int exit_code, signal;
        uint64_t wall_ns, memory_peak;
        struct engine_turn_stream out, err;
};

/* Records the turn as a run of its own: that of the order, which is not run. What cannot be kept is
 * none of the turn's business, as for a run. */
int engine_record_turn(struct engine *engine, const struct engine_order *order,
                       const struct engine_turn *turn, char ret_id[CLOCK_ULID_MAX],
                       struct error *err);

/* stages.c: what a policy can say that this build cannot do is an error. */
int engine_check_policy(const struct policy_values *policy, struct error *err);

/* limits.c: the limits that suit a language, as the layer that lies below every other. It owns
 * nothing. */
void engine_language_layer(const struct language *language, struct policy *ret_layer);

/* Whether runs may find a container ready. */
static inline bool engine_is_warm(const struct engine *engine)
{
        return engine->nests || engine->keeper_path;
}

/* nests.c: all zero where nothing is kept warm. */
struct engine_stats engine_stats(struct engine *engine);

/* doctor.c: what this machine gives this user, tried for real. Caller frees. */
char *engine_doctor_json(struct engine *engine, struct error *err);
/* languages.c: each language as JSON. Caller frees. */
char *engine_languages_json(struct engine *engine, struct error *err);
/* The name of the language that is called so, and the error where there is none. Caller frees. */
char *engine_language_name(const struct engine *engine, const char *name, struct error *err);
int engine_unknown_language(const struct engine *engine, const char *name, struct error *err);

#endif
