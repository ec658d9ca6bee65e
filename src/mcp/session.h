/*
 * Sessions: a workspace that stays, and for some languages a live interpreter in it.
 *
 * A session is used by one call at a time: session_take() waits for its turn, session_give() ends
 * it. Only who has taken it touches its fields, but for those that name a lock.
 */
#ifndef MCP_SESSION_H
#define MCP_SESSION_H

#include "mcp/live.h"
#include "mcp/workspace.h"

/* What the policy says for a language that the server itself must keep. */
struct rules {
        uint64_t disk_bytes; /* of a workspace */
        uint64_t caps[3];    /* [1], [2]: bytes of output that are kept */
        double timeout;      /* seconds of a call */
        bool blocks;         /* static analysis decides before a run */
};

struct session {
        struct session *next; /* guarded by server.lock */
        bool busy;            /* guarded by server.lock */
        char id[MCP_ID_MAX + 1];
        char *language; /* owned */
        char *path;     /* owned: its workspace */
        int folder;     /* owned: the same; changed under server.lock; -1: not yet */
        bool was_there; /* before the session: it is the user's, and stays */
        struct rules rules;
        struct strlist packages;
        char *packages_folder; /* owned: where they are listed, or NULL */
        struct live *live;     /* owned; changed under server.lock; NULL: not running */
        bool state_was_lost;   /* the next call is told */
        unsigned calls;        /* written under server.lock */
        uint64_t last_used_ns; /* guarded by server.lock */
};

/* Whether a call need not wait: its session, where there is one, becomes busy for it. The lock is
 * held. */
bool session_reserve(struct call *call);
/* Gives back what was reserved and not taken. */
void session_release(struct call *call);
/* NULL: there is none, or the call was cancelled; the answer says so. */
struct session *session_take(struct call *call, const char *id, struct answer *answer);
void session_give(struct server *server, struct session *session);
/* Takes the one that it makes. `id` may be NULL. */
struct session *session_new(struct call *call, const char *id, const char *language,
                            struct answer *answer);
/* Gives it back, for good: interpreter and files go, unless the folder was there before. */
int session_destroy(struct server *server, struct session *session, struct error *err);
/* Writes a file of its workspace, within the limit 'disk'. */
int session_write(const struct session *session, const char *path, const void *data, size_t length,
                  struct error *err);
/* A descriptor of its workspace, also while it is busy: for reading what is there. -1: there is no
 * such session. Caller closes. */
int session_folder(struct server *server, const char *id);
/* A request works in its workspace, or on a copy where that is not to be written. */
int session_place(const struct server *server, const struct session *session, sbx_request *req,
                  sbx_error **err);
/* Ends the interpreter; the files stay. */
void session_stop(struct server *server, struct session *session);
/* Makes sure that one runs. */
int session_start(struct server *server, struct session *session, struct error *err);
/* What list_sessions tells of it. The lock is held, or the session taken. */
json_t *session_info(const struct session *session);
/* idle.c: from now on interpreters that nobody used for too long are ended. */
int sessions_watch_idle(struct server *server, struct error *err);
/* Ends all. No call runs any more, and none will. */
void sessions_end(struct server *server);

/* scratch.c: the folders of the server. */
int scratch_open(struct server *server, const char *root, struct error *err);
void scratch_close(struct server *server);
/* A new folder in it; its path, or NULL with errno. Caller frees, and removes. */
char *scratch_folder(struct server *server);

/* request.c: requests as the server makes them. */
int rules_read(const struct server *server, const char *language, struct rules *ret_rules,
               struct error *err);
/* For a language (NULL: found by the code) under the server's policy. */
int request_make(struct server *server, const char *language, sbx_request **ret_req,
                 struct error *err);
/* Adds a list of packages, if there are any, written into a folder that the caller removes once the
 * run is over. */
int request_add_packages(struct server *server, sbx_request *req, const char *language,
                         const struct strlist *packages, char **ret_folder, struct error *err);
int request_add_arguments(sbx_request *req, const json_t *words, struct error *err);
int request_read_packages(const json_t *array, struct strlist *ret_packages, struct error *err);
/* The bytes of {"content", "encoding"}. Caller frees. */
int request_content(const json_t *object, char **ret_data, size_t *ret_length, struct error *err);
/* The same of one of a call's `files`, and its path, which is borrowed. */
int request_file(const json_t *file, const char **ret_path, char **ret_data, size_t *ret_length,
                 struct error *err);

#endif
