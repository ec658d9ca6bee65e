/*
 * `--cases`: reads the cases file and the files it names, and tells verdicts as they come.
 *
 * A cases file may come from somebody else. What it names is opened below its own folder, without
 * following a link, so that it cannot hand other files of this machine to the program.
 */
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CASES_BYTES_MAX = 64 << 20, PART_BYTES_MAX = 64 << 20, SHOWN_MAX = 512, JOBS_MAX = 256 };

/* ---- files ---- */

static int refuse_path(const char *path, const char *why, struct error *err)
{
        char shown[SHOWN_MAX];
        int r = error_set(err, SBX_EINVAL, "open '%s': %s",
                          str_printable(path, shown, sizeof(shown)), why);

        error_hint(err, "files of a case lie in the folder of the cases file or below it, and are "
                        "no links");
        return r;
}

/* Opens a path below a folder, part by part; every part must be what it is called. 1, with errno,
 * where it cannot be opened. */
static int open_below(int folder_fd, const char *path, int *ret_fd, struct error *err)
{
        AUTO_CLOSE int at = fcntl(folder_fd, F_DUPFD_CLOEXEC, 3);
        char part[NAME_MAX + 1];

        if (path[0] == '/')
                return refuse_path(path, "an absolute path", err);
        while (at >= 0) {
                size_t length = strcspn(path, "/");
                const char *rest = path + length + strspn(path + length, "/");
                int next;

                if (length > NAME_MAX)
                        return refuse_path(path, "a name in it is too long", err);
                memcpy(part, path, length);
                part[length] = '\0';
                if (strcmp(part, "..") == 0)
                        return refuse_path(path, "leads upward", err);
                next = openat(at, part,
                              *rest ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                                    : O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
                fd_close(at);
                at = next;
                path = rest;
                if (at >= 0 && !*rest) {
                        *ret_fd = fd_take(&at);
                        return 0;
                }
        }
        return 1;
}

static int read_part(sbx_cases *cases, size_t index, const char *part, int folder_fd,
                     struct error *err)
{
        const char *path = sbx_cases_file(cases, index, part);
        AUTO_CLOSE int fd = -1;
        AUTO_FREE char *data = NULL;
        char shown[SHOWN_MAX];
        sbx_error *failure = NULL;
        size_t length = 0;
        struct stat st;
        int r;

        if (!path)
                return 0;
        str_printable(path, shown, sizeof(shown));
        r = open_below(folder_fd, path, &fd, err);
        if (r > 0)
                return refuse_path(path, errno == ELOOP ? "is a symbolic link" : strerror(errno),
                                   err);
        if (r < 0)
                return r;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "read '%s': not a regular file", shown);
        r = fd_read_all(fd, PART_BYTES_MAX, shown, &data, &length, err);
        if (r == 0 && sbx_cases_set_file(cases, index, part, data, length, &failure) < 0)
                r = report_take(err, failure);
        return r;
}

static int read_parts(sbx_request *req, sbx_cases *cases, const char *path, struct error *err)
{
        const char *slash = strrchr(path, '/');
        AUTO_FREE char *folder =
                slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
        AUTO_CLOSE int fd = -1;
        int r;

        if (!folder)
                return error_set_nomem(err);
        r = run_open(req, folder, O_PATH | O_DIRECTORY, 0, &fd, err);
        if (r > 0)
                return error_set_errno(err, "open the folder of the cases file");
        for (size_t i = 0; i < sbx_cases_count(cases) && r == 0; i++) {
                r = read_part(cases, i, "stdin", fd, err);
                if (r == 0)
                        r = read_part(cases, i, "expected", fd, err);
                if (r < 0)
                        error_prefix(err, "case %zu", i + 1);
        }
        return r;
}

int run_cases_read(const struct options *options, sbx_request *req, sbx_cases **ret_cases,
                   struct error *err)
{
        const char *path = options_value(options, "cases");
        AUTO_FREE char *text = NULL;
        sbx_error *failure = NULL;
        sbx_cases *cases = NULL;
        size_t length = 0;
        int r;

        *ret_cases = NULL;
        if (!path)
                return 0;
        r = run_read_file(req, path, CASES_BYTES_MAX, &text, &length, err);
        if (r == 0) {
                cases = sbx_cases_load(text, length, path, &failure);
                r = cases ? read_parts(req, cases, path, err) : report_take(err, failure);
        }
        if (r < 0) {
                error_prefix(err, "option '--cases'");
                sbx_cases_free(cases);
                return r;
        }
        *ret_cases = cases;
        return 0;
}

int run_cases_jobs(const struct options *options, unsigned *ret_jobs, struct error *err)
{
        const char *text = options_value(options, "jobs");
        unsigned jobs = 0;
        char shown[80];

        *ret_jobs = 0;
        if (!text)
                return 0;
        if (!options_given(options, "cases"))
                return error_set(err, SBX_EINVAL, "option '--jobs': goes with '--cases' alone");
        for (const char *p = text; *p; p++) {
                if (*p < '0' || *p > '9' || (p == text && *p == '0') || jobs > JOBS_MAX)
                        return error_set(err, SBX_EINVAL,
                                         "option '--jobs': '%s' is not a number from 1 to %d",
                                         str_printable(text, shown, sizeof(shown)), JOBS_MAX);
                jobs = jobs * 10 + (unsigned)(*p - '0');
        }
        if (jobs < 1 || jobs > JOBS_MAX)
                return error_set(err, SBX_EINVAL, "option '--jobs': must be from 1 to %d",
                                 JOBS_MAX);
        *ret_jobs = jobs;
        return 0;
}

/* ---- verdicts ---- */

/* For the raw and text forms: a line on standard output. A reader that is gone ends the run. */
void run_cases_hear(const sbx_event *event, void *userdata)
{
        struct run_verdicts *verdicts = userdata;
        AUTO_STRBUF struct strbuf line = { 0 };

        if (strcmp(event->kind, "case") != 0 || verdicts->failure)
                return;
        strbuf_addf(&line, "%s\n", event->text);
        if (!line.failed && fd_write_all(1, line.data, line.length) == 0)
                return;
        verdicts->failure = line.failed ? ENOMEM : errno;
        sbx_request_cancel(verdicts->req);
}

int run_cases_summary(const struct cli *cli, const struct run_verdicts *verdicts,
                      const sbx_result *result, struct error *err)
{
        const char *message = sbx_result_message(result);
        size_t length = message ? strcspn(message, ";") : 0;
        AUTO_STRBUF struct strbuf line = { 0 };

        if (verdicts->failure)
                return error_set(err, SBX_EOUTPUT, "write standard output: %s",
                                 strerror(verdicts->failure));
        if (!str_equal(sbx_result_status(result), "ok") &&
            !str_equal(sbx_result_status(result), "failed"))
                return 0; /* told as an outcome */
        strbuf_add(&line, message ? message : "", length);
        strbuf_adds(&line, "\n");
        if (line.failed)
                return error_set_nomem(err);
        return report_write(cli, line.data, line.length, err);
}
