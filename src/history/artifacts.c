/* Code, result, outputs and files of a run: see history.h. */
#include "history/history.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/jsontext.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t code_bytes_max = UINT64_C(64) << 20; /* larger code is not kept */

void history_artifacts_init(struct history_artifacts *artifacts)
{
        *artifacts = (struct history_artifacts){ .dir = -1, .parent = -1 };
}

int history_artifacts_begin(const struct history *history, const struct result *result,
                            struct history_artifacts *artifacts, struct error *err)
{
        if (artifacts->dir >= 0)
                return 0;
        if (artifacts->parent < 0)
                artifacts->parent = folder_open_below(history->dir, "executions");
        if (artifacts->parent < 0)
                return error_set_errno(err, "open 'executions' in the state directory");
        (void)snprintf(artifacts->aside, sizeof(artifacts->aside), ".new-%s", result->id);
        artifacts->dir = folder_open_below(artifacts->parent, artifacts->aside);
        return artifacts->dir < 0 ? error_set_errno(err, "make a directory for the run") : 0;
}

static int write_bytes(int dir, const char *name, const void *data, size_t length)
{
        AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        return fd < 0 ? -1 : fd_write_all(fd, data, length);
}

static int copy_range(int dir, const char *name, int from, off_t offset, uint64_t length)
{
        AUTO_CLOSE int to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        while (to >= 0 && length > 0) {
                ssize_t n = sendfile(to, from, &offset, (size_t)length);

                if (n == 0)
                        break; /* it has become shorter: the hash tells */
                if (n < 0 && errno != EINTR)
                        return -1;
                length -= n > 0 ? (uint64_t)n : 0;
        }
        return to < 0 ? -1 : 0;
}

/* The folder of a file of the project, made; the descriptor, or -1. */
static int open_folder_of(int top, const char *path, const char **ret_name)
{
        AUTO_CLOSE int folder = fcntl(top, F_DUPFD_CLOEXEC, 3);
        char part[NAME_MAX + 1];

        for (const char *slash; folder >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                int below;

                if (slash - path > NAME_MAX)
                        return -1;
                memcpy(part, path, (size_t)(slash - path));
                part[slash - path] = '\0';
                below = folder_open_below(folder, part);
                fd_close(folder);
                folder = below;
        }
        *ret_name = path;
        return fd_take(&folder);
}

/* Links of a project are kept as small files with their target: nothing here is to lead away. */
static int write_project(int dir, const struct bundle *sources)
{
        AUTO_CLOSE int top = folder_open_below(dir, "code");

        for (size_t i = 0; top >= 0 && i < sources->count; i++) {
                const struct bundle_file *file = &sources->files[i];
                const char *name;
                AUTO_CLOSE int folder = open_folder_of(top, file->path, &name);

                if (folder < 0 ||
                    copy_range(folder, name, sources->fd, (off_t)file->offset, file->length) < 0)
                        return -1;
        }
        return top < 0 ? -1 : 0;
}

static int write_code(int dir, const struct request *code, const char *extension)
{
        char name[64];

        if (code->sources.count > 0)
                return code->sources.bytes <= code_bytes_max ? write_project(dir, &code->sources)
                                                             : 0;
        if (code->code_size > code_bytes_max)
                return 0;
        (void)snprintf(name, sizeof(name), "code%s%s", extension && *extension ? "." : "",
                       extension ? extension : "");
        if (code->code_fd >= 0)
                return copy_range(dir, name, code->code_fd, 0, code->code_size);
        return write_bytes(dir, name, code->code ? code->code : "", code->code_size);
}

static int write_stream(int dir, const char *name, const struct result_stream *stream)
{
        if (stream->passed_through && stream->kept.length == 0 && stream->bytes > 0)
                return 0; /* it went to the caller as it came, and was not kept */
        return write_bytes(dir, name, stream->kept.data ? stream->kept.data : "",
                           stream->kept.length);
}

/* What a second run needs beside code and policy. */
static int write_request(int dir, const struct history_entry *entry)
{
        const struct request *request = entry->request;
        AUTO_STRBUF struct strbuf out = { 0 };

        strbuf_adds(&out, "{");
        jsontext_put_string(&out, "language", entry->result->language);
        jsontext_put_string(&out, "name", request->name);
        jsontext_put_string(&out, "file_name", entry->code->file_name);
        jsontext_put_string(&out, "entry", entry->code->entry);
        jsontext_put_bool(&out, "project", entry->code->sources.count > 0);
        jsontext_put_bool(&out, "stdin", request->stdin_fd >= 0 || request->stdin_length > 0);
        jsontext_put_size(&out, "inputs", request->inputs.count);
        jsontext_key(&out, "arguments");
        strbuf_adds(&out, "[");
        for (size_t i = 0; i < request->arguments.count; i++) {
                strbuf_adds(&out, i ? "," : "");
                jsontext_string(&out, request->arguments.items[i]);
        }
        strbuf_adds(&out, "]}\n");
        if (out.failed) {
                errno = ENOMEM;
                return -1;
        }
        return write_bytes(dir, "request.json", out.data, out.length);
}

static int write_all(int dir, const struct history_entry *entry, const char *extension,
                     const char *policy)
{
        const struct result *result = entry->result;
        AUTO_FREE char *json = result_to_json(result, false);

        if (!json || !policy) {
                errno = ENOMEM;
                return -1;
        }
        if (write_code(dir, entry->code, extension) < 0 ||
            write_bytes(dir, "result.json", json, strlen(json)) < 0 ||
            write_stream(dir, "stdout", &result->run.out) < 0 ||
            write_stream(dir, "stderr", &result->run.err) < 0 || write_request(dir, entry) < 0 ||
            write_bytes(dir, "policy.yaml", policy, strlen(policy)) < 0)
                return -1;
        return 0;
}

/* DATE/TIME-HASH8, and the end of the identifier where that is taken. */
static int give_name(struct history_artifacts *artifacts, const struct history_entry *entry,
                     char ret_path[HISTORY_PATH_MAX])
{
        const char *stamp = entry->result->started_at, *id = entry->result->id;
        char date[11], time[16], name[64];
        AUTO_CLOSE int folder = -1;
        size_t used = 0;

        (void)snprintf(date, sizeof(date), "%.10s", stamp);
        for (const char *at = stamp + 11; *at && *at != 'Z' && used < sizeof(time) - 1; at++)
                if (*at != ':')
                        time[used++] = *at;
        time[used] = '\0';
        folder = folder_open_below(artifacts->parent, date);
        if (folder < 0)
                return -1;
        for (int i = 0; i < 2; i++) {
                (void)snprintf(name, sizeof(name), "%s-%.8s%s%s", time, entry->code_hash,
                               i ? "-" : "", i ? id + 16 : "");
                /* By number: musl has no renameat2(). */
                if (syscall(SYS_renameat2, artifacts->parent, artifacts->aside, folder, name,
                            1u /* RENAME_NOREPLACE */) == 0) {
                        (void)snprintf(ret_path, HISTORY_PATH_MAX, "executions/%s/%s", date, name);
                        return 0;
                }
                if (errno != EEXIST)
                        return -1;
        }
        return -1;
}

int history_artifacts_finish(struct history_artifacts *artifacts, const struct history_entry *entry,
                             const char *extension, const char *policy,
                             char ret_path[HISTORY_PATH_MAX], struct error *err)
{
        int r = 0;

        if (write_all(artifacts->dir, entry, extension, policy) < 0 ||
            give_name(artifacts, entry, ret_path) < 0)
                r = error_set_errno(err, "keep the code and outputs of the run");
        else
                artifacts->aside[0] = '\0';
        history_artifacts_drop(artifacts);
        return r;
}

void history_artifacts_drop(struct history_artifacts *artifacts)
{
        char path[96];

        if (artifacts->dir >= 0 && artifacts->aside[0]) {
                (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", artifacts->parent,
                               artifacts->aside);
                (void)tree_remove(path); /* what stays is swept by `sandbox history prune` */
        }
        fd_close(artifacts->dir);
        fd_close(artifacts->parent);
        history_artifacts_init(artifacts);
}
