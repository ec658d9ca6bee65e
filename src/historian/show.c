/* One record: everything of it, and what was kept beside it. */
#include "historian/historian.h"
#include "base/fd.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 1024, DEPTH_MAX = 32 };

const char *show_text(const json_t *record, const char *key, char *buffer, size_t size)
{
        const char *text = json_string_value(json_object_get(record, key));

        return text && *text ? str_printable(text, buffer, size) : strcpy(buffer, "-");
}

static void add_value(struct strbuf *out, const char *key, const json_t *value)
{
        AUTO_FREE char *shown = mem_alloc(SHOWN_MAX);
        char *text = NULL;

        if (json_is_string(value)) {
                strbuf_addf(out, "%-20s%s\n", key,
                            shown ? str_printable(json_string_value(value), shown, SHOWN_MAX) : "");
                return;
        }
        /* ASCII alone: what a guest wrote reaches no terminal as it is. */
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
        strbuf_addf(out, "%-20s%s\n", key, text ? text : "");
        free(text); /* jansson's own allocation */
}

static void add_record(struct strbuf *out, json_t *record)
{
        const char *key;
        json_t *value;

        json_object_foreach(record, key, value)
        {
                const char *inner;
                json_t *part;

                if (!json_is_object(value) || json_object_size(value) == 0) {
                        add_value(out, key, value);
                        continue;
                }
                strbuf_addf(out, "%s:\n", key);
                json_object_foreach(value, inner, part)
                {
                        strbuf_adds(out, "  ");
                        add_value(out, inner, part);
                }
        }
}

int show_open_artifacts(const struct archive *archive, const json_t *record, struct error *err)
{
        const char *path = json_string_value(json_object_get(record, "artifacts"));
        int fd, r;

        if (!path) {
                r = error_set(err, SBX_EINVAL,
                              "history: nothing but the record of this run was "
                              "kept");
                error_hint(err, "records.store_code of the policy says when code is kept; it is "
                                "'on_error' unless told");
                return r;
        }
        if (strncmp(path, "executions/", 11) != 0 || strstr(path, ".."))
                return error_set(err, SBX_EINVAL, "history: the record names no folder of ours");
        fd = openat(archive->history.dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return error_set_errno(err, "open '%s/%s'", archive->history.path, path);
        return fd;
}

static int load(const struct archive *archive, json_t **ret_record, char **ret_line,
                struct error *err)
{
        int r = entry_find(archive, archive->words[1], ret_line, err);

        if (r < 0)
                return r;
        *ret_record = json_loads(*ret_line, 0, NULL);
        return *ret_record ? 0 : error_set_nomem(err);
}

int history_show(struct archive *archive, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        AUTO_FREE char *line = NULL;
        json_t *record = NULL;
        enum list_form form;
        int r = list_form(archive->options, &form, err);

        if (r == 0 && form == LIST_CSV)
                r = error_set(err, SBX_EINVAL, "history show: has the forms table, json and jsonl");
        if (r == 0)
                r = load(archive, &record, &line, err);
        if (r < 0)
                return r;
        if (form == LIST_TABLE)
                add_record(&out, record);
        else
                strbuf_addf(&out, "%s\n", line);
        if (form == LIST_TABLE && json_is_string(json_object_get(record, "artifacts")))
                strbuf_addf(&out, "%-20s%s/%s\n", "kept in", archive->history.path,
                            json_string_value(json_object_get(record, "artifacts")));
        json_decref(record);
        if (out.failed)
                return error_set_nomem(err);
        return report_write(archive->cli, out.data, out.length, err);
}

/* ---- code ---- */

static int write_file(const struct archive *archive, int folder, const char *name,
                      struct error *err)
{
        AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_FREE char *data = NULL;
        size_t length;
        int r;

        if (fd < 0)
                return error_set_errno(err, "open '%s'", name);
        r = fd_read_all(fd, REQUEST_CODE_MAX * 2, name, &data, &length, err);
        return r < 0 ? r : report_write(archive->cli, data, length, err);
}

/* The files of a project, each below a line with its path. */
static int write_tree(const struct archive *archive, int folder, const char *path, int depth,
                      struct error *err)
{
        struct dirent **entries = NULL;
        int count = scandirat(folder, ".", &entries, NULL, alphasort), r = 0;

        for (int i = 0; i < count; i++) {
                const char *name = entries[i]->d_name;
                AUTO_STRBUF struct strbuf below = { 0 };
                AUTO_CLOSE int inner = -1;
                char shown[1200];

                if (r < 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
                        free(entries[i]);
                        continue;
                }
                strbuf_addf(&below, "%s%s%s", path, *path ? "/" : "", name);
                inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (below.failed) {
                        r = error_set_nomem(err);
                } else if (inner >= 0 && depth < DEPTH_MAX) {
                        r = write_tree(archive, inner, below.data, depth + 1, err);
                } else {
                        AUTO_STRBUF struct strbuf head = { 0 };

                        strbuf_addf(&head, "==> %s <==\n",
                                    str_printable(below.data, shown, sizeof(shown)));
                        r = head.failed ? error_set_nomem(err)
                                        : report_write(archive->cli, head.data, head.length, err);
                        if (r == 0)
                                r = write_file(archive, folder, name, err);
                }
                free(entries[i]);
        }
        free(entries);
        return r;
}

static int write_code(const struct archive *archive, int folder, struct error *err)
{
        struct dirent **entries = NULL;
        int count = scandirat(folder, ".", &entries, NULL, alphasort), r = 1;

        for (int i = 0; i < count; i++) {
                const char *name = entries[i]->d_name;

                if (r > 0 && (strcmp(name, "code") == 0 || strncmp(name, "code.", 5) == 0)) {
                        AUTO_CLOSE int inner = openat(
                                folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                        r = inner >= 0 ? write_tree(archive, inner, "", 0, err)
                                       : write_file(archive, folder, name, err);
                }
                free(entries[i]);
        }
        free(entries);
        return r > 0 ? error_set(err, SBX_EINVAL, "history: the code was too large to be kept") : r;
}

int history_code(struct archive *archive, struct error *err)
{
        AUTO_FREE char *line = NULL;
        AUTO_CLOSE int folder = -1;
        json_t *record = NULL;
        int r = load(archive, &record, &line, err);

        if (r < 0)
                return r;
        folder = show_open_artifacts(archive, record, err);
        json_decref(record);
        return folder < 0 ? folder : write_code(archive, folder, err);
}
