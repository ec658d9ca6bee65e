/* What a keeper is asked for by people: what it has, and to end. */
#include "engine/keeper.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"

#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { END_WAIT_MS = 30000 };

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
                return refuse_nobody(path, err);
        if (message_send(connection, &wish, sizeof(wish), NULL, 0) < 0 ||
            message_receive(connection, 0, ret_state, sizeof(*ret_state), &pidfd, 1, &count) <= 0 ||
            count != 1 || ret_state->magic != KEEPER_MAGIC || ret_state->row_count > NESTS_ROWS_MAX)
                return refuse_strange(path, err);
        *ret_connection = fd_take(&connection);
        *ret_pidfd = fd_take(&pidfd);
        return 0;
}

static json_t *describe_row(const struct nests_row *row)
{
        const char *way = !row->language[0] ? "none" : row->is_once ? "once" : "fork";

        return json_pack("{s:o, s:s, s:i, s:i, s:i, s:I, s:f}", "language",
                         row->language[0] ? json_string(row->language) : json_null(), "warm", way,
                         "ready", (int)row->ready, "in_use", (int)row->in_use, "interpreters",
                         (int)row->parked, "memory", (json_int_t)row->memory, "asked",
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
        struct keeper_state state;
        json_t *root;
        char *text;

        if (ask(path, KEEPER_TELL, &connection, &state, &pidfd, err) < 0)
                return NULL;
        for (uint32_t i = 0; i < state.row_count; i++)
                state.rows[i].language[NEST_LANGUAGE_MAX - 1] = '\0';
        root = describe(path, &state);
        text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
        json_decref(root);
        if (!text)
                (void)error_set_nomem(err);
        return text;
}

int keeper_end(const char *path, struct error *err)
{
        AUTO_CLOSE int connection = -1;
        AUTO_CLOSE int pidfd = -1;
        struct pollfd gone = { .events = POLLIN };
        struct keeper_state state;
        int r = ask(path, KEEPER_END, &connection, &state, &pidfd, err);

        if (r < 0)
                return r;
        gone.fd = pidfd;
        if (poll(&gone, 1, END_WAIT_MS) > 0)
                return 0;
        r = error_set(err, SBX_ESYSTEM, "the keeper has not ended after %d s", END_WAIT_MS / 1000);
        error_hint(err, "kill -KILL %d ends it and what it keeps", (int)state.pid);
        return r;
}
