/*
 * The Model Context Protocol server: messages on standard input to calls of sandbox.h and back.
 *
 * Theory of operation. The main thread reads lines and answers what needs no work itself. Every
 * other request becomes a `call`, which waits in a queue for one of a few worker threads. All that
 * is written goes through one thread (out.c), so that neither a slow reader nor a hostile guest
 * can mix up two messages, and no thread that watches a guest waits for the reader. A call
 * that is cancelled cancels the request that it runs; when standard input ends, all are.
 *
 * Locks: `server.lock` guards calls and sessions and is never held across a run or a write. A
 * session is used by one call at a time (`busy`), which then owns its other fields. A call whose
 * session is busy stays in the queue and costs no worker. Interpreters that nobody uses are ended
 * by a thread of their own, since that can take a while (idle.c).
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        MCP_LINE_MAX = 48 << 20,   /* bytes of one message: code and files with their escapes */
        MCP_VALUES_MAX = 200000,   /* values in one message: each takes much more than it is long */
        MCP_BATCH_MAX = 100,       /* messages in a batch */
        MCP_CALLS_MAX = 1024,      /* in flight */
        MCP_BYTES_MAX = 128 << 20, /* of the messages of calls in flight */
        MCP_WORKERS_MAX = 32,      /* at once */
        MCP_SESSIONS_MAX = 256,    /* the most that --max-sessions may say */
        MCP_ID_MAX = 64,           /* bytes of a session's name */
        MCP_FILE_MAX = 8 << 20,    /* bytes of one file that is read, written or handed in */
        MCP_READ_DEFAULT = 1 << 20, /* bytes that read_file gives unless told */
        MCP_FILES_LISTED = 1000,    /* of a workspace */
        MCP_DEPTH_MAX = 32,         /* folders below a workspace */
        MCP_PATH_MAX = 1024,        /* bytes of a path in a workspace */
        MCP_IMAGES_MAX = 8,         /* that come back from one call */
        MCP_IMAGE_BYTES = 4 << 20,  /* of one of them */
        MCP_TEXT_MAX = 64 << 10,    /* bytes of one stream in the text for a model */
        MCP_LINKS_MAX = 32,         /* files that one answer links to */
};

/* JSON-RPC, and what the protocol adds. */
enum {
        RPC_PARSE_ERROR = -32700,
        RPC_INVALID_REQUEST = -32600,
        RPC_METHOD_NOT_FOUND = -32601,
        RPC_INVALID_PARAMS = -32602,
        RPC_INTERNAL_ERROR = -32603,
        RPC_NO_RESOURCE = -32002,         /* up to 2025-11-25 */
        RPC_UNSUPPORTED_VERSION = -32022, /* from 2026-07-28 on */
};

/* Revisions, oldest first. From MCP_2026_07_28 on there is no handshake: each request says its own.
 */
enum mcp_version {
        MCP_NONE,
        MCP_2024_11_05,
        MCP_2025_03_26,
        MCP_2025_06_18,
        MCP_2025_11_25,
        MCP_2026_07_28,
};

struct session;
struct batch;

struct server {
        const char *program; /* borrowed: the path of `sandbox` */
        sbx_engine *runs;    /* owned: what clients ask for, which can only tighten the policy */
        sbx_engine *drivers; /* owned: our own programs, the interpreters of sessions */
        sbx_policy *policy;  /* owned */
        struct strlist languages; /* those that may run; none: all */
        char *scratch;            /* owned: a folder of ours, which goes when we end */
        int scratch_fd;           /* owned: locked while we live */
        char *root;               /* owned: the folder of all workspaces */
        int root_fd;              /* owned */
        bool keeps_workspaces;    /* the folder is the user's: what is in it stays when we end */
        bool read_only;
        unsigned max_sessions;
        uint64_t idle_ms;
        bool no_packages;            /* nobody may have any installed */
        json_t *known;               /* owned: the languages, as the library tells of them */
        json_t *tools;               /* owned: what tools/list gives */
        char id[CLOCK_ULID_MAX + 4]; /* the name of our runs in the records */
        enum mcp_version version;    /* agreed upon; the main thread's */
        int wake_fd;                 /* written where the main thread is to look */
        struct out *out;             /* owned */

        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct call *queue;    /* guarded by lock: waiting, oldest first */
        struct call *calls;    /* guarded by lock: all in flight */
        unsigned call_count;   /* guarded by lock */
        size_t call_bytes;     /* guarded by lock: of the messages that they came in */
        size_t line_bytes;     /* of the message at hand, for the first call in it */
        unsigned workers;      /* guarded by lock */
        unsigned idle_workers; /* guarded by lock */
        bool closing;          /* guarded by lock */
        pthread_t idle_thread; /* joined by sessions_end() */
        bool has_idle_thread;
        struct session *sessions; /* guarded by lock */
        unsigned session_count;   /* guarded by lock */
};

/* ---- out.c: everything that is written to standard output ---- */

/* By the thread that reads requests. */
struct out *out_new(int fd, int wake_fd);
/* Waits until the last line is written, or `wait_ms` have passed; then nothing is written any more.
 */
void out_close(struct out *out, uint64_t wait_ms);
/* False while too much is unread: nothing more should be asked. */
bool out_has_room(struct out *out);
/* Takes the message. Waits while too much is unread, but on the thread that reads requests. */
void out_send(struct out *out, json_t *message);
/* Takes the message, which is dropped while others wait. */
void out_send_if_idle(struct out *out, json_t *message);
bool out_is_idle(struct out *out);

/* ---- rpc.c: the form of messages ---- */

enum message_kind { MESSAGE_REQUEST, MESSAGE_NOTIFICATION, MESSAGE_RESPONSE, MESSAGE_BAD };

struct message {
        enum message_kind kind;
        json_t *id;          /* borrowed from the value, or NULL */
        const char *method;  /* borrowed */
        json_t *params;      /* borrowed, or NULL */
        const char *problem; /* of a bad one */
};

/* The value of a line, or NULL where it is no JSON. */
json_t *rpc_parse(const char *line, size_t length);
void rpc_read(json_t *value, struct message *ret_message);
/* New messages; all take what they are given, and are NULL when out of memory. */
json_t *rpc_result(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, int code, const char *text, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);
/* Text of a guest as JSON: what is no UTF-8 becomes U+FFFD. */
json_t *rpc_text(const char *data, size_t length);
/* A string without NUL bytes, or NULL. */
const char *rpc_string(const json_t *object, const char *key);

/* ---- calls.c: requests in flight ---- */

/* A method of the protocol; one of the two functions is set. Both give a new result, or fail. */
struct method {
        const char *name;
        enum mcp_version since, until;
        bool is_cacheable; /* its result says for how long, where the revision knows that */
        json_t *(*at_once)(struct server *server, enum mcp_version version);
        int (*run)(struct call *call, json_t **ret_result);
};

struct call {
        struct call *next;         /* guarded by server.lock: of all */
        struct call *next_waiting; /* guarded by server.lock */
        struct server *server;
        json_t *id;                  /* owned */
        json_t *params;              /* owned, or NULL */
        const struct method *method; /* borrowed */
        enum mcp_version version;
        struct batch *batch;      /* counted reference, or NULL */
        struct session *reserved; /* guarded by server.lock: busy for this call, not yet taken */
        bool cancelled;           /* guarded by server.lock */
        bool settled;             /* guarded by server.lock: too late to cancel it */
        sbx_request *running;     /* guarded by server.lock: what a cancellation ends; borrowed */
        size_t bytes;             /* of its message */
        int error_code;           /* where `run` fails: what is answered */
        char error_text[512];
        json_t *progress_token; /* borrowed from params, or NULL */
        uint64_t started_ns;
        double progress_total; /* seconds that it may take; 0: not known */
        double progress_told;
        uint64_t progress_ns;  /* when it was told last; 0: never */
        struct strbuf unheard; /* output that was not told yet */
};

/* Answers at once where there are too many. Takes `batch`. */
void calls_add(struct server *server, const struct message *message, enum mcp_version version,
               const struct method *method, struct batch *batch);
void calls_cancel(struct server *server, const json_t *id);
/* Ends all, and waits until nothing of them runs. */
void calls_end(struct server *server);
bool calls_has(struct server *server, const json_t *id);
/* The call runs this from now on (NULL: nothing). False: it is cancelled, and must not start. */
bool call_runs(struct call *call, sbx_request *req);
bool call_is_cancelled(struct call *call);
/* What the call ran has ended by itself: from now on it can no longer be cancelled, and its answer
 * will be sent. False: it was cancelled before, and what it ran with it. */
bool call_settle(struct call *call);
/* Fails the call with an error of the protocol; returns -1. */
int call_fail(struct call *call, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* Output that came, or none: told to whoever asked for progress. Never waits. */
void call_progress(struct call *call, const char *data, size_t length);

/* A batch of the revision 2025-03-26: one array of answers. */
struct batch *batch_new(struct out *out);
struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch); /* the last one sends */
/* Takes the answer; without a batch it is sent. */
void answer_send(struct server *server, struct batch *batch, json_t *answer);

/* ---- dispatch.c ---- */

void dispatch_line(struct server *server, const char *line, size_t length);
void dispatch_too_long(struct server *server);
const char *version_name(enum mcp_version version);
/* What a revision wants in every result. Takes it. */
json_t *dispatch_result(json_t *result, enum mcp_version version, bool is_cacheable);

/* ---- schema.c ---- */

/* The arguments that name packages to be installed; ends with NULL. */
extern const char *const schema_packages[];
/* The tools as they are listed. NULL when out of memory. */
json_t *schema_load_tools(bool read_only, bool no_packages);
/* Whether the value fits; else the reason. */
bool schema_check(const json_t *schema, const json_t *value, const char *name, char *reason,
                  size_t size);

/* ---- answer.c: what a tool gives ---- */

struct answer {
        json_t *content;    /* array */
        json_t *structured; /* or NULL */
        bool is_error;
};

void answer_text(struct answer *answer, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* A paragraph for the model: the call could not be done. Returns 0. */
int answer_refuse(struct answer *answer, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
int answer_refuse_error(struct answer *answer, sbx_error *err); /* takes it */
void answer_add(struct answer *answer, json_t *item);           /* takes it */
/* The structured value and, for readers of text, the same as text. Takes it. */
int answer_value(struct answer *answer, json_t *value);

/* ---- tools ---- */

typedef int (*tool_function)(struct call *call, const json_t *arguments, struct answer *answer);
int tool_run_code(struct call *call, const json_t *arguments, struct answer *answer);
int tool_run_python_code(struct call *call, const json_t *arguments, struct answer *answer);
int tool_execute_code(struct call *call, const json_t *arguments, struct answer *answer);
int tool_check_code(struct call *call, const json_t *arguments, struct answer *answer);
int tool_list_languages(struct call *call, const json_t *arguments, struct answer *answer);
int tool_get_limits(struct call *call, const json_t *arguments, struct answer *answer);
int tool_history(struct call *call, const json_t *arguments, struct answer *answer);
int tool_create_session(struct call *call, const json_t *arguments, struct answer *answer);
int tool_list_sessions(struct call *call, const json_t *arguments, struct answer *answer);
int tool_reset_session(struct call *call, const json_t *arguments, struct answer *answer);
int tool_destroy_session(struct call *call, const json_t *arguments, struct answer *answer);
int tool_write_file(struct call *call, const json_t *arguments, struct answer *answer);
int tool_read_file(struct call *call, const json_t *arguments, struct answer *answer);
int tool_list_files(struct call *call, const json_t *arguments, struct answer *answer);

/* tools.c: tools/call. */
int tools_call(struct call *call, json_t **ret_result);
/* tool_info.c: the language's own name for a name or alias that may run here, or NULL, and the
 * answer says so. Borrowed from the server. */
const char *tools_language(struct server *server, const char *word, struct answer *answer);

/* resources.c */
int resources_list(struct call *call, json_t **ret_result);
int resources_read(struct call *call, json_t **ret_result);
json_t *resources_templates(void);

/* ---- outcome.c: what a run gave ---- */

struct outcome_stream {
        const char *data; /* borrowed */
        size_t length;
        bool truncated;
};

/* Fills the answer from what happened, with the fields of the result in `result`, which is taken:
 * status, success, message and so on. `streams` are [1] and [2]. */
int outcome_tell(const struct server *server, struct answer *answer, json_t *result,
                 const struct outcome_stream streams[3]);
/* The fields that a result has; NULL when out of memory. */
json_t *outcome_fields(const sbx_result *result, const char *session_id);
/* teach.c: what was refused, why, what to do instead; or NULL. Caller frees. */
char *teach(const struct server *server, const json_t *result, const char *error_output,
            size_t length, bool in_session);

/* ---- texts, embedded by the build ---- */

extern const char mcp_tools_json[];
extern const char mcp_session_py[];
extern const char mcp_session_js[];

#endif
