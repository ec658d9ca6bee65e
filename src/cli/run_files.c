/*
 * Files beside the code: the sources of a project, inputs, and the directory that files are
 * collected to. Paths of the caller's are opened as the caller would, but for links that lie where
 * programs can write; what is below a folder is not followed.
 */
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 512 };

static int open_failed(const char *path, struct error *err)
{
        char shown[SHOWN_MAX];

        return error_set(err, SBX_EINVAL, "open '%s': %s",
                         str_printable(path, shown, sizeof(shown)), strerror(errno));
}

int run_open(sbx_request *req, const char *path, int flags, unsigned mode, int *ret_fd,
             struct error *err)
{
        sbx_error *failure = NULL;
        int r = sbx_request_open(req, path, flags, mode, ret_fd, &failure), why = errno;

        if (r == 0)
                return 0;
        r = report_take(err, failure);
        errno = why;
        return r == SBX_ESYSTEM ? 1 : r;
}

/* A fifo or device named by mistake is an error and not a command that hangs. */
static int open_path(sbx_request *req, const char *path, int *ret_fd, struct error *err)
{
        AUTO_CLOSE int fd = -1;
        char shown[SHOWN_MAX];
        struct stat st;
        int r = run_open(req, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);

        if (r < 0)
                return r;
        if (r > 0 || fstat(fd, &st) < 0)
                return open_failed(path, err);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                return error_set(err, SBX_EINVAL, "'%s' is neither a regular file nor a folder",
                                 str_printable(path, shown, sizeof(shown)));
        *ret_fd = fd_take(&fd);
        return 0;
}

/* The last part of a path, "" where there is none, as in "." or "/". */
static char *last_part(const char *path)
{
        size_t end = strlen(path), start;

        while (end > 0 && path[end - 1] == '/')
                end--;
        for (start = end; start > 0 && path[start - 1] != '/'; start--)
                ;
        if (end - start <= 2 && strspn(path + start, ".") >= end - start)
                return mem_strdup("");
        return mem_strndup(path + start, end - start);
}

/* ---- inputs ---- */

/* SRC[:DST]; a colon in SRC itself is taken as it is where DST is given too. */
static int add_input(sbx_request *req, const char *value, struct error *err)
{
        const char *colon = strrchr(value, ':');
        AUTO_FREE char *source =
                colon ? mem_strndup(value, (size_t)(colon - value)) : mem_strdup(value);
        AUTO_FREE char *target = colon ? mem_strdup(colon + 1) : last_part(value);
        AUTO_CLOSE int fd = -1;
        sbx_error *failure = NULL;
        char shown[SHOWN_MAX];
        int r;

        if (!source || !target)
                return error_set_nomem(err);
        if (!*source || (colon && !*target)) {
                r = error_set(err, SBX_EINVAL, "'%s' is not of the form SRC[:DST]",
                              str_printable(value, shown, sizeof(shown)));
                error_hint(err, "for example --input-file data.csv, or --input-file "
                                "/tmp/x.csv:data/x.csv");
                return r;
        }
        r = open_path(req, source, &fd, err);
        if (r == 0 && sbx_request_add_input_fd(req, target, fd, &failure) < 0) {
                r = report_take(err, failure);
                error_prefix(err, "'%s'", str_printable(source, shown, sizeof(shown)));
        }
        return r;
}

int run_add_inputs(const struct options *options, sbx_request *req, struct error *err)
{
        for (size_t i = 0; i < options->use_count; i++) {
                const struct option_use *use = &options->uses[i];
                int r = 0;

                if (strcmp(use->option->name, "input-file") == 0)
                        r = add_input(req, use->value, err);
                if (r < 0) {
                        error_prefix(err, "option '--input-file'");
                        return r;
                }
        }
        return 0;
}

/* ---- collecting ---- */

int run_open_collect(const struct options *options, sbx_request *req, struct error *err)
{
        const char *path = options_value(options, "collect-to");
        AUTO_CLOSE int fd = -1;
        sbx_error *failure = NULL;
        int r;

        if (!options_given(options, "collect"))
                return 0;
        path = path ? path : ".";
        r = run_open(req, path, O_RDONLY | O_DIRECTORY | O_CREAT, 0777, &fd, err);
        if (r > 0)
                return open_failed(path, err);
        if (r < 0) {
                error_prefix(err, "option '--collect-to'");
                return r;
        }
        if (sbx_request_set_collect_fd(req, fd, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

/* ---- projects ---- */

static bool is_folder(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool run_is_project(const struct options *options, const char *path)
{
        size_t files = 0;

        for (size_t i = 0; i < options->use_count; i++)
                files += strcmp(options->uses[i].option->name, "file") == 0;
        return files > 1 || (path && is_folder(path));
}

/* Where a file stands in the project: below the folder of the first one, if it is there. */
static char *place_of(const char *path, const char *first)
{
        const char *slash = strrchr(first, '/');
        size_t length = slash ? (size_t)(slash - first) + 1 : 0;

        if (strncmp(path, first, length) == 0)
                return mem_strdup(path + length);
        return last_part(path);
}

static int add_source(sbx_request *req, const char *path, const char *place, struct error *err)
{
        AUTO_CLOSE int fd = -1;
        sbx_error *failure = NULL;
        char shown[SHOWN_MAX];
        int r = open_path(req, path, &fd, err);

        if (r == 0 && sbx_request_add_source_fd(req, place, fd, &failure) < 0) {
                r = report_take(err, failure);
                error_prefix(err, "project '%s'", str_printable(path, shown, sizeof(shown)));
        }
        return r;
}

/* Several files: the first one is run, unless --entry says otherwise. */
static int add_files(const struct options *options, sbx_request *req, struct error *err)
{
        const char *first = NULL;
        sbx_error *failure = NULL;

        for (size_t i = 0; i < options->use_count; i++) {
                const struct option_use *use = &options->uses[i];
                AUTO_FREE char *place = NULL;
                int r;

                if (strcmp(use->option->name, "file") != 0)
                        continue;
                if (strcmp(use->value, "-") == 0)
                        return error_set(err, SBX_EINVAL,
                                         "standard input cannot be one of several files");
                place = place_of(use->value, first ? first : use->value);
                if (!place)
                        return error_set_nomem(err);
                r = add_source(req, use->value, place, err);
                if (r == 0 && !first && !options_given(options, "entry") &&
                    !is_folder(use->value) && sbx_request_set_entry(req, place, &failure) < 0)
                        r = report_take(err, failure);
                if (r < 0)
                        return r;
                first = first ? first : use->value;
        }
        return 0;
}

int run_add_project(const struct options *options, const char *path, sbx_request *req,
                    struct error *err)
{
        const char *file = options_value(options, "file");

        if (file && !is_folder(file))
                return add_files(options, req, err);
        if (file && run_is_project(options, NULL))
                return add_files(options, req, err);
        return add_source(req, path, "", err);
}
