/*
 * The keeper: one process per user that holds an engine with nests for others to borrow. A command
 * asks it over a unix socket for a nest of its kind, runs in it exactly as an engine of its own
 * would, and gives it back; without a keeper it runs by itself.
 *
 * Only the same user is served: whoever asks says what the nest is to be built by. The borrower
 * talks to the nest itself, so streams and signals take no way around. Should it die, its run ends
 * (src/init/nest.c) and the nest is ended; should the keeper die, so do its nests.
 */
#ifndef ENGINE_KEEPER_H
#define ENGINE_KEEPER_H

#include "engine/nests.h"
#include "plan/report.h"

#include <stdint.h>

enum { KEEPER_MAGIC = 0x6b786273, KEEPER_VERSION = 5, KEEPER_FDS_MAX = 16 };

enum keeper_want { KEEPER_LEND, KEEPER_TELL, KEEPER_END };

/* The wish; where it is to lend, with a memory file that holds both plans, one after the other. */
struct keeper_wish {
        uint32_t magic, version;
        uint32_t want;
        char name[HASH_TEXT_MAX];
        char language[NEST_LANGUAGE_MAX];
        uint64_t nest_length, park_length;
        struct cgroup_limits limits;
};

/* The answer; with descriptors of the nest, of its interpreter where there is one, and of the
 * group: a directory for each controller that is there, and what tells when memory ran out; then
 * that of a run that is not known yet, or those of a guest that waits in it. */
struct keeper_answer {
        uint32_t magic;
        uint32_t found, has_park, has_event;
        uint32_t group_version, controllers; /* bit per controller */
        uint64_t park;                       /* which interpreter it is, where it has one */
        uint64_t ahead_park; /* which one a run that is not known yet has a guest of */
        uint32_t has_ahead;
        uint32_t guest_fds;  /* bit per descriptor of a guest that waits; 0: none does */
        struct report ready; /* its own */
        char group_name[CGROUP_NAME_MAX];
};

/* The descriptors of a guest that waits, by their bits in the answer; how many. */
enum { KEEPER_GUEST_FDS = 8 };
void keeper_guest_fds(struct run *guest, int *ret_fds[KEEPER_GUEST_FDS]);

/* A name that another process sent, with nothing in it that a terminal could take for more. */
void keeper_copy_language(const char from[NEST_LANGUAGE_MAX], char to[NEST_LANGUAGE_MAX]);

/* How the nest comes back. */
struct keeper_return {
        uint32_t magic, clean;
        uint32_t is_unanswered; /* as in struct lodging */
};

/* The answer where it was not to lend; with a pidfd of the keeper's. */
struct keeper_state {
        uint32_t magic;
        int32_t pid;
        uint64_t up_ms;
        uint64_t idle_ms, left_ms; /* it ends after so long, and now; 0 in the first: never */
        uint32_t connections;      /* of commands, but for who asks */
        uint32_t serves_alone;     /* its process ends with it */
        uint32_t row_count;
        struct engine_stats stats;
        struct nests_row rows[NESTS_ROWS_MAX];
};

/* keeper_serve.c: serves until `stop_fd` is readable or a command says so: 0; or until nobody
 * came for `idle_ms` (0: ever): 1. */
int keeper_serve(struct engine *engine, int listen_fd, int stop_fd, uint64_t idle_ms,
                 struct error *err);
/* keeper_ask.c: what the keeper at that place has, as JSON; NULL with the error. Caller frees. */
char *keeper_tell_json(const char *path, struct error *err);
/* Ends it, and returns when it serves no more, or its process is gone that did nothing else. */
int keeper_end(const char *path, struct error *err);
/* keeper_borrow.c: a connection to a keeper of this user's, or -1. */
int keeper_connect(const char *path);
/* Takes the connection over where it says true. */
bool keeper_borrow(int connection, const struct nest_kind *kind, struct lodging *ret_lodging);
void keeper_give_back(struct lodging *lodging, bool clean);

#endif
