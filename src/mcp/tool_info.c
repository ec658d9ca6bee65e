/* list_languages, get_limits, check_code, history. */
#include "mcp/session.h"
#include "cli/cli.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HISTORY_BYTES = 16 << 20 };

static bool may_run(const struct server *server, const char *name)
{
        for (size_t i = 0; i < server->languages.count; i++)
                if (strcmp(server->languages.items[i], name) == 0)
                        return true;
        return server->languages.count == 0;
}

static bool has_name(const json_t *language, const char *word)
{
        json_t *alias;
        size_t index;

        if (str_equal(json_string_value(json_object_get(language, "name")), word))
                return true;
        json_array_foreach(json_object_get(language, "aliases"), index, alias)
        {
                if (str_equal(json_string_value(alias), word))
                        return true;
        }
        return false;
}

const char *tools_language(struct server *server, const char *word, struct answer *answer)
{
        json_t *language;
        size_t index;
        char shown[80];

        json_array_foreach(server->known, index, language)
        {
                const char *name = json_string_value(json_object_get(language, "name"));

                if (has_name(language, word) && may_run(server, name))
                        return name;
        }
        (void)answer_refuse(answer,
                            "The language '%s' cannot run here. list_languages has those that can.",
                            str_printable(word, shown, sizeof(shown)));
        return NULL;
}

static json_t *copy_fields(const json_t *from, const char *const *keys)
{
        json_t *to = json_object();

        for (; *keys; keys++) {
                json_t *value = json_object_get(from, *keys);

                (void)json_object_set(to, *keys, value ? value : json_null());
        }
        return to;
}

int tool_list_languages(struct call *call, const json_t *arguments, struct answer *answer)
{
        static const char *const keys[] = { "name", "title", "version", "aliases", NULL };
        json_t *list = json_array(), *language;
        size_t index;

        json_array_foreach(call->server->known, index, language)
        {
                const char *name = json_string_value(json_object_get(language, "name"));
                const char *status = json_string_value(json_object_get(language, "status"));
                json_t *one;

                if (!str_equal(status, "ready") || !may_run(call->server, name))
                        continue;
                one = copy_fields(language, keys);
                (void)json_object_set_new(one, "session",
                                          json_string(live_driver(name) ? "variables" : "files"));
                (void)json_array_append_new(list, one);
        }
        return answer_value(answer, json_pack("{s:o}", "languages", list));
}

int tool_get_limits(struct call *call, const json_t *arguments, struct answer *answer)
{
        static const char *const keys[] = { "limits", "network", "analysis", NULL };
        struct server *server = call->server;
        const char *language = rpc_string(arguments, "language");
        sbx_error *failure = NULL;
        json_t *policy, *shown;
        char *text;

        if (json_object_get(arguments, "language")) {
                language = tools_language(server, language ? language : "", answer);
                if (!language)
                        return 0;
        }
        text = sbx_policy_show(server->policy, language, "json", &failure);
        if (!text)
                return answer_refuse_error(answer, failure);
        policy = json_loads(text, 0, NULL);
        sbx_string_free(text);
        shown = copy_fields(policy, keys);
        json_decref(policy);
        (void)json_object_set_new(
                shown, "server",
                json_pack("{s:I, s:f, s:b, s:b, s:I, s:I}", "max_sessions",
                          (json_int_t)server->max_sessions, "session_idle_timeout",
                          (double)server->idle_ms / 1e3, "read_only", server->read_only, "packages",
                          !server->no_packages, "file_bytes", (json_int_t)MCP_FILE_MAX,
                          "message_bytes", (json_int_t)MCP_LINE_MAX));
        return answer_value(answer, shown);
}

int tool_check_code(struct call *call, const json_t *arguments, struct answer *answer)
{
        static const char *const keys[] = { "risk",          "reasons", "findings", "imports",
                                            "syntax_errors", "blocked", "reason",   NULL };
        const json_t *code = json_object_get(arguments, "code");
        const char *word = rpc_string(arguments, "language");
        const char *language = tools_language(call->server, word ? word : "", answer);
        sbx_request *req = NULL;
        sbx_error *failure = NULL;
        struct error error = { 0 };
        char *text = NULL;
        json_t *report;
        int r;

        if (!language)
                return 0;
        r = request_make(call->server, language, &req, &error);
        if (r < 0)
                return answer_refuse(answer, "Not checked: %s.", error.message);
        if (sbx_request_set_code(req, json_string_value(code), json_string_length(code),
                                 &failure) == 0)
                text = sbx_check(call->server->runs, req, &failure);
        sbx_request_free(req);
        if (!text)
                return answer_refuse_error(answer, failure);
        report = json_loads(text, JSON_ALLOW_NUL, NULL);
        sbx_string_free(text);
        r = answer_value(answer, copy_fields(report, keys));
        json_decref(report);
        return r;
}

/* Starts `sandbox history list`; what it writes is read from `*ret_fd`. */
static int start_history(const struct server *server, const char *limit, const char *status,
                         pid_t *ret_pid, int *ret_fd)
{
        char *words[] = { (char *)(uintptr_t)server->program,
                          "history",
                          "list",
                          "--json",
                          "--name",
                          (char *)(uintptr_t)server->id,
                          "--limit",
                          (char *)(uintptr_t)limit,
                          status ? "--status" : NULL,
                          (char *)(uintptr_t)status,
                          NULL };
        posix_spawn_file_actions_t actions;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -1;
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        r = posix_spawn(ret_pid, server->program, &actions, NULL, words, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        fd_close(ends[1]);
        if (r != 0) {
                fd_close(ends[0]);
                errno = r;
                return -1;
        }
        *ret_fd = ends[0];
        return 0;
}

int tool_history(struct call *call, const json_t *arguments, struct answer *answer)
{
        const json_t *wanted = json_object_get(arguments, "limit");
        AUTO_CLOSE int fd = -1;
        AUTO_FREE char *text = NULL;
        struct error error = { 0 };
        size_t length = 0;
        char limit[32];
        json_t *runs;
        pid_t pid;
        int status = 0, r;

        (void)snprintf(limit, sizeof(limit), "%.0f", wanted ? json_number_value(wanted) : 20.0);
        if (start_history(call->server, limit, rpc_string(arguments, "status"), &pid, &fd) < 0)
                return answer_refuse(answer, "The history cannot be read: %s.", strerror(errno));
        r = fd_read_all(fd, HISTORY_BYTES, "the history", &text, &length, &error);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        runs = r == 0 ? json_loadb(text, length, JSON_ALLOW_NUL, NULL) : NULL;
        if (!json_is_array(runs)) {
                json_decref(runs);
                return answer_refuse(answer, "The history cannot be read%s%s.",
                                     r < 0 ? ": " : ", or there is no such status",
                                     r < 0 ? error.message : "");
        }
        return answer_value(answer, json_pack("{s:o}", "runs", runs));
}
