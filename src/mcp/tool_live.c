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
        if (outcome->result) {
                (void)json_object_set_new(result, "id",
                                          json_string(sbx_result_id(outcome->result)));
                if (sbx_result_signal(outcome->result))
                        (void)json_object_set_new(result, "signal",
                                                  json_integer(sbx_result_signal(outcome->result)));
        }
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

static int tell(struct call *call, const struct task *task, struct session *session,
                const struct live_outcome *outcome, const struct workspace_list *before,
                struct answer *answer)
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
static int is_blocked(struct call *call, const struct task *task, const struct session *session,
                      struct answer *answer, struct error *err)
{
        sbx_request *req = NULL;
        sbx_error *failure = NULL;
        struct outcome_stream none[3] = { { "", 0, false }, { "", 0, false }, { "", 0, false } };
        char *text = NULL;
        json_t *report, *result;
        const char *reason;
        int r = call->server->blocks ? request_make(call->server, task->language, &req, err) : 0;

        if (r < 0 || !call->server->blocks)
                return r;
        if (sbx_request_set_code(req, json_string_value(task->code), json_string_length(task->code),
                                 &failure) == 0)
                text = sbx_check(call->server->runs, req, &failure);
        sbx_request_free(req);
        if (!text)
                return report_take(err, failure);
        report = json_loads(text, JSON_ALLOW_NUL, NULL);
        sbx_string_free(text);
        reason = json_string_value(json_object_get(report, "blocked"));
        if (reason) {
                result = new_result(session);
                set_status(result, "blocked", reason);
                r = outcome_tell(call->server, answer, result, none) < 0 ? error_set_nomem(err) : 1;
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
                        r = session_write(call->server, session, path, data, length, err);
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

int task_run_live(struct call *call, const struct task *task, struct session *session,
                  struct answer *answer)
{
        struct server *server = call->server;
        AUTO_WORKSPACE_LIST struct workspace_list before = { 0 };
        struct live_outcome outcome = { 0 };
        struct error error = { 0 };
        char *text = NULL;
        int r = is_blocked(call, task, session, answer, &error);

        if (r > 0)
                return 0;
        if (r == 0)
                r = write_files(call, task, session, &error);
        if (r == 0)
                r = workspace_list(session->folder, &before, &error);
        if (r == 0)
                r = ensure_packages(server, task, session, &error);
        if (r == 0)
                r = ensure_live(server, session, &error);
        if (r < 0)
                return answer_refuse(answer, "Not run: %s.%s%s", error.message,
                                     error.hint[0] ? " Remedy: " : "", error.hint);
        text = task_text(task);
        r = -1;
        if (text && call_runs(call, session->live->req))
                r = live_run(session->live, call, text, (uint64_t)(task->timeout * 1000), &outcome);
        (void)call_runs(call, NULL);
        free(text);
        if (r == 0)
                r = tell(call, task, session, &outcome, &before, answer);
        if (outcome.ended) {
                session_stop(server, session);
                /* Nobody hears the answer of a call that was cancelled. */
                session->state_was_lost = call_is_cancelled(call);
        }
        return r;
}
