/* run_code, run_python_code, execute_code. */
#include "mcp/media.h"
#include "mcp/task.h"
#include "cli/cli.h"
#include "base/fd.h"
#include "base/tree.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Variables for the code of run_python_code; errors still speak of its own lines. */
static const char globals_template[] =
        "name: globals\n"
        "language: python\n"
        "placeholders:\n"
        "  code: { description: the code }\n"
        "  variables: { as: json-string, description: names and values, required: true }\n"
        "program: |\n"
        "  import json as _json; globals().update(_json.loads({{variables}})); del _json\n"
        "  {{code}}\n";

static const char *const image_patterns[] = { "*.png", "*.svg", "*.jpg", "*.jpeg", "*.gif" };

static void on_event(const sbx_event *event, void *userdata)
{
        bool is_output = strcmp(event->kind, "stdout") == 0 || strcmp(event->kind, "stderr") == 0;

        if (is_output || strcmp(event->kind, "usage") == 0)
                call_progress(userdata, is_output ? event->data : NULL,
                              is_output ? event->length : 0);
}

static int add_files(sbx_request *req, const struct task *task, struct error *err)
{
        sbx_error *failure = NULL;
        json_t *file;
        size_t index;

        json_array_foreach(task->files, index, file)
        {
                const char *path;
                AUTO_FREE char *data = NULL;
                size_t length;
                int r = request_file(file, &path, &data, &length, err);

                if (r < 0)
                        return r;
                if (sbx_request_add_input(req, path, data, length, &failure) < 0)
                        return report_take(err, failure);
        }
        return 0;
}

static int set_globals(sbx_request *req, const struct task *task, sbx_error **err)
{
        char *text;
        int r;

        if (!task->globals)
                return 0;
        text = json_dumps(task->globals, JSON_COMPACT);
        if (!text)
                return -1;
        r = sbx_request_set_template_text(req, globals_template, strlen(globals_template),
                                          "globals.yaml", err);
        if (r == 0)
                r = sbx_request_set_placeholder(req, "variables", text, strlen(text), err);
        free(text);
        return r;
}

static int set_plain(sbx_request *req, const struct task *task, struct call *call, sbx_error **err)
{
        char timeout[64];
        int r = sbx_request_set_code(req, json_string_value(task->code),
                                     json_string_length(task->code), err);

        (void)snprintf(timeout, sizeof(timeout), "%.0fms",
                       task->timeout * 1000 < 1 ? 1 : task->timeout * 1000);
        if (r == 0 && task->timeout > 0)
                r = sbx_request_set(req, "limits.timeout", timeout, err);
        if (r == 0 && task->stdin_text)
                r = sbx_request_set_stdin(req, json_string_value(task->stdin_text),
                                          json_string_length(task->stdin_text), err);
        if (r == 0)
                r = set_globals(req, task, err);
        if (r == 0 && call->progress_token)
                r = sbx_request_set_event_handler(req, on_event, call, err);
        return r;
}

/* Where the program's files go: the session's folder, or nowhere, but for its images. */
static int set_place(struct server *server, sbx_request *req, const struct session *session,
                     int images_fd, sbx_error **err)
{
        int r = session ? session_place(server, session, req, err) : 0;

        if (session && !server->read_only)
                return r;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(image_patterns); i++)
                r = sbx_request_add_collect(req, image_patterns[i], err);
        return r < 0 ? r : sbx_request_set_collect_fd(req, images_fd, err);
}

/* What one run needs, and what goes with it. */
struct run {
        sbx_request *req;
        char *images;  /* owned: a folder, or NULL */
        int images_fd; /* owned */
        char *list;    /* owned: the folder of the list of packages, or NULL */
};

static void run_done(struct run *run)
{
        sbx_request_free(run->req);
        fd_close(run->images_fd);
        if (run->images)
                (void)tree_remove(run->images); /* else it goes when we end */
        if (run->list)
                (void)tree_remove(run->list);
        mem_free(run->images);
        mem_free(run->list);
}

static int prepare(struct call *call, const struct task *task, const struct session *session,
                   struct run *run, struct error *err)
{
        struct server *server = call->server;
        sbx_error *failure = NULL;
        int r = request_make(server, task->language, &run->req, err);

        if (r < 0)
                return r;
        run->images = scratch_folder(server);
        run->images_fd = run->images ? open(run->images, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (run->images_fd < 0)
                return error_set_errno(err, "make a folder");
        if (set_plain(run->req, task, call, &failure) < 0 ||
            set_place(server, run->req, session, run->images_fd, &failure) < 0)
                return report_take(err, failure);
        r = request_add_arguments(run->req, task->args, err);
        if (r == 0)
                r = add_files(run->req, task, err);
        if (r == 0)
                r = request_add_packages(server, run->req, task->language, &task->packages,
                                         &run->list, err);
        return r;
}

static int tell(struct call *call, const struct session *session, const struct run *run,
                const struct workspace_list *before, const sbx_result *result,
                struct answer *answer)
{
        json_t *fields = outcome_fields(result, session ? session->id : NULL);
        struct outcome_stream streams[3] = { { 0 } };
        int r;

        for (int i = 1; i <= 2; i++) {
                streams[i].data = i == 1 ? sbx_result_stdout(result, &streams[i].length)
                                         : sbx_result_stderr(result, &streams[i].length);
                streams[i].truncated = sbx_result_truncated(result, i);
        }
        r = outcome_tell(call->server, answer, fields, streams);
        if (session && !call->server->read_only)
                media_add_changes(call, session, before, answer, fields);
        else
                media_add_images(answer, run->images_fd);
        return r;
}

int task_run(struct call *call, const struct task *task, struct session *session,
             struct answer *answer)
{
        struct run run = { .images_fd = -1 };
        AUTO_WORKSPACE_LIST struct workspace_list before = { 0 };
        struct error error = { 0 };
        sbx_error *failure = NULL;
        sbx_result *result = NULL;
        int r = prepare(call, task, session, &run, &error);

        if (r == 0 && session)
                r = workspace_list(session->folder, &before, &error);
        if (r < 0) {
                run_done(&run);
                return answer_refuse(answer, "Not run: %s.%s%s", error.message,
                                     error.hint[0] ? " Remedy: " : "", error.hint);
        }
        if (call_runs(call, run.req))
                result = sbx_run(call->server->runs, run.req, &failure);
        (void)call_runs(call, NULL);
        r = result ? tell(call, session, &run, &before, result, answer)
                   : answer_refuse_error(answer, failure);
        sbx_result_free(result);
        run_done(&run);
        return r;
}

/* How long it may take: for whoever hears of progress. */
static void expect(struct call *call, const struct task *task)
{
        struct rules rules;

        if (!call->progress_token || rules_read(call->server, task->language, &rules, NULL) < 0)
                return;
        call->progress_total =
                task->timeout > 0 && task->timeout < rules.timeout ? task->timeout : rules.timeout;
}

static int run_task(struct call *call, const struct task *task, const char *session_id,
                    struct answer *answer)
{
        struct session *session = session_id ? session_take(call, session_id, answer) : NULL;
        struct task own = *task;
        int r;

        if (session_id && !session)
                return 0;
        if (session && !own.language)
                own.language = session->language;
        if (!own.language)
                return answer_refuse(answer, "Name the language; list_languages has those that can "
                                             "run here.");
        expect(call, &own);
        r = session && strcmp(own.language, session->language) == 0 && live_driver(own.language)
                    ? task_run_live(call, &own, session, answer)
                    : task_run(call, &own, session, answer);
        if (session)
                session_give(call->server, session);
        return r;
}

/* The language by any of its names; false: it may not run, and the answer says so. */
static bool read_language(struct call *call, const json_t *arguments, struct task *task,
                          struct answer *answer)
{
        const char *word = rpc_string(arguments, "language");

        if (!json_object_get(arguments, "language"))
                return true;
        task->language = tools_language(call->server, word ? word : "", answer);
        return task->language != NULL;
}

static int run_with_packages(struct call *call, const json_t *arguments, const char *packages,
                             struct task *task, struct answer *answer)
{
        struct error error = { 0 };
        int r = request_read_packages(json_object_get(arguments, packages), &task->packages,
                                      &error);

        task->timeout = json_number_value(json_object_get(arguments, "timeout"));
        r = r < 0 ? answer_refuse(answer, "Not run: %s.", error.message)
                  : run_task(call, task, rpc_string(arguments, "session_id"), answer);
        strlist_done(&task->packages);
        return r;
}

int tool_run_code(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct task task = {
                .code = json_object_get(arguments, "code"),
                .stdin_text = json_object_get(arguments, "stdin"),
                .args = json_object_get(arguments, "args"),
                .files = json_object_get(arguments, "files"),
        };

        if (!read_language(call, arguments, &task, answer))
                return 0;
        return run_with_packages(call, arguments, "packages", &task, answer);
}

int tool_execute_code(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct task task = { .code = json_object_get(arguments, "code") };

        if (!read_language(call, arguments, &task, answer))
                return 0;
        return run_with_packages(call, arguments, "libraries", &task, answer);
}

static bool is_identifier(const char *name)
{
        if (!isalpha((unsigned char)name[0]) && name[0] != '_')
                return false;
        for (; *name; name++)
                if (!isalnum((unsigned char)*name) && *name != '_')
                        return false;
        return true;
}

int tool_run_python_code(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct task task = {
                .code = json_object_get(arguments, "python_code"),
                .globals = json_object_get(arguments, "global_variables"),
        };
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)(uintptr_t)task.globals, name, value)
        {
                char shown[80];

                if (!is_identifier(name))
                        return answer_refuse(answer, "Not run: '%s' is no name of a variable.",
                                             str_printable(name, shown, sizeof(shown)));
        }
        if (json_object_size(task.globals) == 0)
                task.globals = NULL;
        task.language = tools_language(call->server, "python", answer);
        return task.language ? run_task(call, &task, NULL, answer) : 0;
}
