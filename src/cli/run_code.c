/*
 * Where the code comes from: -c, -f, FILE, or standard input; exactly one of them.
 *
 * Files are opened without waiting, so that a fifo or a device named by mistake is an error and not
 * a command that hangs, and are read up to a maximum, whatever their size is said to be.
 */
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CODE_MAX = 32 << 20, SHOWN_MAX = 512 };

static int refuse_more_sources(const char *word, struct error *err)
{
        char shown[SHOWN_MAX];
        int r = error_set(err, SBX_EINVAL, "more than one source of code: unexpected '%s'",
                          str_printable(word, shown, sizeof(shown)));

        error_hint(err, "give one of --code, --file, FILE or '-'; arguments of the program stand "
                        "after '--'");
        return r;
}

/* The one path of a file, "-" for standard input; NULL where --code has the text. */
static int choose_source(const struct options *options, const char **ret_path, struct error *err)
{
        const char *file = options_value(options, "file");
        bool has_code = options_given(options, "code");

        if (has_code && file)
                return refuse_more_sources(file, err);
        if (options->word_count > 0 && (has_code || file))
                return refuse_more_sources(options->words[0], err);
        if (options->word_count > 1)
                return refuse_more_sources(options->words[1], err);
        if (has_code)
                *ret_path = NULL;
        else if (file)
                *ret_path = file;
        else
                *ret_path = options->word_count ? options->words[0] : "-";
        return 0;
}

static int open_failed(const char *path, struct error *err)
{
        char shown[SHOWN_MAX];
        const char *near = errno == ENOENT ? command_nearest(path) : NULL;
        int r;

        str_printable(path, shown, sizeof(shown));
        r = error_set(err, SBX_EINVAL, "open '%s': %s", shown, strerror(errno));
        if (near && strcmp(near, path) != 0)
                error_hint(err, "did you mean the command '%s'?", near);
        else
                error_hint(err, "give the path of a file, or the code itself with --code");
        return r;
}

static int read_file(sbx_request *req, const char *path, struct run_code *code, struct error *err)
{
        AUTO_CLOSE int fd = -1;
        char shown[SHOWN_MAX];
        struct stat st;
        int r;

        if (!*path)
                return error_set(err, SBX_EINVAL, "the file name is empty");
        r = run_open(req, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);
        if (r != 0)
                return r < 0 ? r : open_failed(path, err);
        if (fstat(fd, &st) < 0)
                return error_set_errno(err, "examine '%s'",
                                       str_printable(path, shown, sizeof(shown)));
        if (!S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "read '%s': %s",
                                 str_printable(path, shown, sizeof(shown)),
                                 S_ISDIR(st.st_mode) ? "is a directory" : "not a regular file");
        code->fd = fd_take(&fd);
        return 0;
}

static int read_standard_input(const struct cli *cli, struct run_code *code, struct error *err)
{
        int r;

        if (cli->closed[0]) {
                r = error_set(err, SBX_EINVAL, "read code from standard input: closed");
                error_hint(err, "give the code with --code or --file");
                return r;
        }
        code->from_stdin = true;
        r = fd_read_all(0, CODE_MAX, "code", &code->data, &code->length, err);
        if (r == SBX_ETOOBIG)
                error_hint(err, "hand data in with --volume, or with --stdin beside a program");
        return r;
}

int run_code_read(const struct cli *cli, const struct options *options, sbx_request *req,
                  struct run_code *ret_code, struct error *err)
{
        const char *path = NULL;
        int r = choose_source(options, &path, err);

        if (r < 0)
                return r;
        if (run_is_project(options, path)) {
                ret_code->project = path;
                return 0;
        }
        if (options_given(options, "entry"))
                return error_set(err, SBX_EINVAL, "option '--entry': the code is a single file");
        if (path && strcmp(path, "-") == 0)
                return read_standard_input(cli, ret_code, err);
        if (path) {
                ret_code->file_name = path;
                return read_file(req, path, ret_code, err);
        }
        ret_code->data = mem_strdup(options_value(options, "code"));
        if (!ret_code->data)
                return error_set_nomem(err);
        ret_code->length = strlen(ret_code->data);
        return 0;
}

int run_code_set(const struct options *options, const struct run_code *code, sbx_request *req,
                 struct error *err)
{
        sbx_error *failure = NULL;
        int r = code->project ? run_add_project(options, code->project, req, err) : 0;

        if (r < 0)
                return r;
        if (code->fd >= 0)
                r = sbx_request_set_code_fd(req, code->fd, &failure);
        else if (!code->project)
                r = sbx_request_set_code(req, code->data, code->length, &failure);
        if (r == 0 && code->file_name)
                r = sbx_request_set_file_name(req, code->file_name, &failure);
        return r < 0 ? report_take(err, failure) : 0;
}

int run_stdin_open(const struct cli *cli, const struct options *options, sbx_request *req,
                   const struct run_code *code, int *ret_fd, struct error *err)
{
        const char *path = options_value(options, "stdin");
        AUTO_CLOSE int fd = -1;
        char shown[SHOWN_MAX];
        struct stat st;
        int r;

        *ret_fd = -1;
        if (!path)
                return 0;
        str_printable(path, shown, sizeof(shown));
        if (strcmp(path, "-") == 0) {
                if (code->from_stdin)
                        return error_set(err, SBX_EINVAL,
                                         "option '--stdin': standard input already gives the code");
                if (cli->closed[0])
                        return error_set(err, SBX_EINVAL,
                                         "option '--stdin': standard input is closed");
                fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
        } else {
                /* A pipe that nobody writes into yet is waited for while the program runs, within
                 * its time, not here. */
                r = run_open(req, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);
                if (r < 0) {
                        error_prefix(err, "option '--stdin'");
                        return r;
                }
                if (fd >= 0)
                        (void)fcntl(fd, F_SETFL, 0);
        }
        if (fd < 0)
                return error_set(err, SBX_EINVAL, "option '--stdin': open '%s': %s", shown,
                                 strerror(errno));
        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
                return error_set(err, SBX_EINVAL, "option '--stdin': read '%s': is a directory",
                                 shown);
        *ret_fd = fd_take(&fd);
        return 0;
}
