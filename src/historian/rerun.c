/*
 * Runs kept code again, by `sandbox run` with the policy of then, and says what differs. The
 * variables that speak of policies are left out of its environment: what they said is in the
 * policy that was kept.
 */
#include "historian/historian.h"
#include "base/fd.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MAX = 1 << 30 };

/* What is compared, and how it is called. */
static const struct {
        const char *key, *title;
} compared[] = {
        { "language", "language" }, { "version", "version" },     { "backend", "backend" },
        { "status", "status" },     { "exit_code", "exit code" }, { "signal", "signal" },
        { "stdout", "stdout" },     { "stderr", "stderr" },       { "limits", "limits" },
        { "files", "files" },
};

static int load_json(int folder, const char *name, json_t **ret_value, struct error *err)
{
        AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_FREE char *text = NULL;
        size_t length;
        int r;

        if (fd < 0)
                return error_set_errno(err, "open '%s' of the run", name);
        r = fd_read_all(fd, ANSWER_MAX, name, &text, &length, err);
        if (r < 0)
                return r;
        *ret_value = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
        return *ret_value ? 0 : error_set(err, SBX_EINVAL, "'%s' of the run is damaged", name);
}

/* The path of the kept code: "code.py", or the folder "code" of a project. */
static char *find_code(const char *folder)
{
        DIR *dir = opendir(folder);
        AUTO_STRBUF struct strbuf path = { 0 };
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (strcmp(entry->d_name, "code") == 0 || strncmp(entry->d_name, "code.", 5) == 0)
                        strbuf_addf(&path, "%s/%s", folder, entry->d_name);
        if (dir)
                (void)closedir(dir);
        return path.length ? strbuf_take(&path) : NULL;
}

static bool add(struct strlist *words, const char *option, const char *value)
{
        return !value || (strlist_add(words, option) == 0 && strlist_add(words, value) == 0);
}

static int make_words(const struct archive *archive, const char *folder, const json_t *request,
                      struct strlist *words, struct error *err)
{
        AUTO_FREE char *code = find_code(folder);
        AUTO_STRBUF struct strbuf policy = { 0 };
        const json_t *arguments = json_object_get(request, "arguments");
        bool good;

        if (!code)
                return error_set(err, SBX_EINVAL, "history: the code of this run was not kept");
        strbuf_addf(&policy, "%s/policy.yaml", folder);
        good = !policy.failed && strlist_add(words, archive->program) == 0 &&
               strlist_add(words, "run") == 0 && strlist_add(words, "--json") == 0 &&
               add(words, "--policy", policy.data) &&
               add(words, "--lang", json_string_value(json_object_get(request, "language"))) &&
               add(words, "--entry", json_string_value(json_object_get(request, "entry"))) &&
               add(words, "--name", json_string_value(json_object_get(request, "name"))) &&
               add(words, "--file", code) && strlist_add(words, "--") == 0;
        for (size_t i = 0; good && i < json_array_size(arguments); i++)
                good = strlist_add(words, json_string_value(json_array_get(arguments, i))) == 0;
        return good ? 0 : error_set_nomem(err);
}

static int make_environment(struct strlist *ret_list)
{
        static const char *const kept[] = { "SANDBOX_STATE_DIR=", "SANDBOX_CACHE_DIR=",
                                            "SANDBOX_INIT=", "SANDBOX_SCOPE=" };

        for (char **entry = environ; *entry; entry++) {
                bool is_kept = strncmp(*entry, "SANDBOX_", 8) != 0;

                for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
                        is_kept = is_kept || str_has_prefix(*entry, kept[i]);
                if (is_kept && strlist_add(ret_list, *entry) < 0)
                        return -1;
        }
        return 0;
}

/* Runs it and reads the result that it prints. */
static int run(struct strlist *words, struct strlist *environment, json_t **ret_result,
               struct error *err)
{
        posix_spawn_file_actions_t actions;
        AUTO_FREE char *text = NULL;
        int ends[2], status = 0, r;
        size_t length;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set_errno(err, "make a pipe");
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        r = posix_spawn(&pid, words->items[0], &actions, NULL, words->items, environment->items);
        (void)posix_spawn_file_actions_destroy(&actions);
        fd_close(ends[1]);
        if (r != 0) {
                fd_close(ends[0]);
                return error_set(err, SBX_ESYSTEM, "start '%.200s': %s", words->items[0],
                                 strerror(r));
        }
        r = fd_read_all(ends[0], ANSWER_MAX, "the result", &text, &length, err);
        fd_close(ends[0]);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (r < 0)
                return r;
        *ret_result = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
        return *ret_result ? 0 : error_set(err, SBX_EINVAL, "history: it could not be run again");
}

static void add_value(struct strbuf *out, const json_t *value)
{
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);

        strbuf_addf(out, "%.200s%s", text ? text : "null", text && strlen(text) > 200 ? "..." : "");
        free(text); /* jansson's own allocation */
}

static bool is_output(const char *key)
{
        return strcmp(key, "stdout") == 0 || strcmp(key, "stderr") == 0;
}

/* What was written to a terminal or file as it came may not have been kept, and cannot be compared
 * then. */
static bool is_comparable(const json_t *before, const char *key)
{
        char count[32];

        (void)snprintf(count, sizeof(count), "%s_bytes", key);
        return !is_output(key) || json_string_length(json_object_get(before, key)) > 0 ||
               json_integer_value(json_object_get(before, count)) == 0;
}

/* Whether an output begins with the part of it that was kept. */
static bool begins_alike(const json_t *before, const json_t *after, const char *key)
{
        const char *encoding = json_string_value(json_object_get(before, "encoding"));
        const json_t *one = json_object_get(before, key), *other = json_object_get(after, key);
        size_t length = json_string_length(one);
        char flag[32];

        (void)snprintf(flag, sizeof(flag), "%s_truncated", key);
        if (!is_output(key) || !json_is_true(json_object_get(before, flag)) || !encoding ||
            !json_equal(json_object_get(before, "encoding"), json_object_get(after, "encoding")))
                return false;
        /* The last letters of base64 depend on what follows. */
        if (strcmp(encoding, "base64") == 0 && length >= 4)
                length -= 4;
        return json_string_length(other) >= length &&
               memcmp(json_string_value(one), json_string_value(other), length) == 0;
}

/* Whether something differs; `ret_missing` counts what could not be compared, which is told. */
static bool add_differences(struct strbuf *out, const json_t *before, const json_t *after,
                            size_t *ret_missing)
{
        bool differs = false;

        for (size_t i = 0; i < ARRAY_SIZE(compared); i++) {
                const json_t *one = json_object_get(before, compared[i].key);
                const json_t *other = json_object_get(after, compared[i].key);

                if (!is_comparable(before, compared[i].key)) {
                        strbuf_addf(out, "%s was not kept: it could not be compared\n",
                                    compared[i].title);
                        (*ret_missing)++;
                        continue;
                }
                if (json_equal(one, other))
                        continue;
                if (begins_alike(before, after, compared[i].key)) {
                        strbuf_addf(out, "%s was kept in part: the rest could not be compared\n",
                                    compared[i].title);
                        (*ret_missing)++;
                        continue;
                }
                differs = true;
                strbuf_addf(out, "%s: ", compared[i].title);
                add_value(out, one);
                strbuf_adds(out, " -> ");
                add_value(out, other);
                strbuf_adds(out, "\n");
        }
        return differs;
}

static int tell(const struct archive *archive, const json_t *request, const json_t *before,
                const json_t *after, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        char status[40];
        size_t missing = 0;
        bool differs;
        int r;

        strbuf_addf(&out, "run %s: %s, %.3f s (before: %.3f s)\n",
                    json_string_value(json_object_get(after, "id")),
                    show_text(after, "status", status, sizeof(status)),
                    json_number_value(json_object_get(after, "execution_time")),
                    json_number_value(json_object_get(before, "execution_time")));
        if (json_is_true(json_object_get(request, "stdin")))
                strbuf_adds(&out, "standard input was not kept: it was empty this time\n");
        if (json_integer_value(json_object_get(request, "inputs")) > 0)
                strbuf_adds(&out, "input files were not kept: there were none this time\n");
        differs = add_differences(&out, before, after, &missing);
        if (!differs)
                strbuf_adds(&out, missing ? "nothing else differs\n" : "nothing differs\n");
        if (out.failed)
                return error_set_nomem(err);
        r = report_write(archive->cli, out.data, out.length, err);
        return r < 0 ? r : differs;
}

/* The steps, once the record was found. */
static int rerun(const struct archive *archive, const json_t *record, struct error *err)
{
        AUTO_CLOSE int folder = show_open_artifacts(archive, record, err);
        AUTO_STRBUF struct strbuf path = { 0 };
        json_t *request = NULL, *before = NULL, *after = NULL;
        struct strlist words = { 0 }, environment = { 0 };
        int r = folder < 0 ? folder : load_json(folder, "request.json", &request, err);

        if (r == 0)
                r = load_json(folder, "result.json", &before, err);
        strbuf_addf(&path, "%s/%s", archive->history.path,
                    json_string_value(json_object_get(record, "artifacts")));
        if (r == 0 && (path.failed || make_environment(&environment) < 0))
                r = error_set_nomem(err);
        if (r == 0)
                r = make_words(archive, path.data, request, &words, err);
        if (r == 0)
                r = run(&words, &environment, &after, err);
        if (r == 0)
                r = tell(archive, request, before, after, err);
        strlist_done(&words);
        strlist_done(&environment);
        json_decref(request);
        json_decref(before);
        json_decref(after);
        return r;
}

int history_rerun(struct archive *archive, struct error *err)
{
        AUTO_FREE char *line = NULL;
        json_t *record;
        int r = entry_find(archive, archive->words[1], &line, err);

        if (r < 0)
                return r;
        record = json_loads(line, 0, NULL);
        r = record ? rerun(archive, record, err) : error_set_nomem(err);
        json_decref(record);
        return r;
}
