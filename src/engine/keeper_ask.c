/* What a keeper is asked for by people: what it has, and to end. */
#include "engine/keeper.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"

#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { END_WAIT_MS = 30000, SILENT_LOOKS = 30, SILENT_LOOK_MS = 100 };

static int refuse_long(struct error *err)
{
        return error_set(err, SBX_EINVAL,
                         "the path of the socket is too long: no keeper can listen there");
}

static int refuse_nobody(const char *path, struct error *err)
{
        int r = error_set(err, SBX_ESYSTEM, "no keeper of yours listens on '%s'", path);

        error_hint(err, "'sandbox keeper &' starts one; --socket names another place");
        return r;
}

/* One of another version hangs up. */
static int refuse_strange(const char *path, struct error *err)
{
        int r = error_set(err, SBX_ESYSTEM,
                          "the keeper on '%s' does not answer: it is busy, or of another version",
                          path);

        error_hint(err, "ask again; or end it with SIGTERM, and start this version's");
        return r;
}

/* 1 where somebody listens and does not answer. */
static int ask(const char *path, enum keeper_want want, int *ret_connection,
               struct keeper_state *ret_state, int *ret_pidfd, struct error *err)
{
        const struct keeper_wish wish = { .magic = KEEPER_MAGIC,
                                          .version = KEEPER_VERSION,
                                          .want = want };
        AUTO_CLOSE int connection = keeper_connect(path);
        AUTO_CLOSE int pidfd = -1;
        size_t count = 0;

        if (connection < 0)
                return strlen(path) >= sizeof((struct sockaddr_un){ 0 }.sun_path)
                               ? refuse_long(err)
                               : refuse_nobody(path, err);
        if (message_send(connection, &wish, sizeof(wish), NULL, 0) < 0 ||
            message_receive(connection, 0, ret_state, sizeof(*ret_state), &pidfd, 1, &count) <= 0 ||
            count != 1 || ret_state->magic != KEEPER_MAGIC || ret_state->row_count > NESTS_ROWS_MAX)
                return 1;
        *ret_connection = fd_take(&connection);
        *ret_pidfd = fd_take(&pidfd);
        return 0;
}

static json_t *describe_row(const struct nests_row *row)
{
        const char *way = !row->language[0] ? "none" : row->is_once ? "once" : "fork";
        char language[NEST_LANGUAGE_MAX];

        keeper_copy_language(row->language, language);
        return json_pack("{s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:f}", "language",
                         language[0] ? json_string(language) : json_null(), "memory_limit",
                         (json_int_t)row->memory_limit, "warm", way, "ready",
                         (json_int_t)row->ready, "in_use", (json_int_t)row->in_use, "interpreters",
                         (json_int_t)row->parked, "memory", (json_int_t)row->memory, "asked",
                         (double)row->asked_ms / 1e3);
}

static json_t *describe(const char *path, const struct keeper_state *state)
{
        const struct engine_stats *stats = &state->stats;
        json_t *kinds = json_array();

        for (uint32_t i = 0; i < state->row_count; i++)
                (void)json_array_append_new(kinds, describe_row(&state->rows[i]));
        return json_pack("{s:s, s:i, s:f, s:o, s:i, s:I, s:I, s:I, s:I, s:I, s:i, s:o}", "socket",
                         path, "pid", (int)state->pid, "uptime", (double)state->up_ms / 1e3,
                         "ends_in",
                         state->idle_ms ? json_real((double)state->left_ms / 1e3) : json_null(),
                         "commands", (int)state->connections, "hatched", (json_int_t)stats->hatched,
                         "forked", (json_int_t)stats->forked, "missed", (json_int_t)stats->missed,
                         "ended", (json_int_t)stats->ended, "failures", (json_int_t)stats->failures,
                         "making", (int)stats->making, "kinds", kinds);
}

char *keeper_tell_json(const char *path, struct error *err)
{
        AUTO_CLOSE int connection = -1;
        AUTO_CLOSE int pidfd = -1;
        struct keeper_state state = { 0 };
        json_t *root;
        char *text;
        int r;

        r = ask(path, KEEPER_TELL, &connection, &state, &pidfd, err);
        if (r > 0)
                (void)refuse_strange(path, err);
        if (r != 0)
                return NULL;
        root = describe(path, &state);
        text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
        json_decref(root);
        if (!text)
                (void)error_set_nomem(err);
        return text;
}

/* Whether it is readable, which is what the end of either looks like. */
static bool has_ended(int fd)
{
        struct pollfd end = { .fd = fd, .events = POLLIN };

        return poll(&end, 1, END_WAIT_MS) > 0;
}

/* One that is about to end, since somebody else said so, answers nobody any more. */
static int wait_for_silent(const char *path, struct error *err)
{
        for (int i = 0; i < SILENT_LOOKS; i++) {
                AUTO_CLOSE int connection = keeper_connect(path);

                if (connection < 0)
                        return 0;
                (void)poll(NULL, 0, SILENT_LOOK_MS);
        }
        return refuse_strange(path, err);
}

int keeper_end(const char *path, struct error *err)
{
        AUTO_CLOSE int connection = -1;
        AUTO_CLOSE int pidfd = -1;
        struct keeper_state state = { 0 };
        int r = ask(path, KEEPER_END, &connection, &state, &pidfd, err);

        if (r > 0)
                return wait_for_silent(path, err);
        if (r < 0 || (has_ended(connection) && (!state.serves_alone || has_ended(pidfd))))
                return r;
        r = error_set(err, SBX_ESYSTEM, "the keeper has not ended after %d s", END_WAIT_MS / 1000);
        if (state.serves_alone)
                error_hint(err, "kill -KILL %d ends it and what it keeps", (int)state.pid);
        return r;
}
