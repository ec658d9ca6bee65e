/*
 * A live interpreter: one contained program that takes task after task and keeps its variables.
 *
 * Theory of operation. The program is session.py or session.js, started through sandbox.h with
 * turns. A task goes down its standard input. What it prints is heard by the event handler, on the
 * thread that watches the run, and collected up to the policy's caps until the mark of the task's
 * nonce is seen on both streams. The guest can read the nonce in its own memory and print the mark
 * itself: it then only ends its own task sooner, with an exit code of its choice. Everything that
 * comes from it is the guest's word, and is answered as such.
 */
#ifndef MCP_LIVE_H
#define MCP_LIVE_H

#include "mcp/mcp.h"

enum { LIVE_NONCE = 32, LIVE_MARK = LIVE_NONCE + 6, LIVE_ID_MAX = 64 };

struct rules;

struct live_stream {
        struct strbuf kept;
        uint64_t bytes; /* of the task, those that were dropped included */
        bool truncated;
        bool ended;
        char held[LIVE_MARK]; /* what may be the beginning of a mark */
        size_t held_length;
};

struct live {
        sbx_request *req;   /* owned */
        sbx_engine *engine; /* borrowed */
        pthread_t thread;
        int input;        /* owned: writing end of its standard input */
        int input_reader; /* owned: the other end */
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct live_stream streams[3]; /* [1], [2]; guarded by lock */
        uint64_t caps[3];
        char nonce[LIVE_NONCE + 1]; /* guarded by lock; empty: no task */
        int exit_code;              /* guarded by lock */
        char id[LIVE_ID_MAX];       /* guarded by lock: of the run; empty: it has not begun */
        bool over;                  /* guarded by lock: the program has ended */
        sbx_result *result;         /* owned; set before `over`: how */
        sbx_error *err;             /* owned; likewise: why there is no result */
        struct call *call;          /* guarded by lock: who hears of progress, or NULL */
        uint64_t memory;            /* atomic: bytes, as of the last sample */
        uint64_t memory_peak;       /* guarded by lock */
};

/* What one task did. Streams are borrowed from the interpreter until its next task. */
struct live_outcome {
        bool ended;               /* the interpreter: `result` says how, where there is one */
        const sbx_result *result; /* borrowed from the interpreter, or NULL */
        const sbx_error *err;     /* likewise */
        int exit_code;
        double seconds;
        uint64_t memory_peak;
        struct outcome_stream streams[3];
        uint64_t bytes[3];    /* of them, those that were dropped included */
        char id[LIVE_ID_MAX]; /* of the interpreter's run */
};

const char *live_driver(const char *language); /* its program, or NULL: the language has none */
/* `req` has language, workspace and policy set, and is taken, also on failure. */
int live_new(struct server *server, sbx_request *req, const struct rules *rules,
             const char *language, struct live **ret_live, sbx_error **err);
/* `task` is the JSON of the task; `timeout_ms` may be 0. */
int live_run(struct live *live, struct call *call, const char *task, uint64_t timeout_ms,
             struct live_outcome *ret_outcome);
bool live_is_over(struct live *live);
uint64_t live_memory(struct live *live);
/* Ends it; NULL is nothing. */
void live_free(struct live *live);

#endif
