/* Code in the live interpreter of a session. */
#include "mcp/media.h"
#include "mcp/task.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* The task as the interpreter reads it. jansson's allocation; NULL when out of memory. */
static char *task_text(const struct task *task)
{
        json_t *words = task->args ? json_incref((json_t *)(uintptr_t)task->args) : json_array();
        json_t *input = task->stdin_text ? json_incref((json_t *)(uintptr_t)task->stdin_text)
                                         : json_string("");
        json_t *value =
                json_pack("{s:O, s:o, s:o}", "code", task->code, "stdin", input, "args", words);
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);

        json_decref(value);
        return text;
}

static json_t *new_result(const struct session *session)
{
        return json_pack("{s:n, s:s, s:s, s:s, s:b, s:n, s:n, s:n, s:s, s:s, s:s, s:b, s:b, s:f, "
                         "s:n, s:n, s:{s:[], s:[], s:[]}, s:[], s:b}",
                         "id", "session_id", session->id, "language", session->language, "status",
                         "ok", "success", 1, "exit_code", "signal", "message", "stdout", "",
                         "stderr", "", "encoding", "utf-8", "stdout_truncated", 0,
                         "stderr_truncated", 0, "execution_time", 0.0, "cpu_time", "memory_used",
                         "files", "created", "modified", "deleted", "violations", "state_lost", 0);
}

static void set_status(json_t *result, const char *status, const char *message)
{
        (void)json_object_set_new(result, "status", json_string(status));
        (void)json_object_set_new(result, "success", json_boolean(strcmp(status, "ok") == 0));
        if (message)
                (void)json_object_set_new(result, "message", rpc_text(message, strlen(message)));
}

/* Text as it is, or all of it as base64 where one of the two is none. */
static void set_streams(json_t *result, const struct outcome_stream streams[3])
{
        bool is_text = str_is_utf8(streams[1].data, streams[1].length) &&
                       str_is_utf8(streams[2].data, streams[2].length);

        (void)json_object_set_new(result, "encoding", json_string(is_text ? "utf-8" : "base64"));
        for (int i = 1; i <= 2; i++) {
                AUTO_FREE char *coded =
                        is_text ? NULL : str_base64(streams[i].data, streams[i].length);

                (void)json_object_set_new(result, i == 1 ? "stdout" : "stderr",
                                          is_text ? json_stringn(streams[i].data, streams[i].length)
                                                  : json_string(coded));
                (void)json_object_set_new(result, i == 1 ? "stdout_truncated" : "stderr_truncated",
                                          json_boolean(streams[i].truncated));
        }
}

static void set_end(json_t *result, const struct task *task, const struct live_outcome *outcome)
{
        const char *status = outcome->result ? sbx_result_status(outcome->result) : "refused";
        const char *message = outcome->result ? sbx_result_message(outcome->result)
                              : outcome->err  ? sbx_error_message(outcome->err)
                                              : "out of memory";
        bool exited = strcmp(status, "ok") == 0 || strcmp(status, "failed") == 0;
        char text[128];

        (void)snprintf(text, sizeof(text), "The code ended the interpreter itself, with code %d",
                       outcome->result ? sbx_result_exit_code(outcome->result) : 0);
        if (exited)
                message = text;
        else if (strcmp(status, "timeout") == 0 && task->timeout > 0) {
                (void)snprintf(text, sizeof(text), "Code execution timed out after %gs",
                               outcome->seconds < task->timeout ? outcome->seconds : task->timeout);
                message = text;
        }
        set_status(result, exited ? "failed" : status, message);
        (void)json_object_set_new(result, "state_lost", json_true());
        if (exited)
                (void)json_object_set_new(result, "exit_code",
                                          json_integer(sbx_result_exit_code(outcome->result)));
        if (outcome->result && sbx_result_signal(outcome->result))
                (void)json_object_set_new(result, "signal",
                                          json_integer(sbx_result_signal(outcome->result)));
}

static void set_task(json_t *result, const struct live_outcome *outcome)
{
        char message[64];

        (void)snprintf(message, sizeof(message), "The program exited with code %d",
                       outcome->exit_code);
        set_status(result, outcome->exit_code ? "failed" : "ok",
                   outcome->exit_code ? message : NULL);
        (void)json_object_set_new(result, "exit_code", json_integer(outcome->exit_code));
}

/* What the call did, as a request of its own: for static analysis, and for the records. */
static int describe(struct call *call, const struct task *task, sbx_request **ret_req,
                    struct error *err)
{
        sbx_error *failure = NULL;
        int r = request_make(call->server, task->language, ret_req, err);

        if (r < 0)
                return r;
        r = sbx_request_set_code(*ret_req, json_string_value(task->code),
                                 json_string_length(task->code), &failure);
        r = r < 0 ? report_take(err, failure) : request_add_arguments(*ret_req, task->args, err);
        if (r < 0) {
                sbx_request_free(*ret_req);
                *ret_req = NULL;
        }
        return r;
}

static int integer_of(const json_t *result, const char *key, int missing)
{
        const json_t *value = json_object_get(result, key);

        return json_is_integer(value) ? (int)json_integer_value(value) : missing;
}

/* Every call has its record, as a run has; its id is in the result. What cannot be kept costs the
 * call nothing. */
static void record(struct call *call, sbx_request *req, const struct live_outcome *outcome,
                   json_t *result)
{
        sbx_turn turn = {
                .size = sizeof(turn),
                .turn_of = outcome->id[0] ? outcome->id : NULL,
                .status = rpc_string(result, "status"),
                .message = rpc_string(result, "message"),
                .exit_code = integer_of(result, "exit_code", -1),
                .signal = integer_of(result, "signal", 0),
                .execution_time = outcome->seconds,
                .memory_used = outcome->memory_peak,
        };
        char *id;

        for (int i = 1; i <= 2; i++) {
                turn.output[i] = outcome->streams[i].data;
                turn.output_length[i] = outcome->streams[i].length;
                turn.output_bytes[i] = outcome->bytes[i];
        }
        id = sbx_turn_record(call->server->runs, req, &turn, NULL);
        if (id)
                (void)json_object_set_new(result, "id", json_string(id));
        sbx_string_free(id);
}

static int tell(struct call *call, const struct task *task, struct session *session,
                const struct live_outcome *outcome, const struct workspace_list *before,
                sbx_request *req, struct answer *answer)
{
        json_t *result = new_result(session);
        int r;

        if (!result)
                return -1;
        set_streams(result, outcome->streams);
        (void)json_object_set_new(result, "execution_time", json_real(outcome->seconds));
        if (outcome->memory_peak > 0) /* a short task ends before the first sample */
                (void)json_object_set_new(result, "memory_used",
                                          json_integer((json_int_t)outcome->memory_peak));
        if (outcome->ended)
                set_end(result, task, outcome);
        else
                set_task(result, outcome);
        record(call, req, outcome, result);
        r = outcome_tell(call->server, answer, result, outcome->streams);
        if (session->state_was_lost || outcome->ended) {
                (void)json_object_set_new(result, "state_lost", json_true());
                answer_text(answer, outcome->ended
                                            ? "The session's interpreter has ended, and its "
                                              "variables are gone; the next call starts a new one. "
                                              "Its files are still there."
                                            : "This call ran in a new interpreter: the session's "
                                              "earlier variables were gone. Its files are still "
                                              "there.");
        }
        if (!call->server->read_only)
                media_add_changes(call, session, before, answer, result);
        session->state_was_lost = false;
        return r;
}

/* What the policy forbids is not run here either. 1: the answer says so. */
static int is_blocked(struct call *call, sbx_request *req, const struct session *session,
                      struct answer *answer, struct error *err)
{
        sbx_error *failure = NULL;
        struct live_outcome none = {
                .streams = { { "", 0, false }, { "", 0, false }, { "", 0, false } }
        };
        char *text;
        json_t *report, *result;
        const char *reason;
        int r = 0;

        if (!session->rules.blocks)
                return 0;
        text = sbx_check(call->server->runs, req, &failure);
        if (!text)
                return report_take(err, failure);
        report = json_loads(text, JSON_ALLOW_NUL, NULL);
        sbx_string_free(text);
        reason = json_string_value(json_object_get(report, "blocked"));
        if (reason) {
                result = new_result(session);
                set_status(result, "blocked", reason);
                record(call, req, &none, result);
                r = outcome_tell(call->server, answer, result, none.streams) < 0
                            ? error_set_nomem(err)
                            : 1;
        }
        json_decref(report);
        return r;
}

static int write_files(const struct call *call, const struct task *task,
                       const struct session *session, struct error *err)
{
        json_t *file;
        size_t index;

        if (json_array_size(task->files) > 0 && call->server->read_only)
                return error_set(err, SBX_EREFUSED,
                                 "this server is read-only: 'files' cannot be "
                                 "put into a session");
        json_array_foreach(task->files, index, file)
        {
                const char *path;
                AUTO_FREE char *data = NULL;
                size_t length;
                int r = request_file(file, &path, &data, &length, err);

                if (r == 0)
                        r = session_write(session, path, data, length, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Packages can only be had from the start: an interpreter without them is ended. */
static int ensure_packages(struct server *server, const struct task *task, struct session *session,
                           struct error *err)
{
        bool has_all = true;

        for (size_t i = 0; i < task->packages.count; i++) {
                bool has = false;

                for (size_t j = 0; j < session->packages.count && !has; j++)
                        has = strcmp(task->packages.items[i], session->packages.items[j]) == 0;
                if (!has && strlist_add(&session->packages, task->packages.items[i]) < 0)
                        return error_set_nomem(err);
                has_all &= has;
        }
        if (!has_all && session->live) {
                session_stop(server, session);
                session->state_was_lost = true;
        }
        return 0;
}

static int ensure_live(struct server *server, struct session *session, struct error *err)
{
        if (session->live && live_is_over(session->live)) {
                session_stop(server, session);
                session->state_was_lost = true;
        }
        return session->live ? 0 : session_start(server, session, err);
}

/* All that comes before the code runs. 1: the answer says why it does not. */
static int get_ready(struct call *call, const struct task *task, struct session *session,
                     sbx_request *req, struct workspace_list *before, struct answer *answer,
                     struct error *err)
{
        int r = is_blocked(call, req, session, answer, err);

        if (r == 0)
                r = write_files(call, task, session, err);
        if (r == 0)
                r = workspace_list(session->folder, before, err);
        if (r == 0)
                r = ensure_packages(call->server, task, session, err);
        if (r == 0)
                r = ensure_live(call->server, session, err);
        return r;
}

static int run_in(struct call *call, const struct task *task, struct session *session,
                  sbx_request *req, const struct workspace_list *before, struct answer *answer)
{
        struct live_outcome outcome = { 0 };
        char *text = task_text(task);
        bool begins = text && call_runs(call, session->live->req), heard;
        int r = begins ? live_run(session->live, call, text, (uint64_t)(task->timeout * 1000),
                                  &outcome)
                       : -1;

        heard = call_settle(call);
        free(text);
        if (r == 0)
                r = tell(call, task, session, &outcome, before, req, answer);
        /* A cancellation that came when the code had just ended ends the interpreter all the same;
         * nobody hears the answer then, so the next call is told. */
        if (begins && (outcome.ended || !heard)) {
                session_stop(call->server, session);
                session->state_was_lost = !heard;
        }
        return r;
}

int task_run_live(struct call *call, const struct task *task, struct session *session,
                  struct answer *answer)
{
        AUTO_WORKSPACE_LIST struct workspace_list before = { 0 };
        struct error error = { 0 };
        sbx_request *req = NULL;
        int r = describe(call, task, &req, &error);

        if (r == 0)
                r = get_ready(call, task, session, req, &before, answer, &error);
        if (r < 0)
                r = answer_refuse(answer, "Not run: %s.%s%s", error.message,
                                  error.hint[0] ? " Remedy: " : "", error.hint);
        else if (r == 0)
                r = run_in(call, task, session, req, &before, answer);
        else
                r = 0;
        sbx_request_free(req);
        return r;
}
