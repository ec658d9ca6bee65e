/*
 * go-judge has no command for one run: it is a server, which is started once, on a port of the
 * loopback that nobody else has, and asked over HTTP. A run that is timed is one connection, from
 * connect() to the answer's end.
 */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
        ANSWER_MAX = 1 << 16,
        OUTPUT_MAX = 1 << 12,
        TRIES = 100,
        PAUSE_NS = 50000000,
        ANSWER_SECONDS = 10
};

const char *const bench_judge_command[] = { "{tool}",        "-release", "-silent",
                                            "-http-addr",    "{judge}",  "-cgroup-prefix",
                                            "{judge-group}", NULL };

/* A socket of the loopback with a port that was free a moment ago. */
static int find_port(struct bench *bench, struct error *err)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(address);
        AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            getsockname(fd, (struct sockaddr *)&address, &length) < 0)
                return error_set_errno(err, "find a port");
        bench->judge_port = ntohs(address.sin_port);
        (void)snprintf(bench->judge_address, sizeof(bench->judge_address), "127.0.0.1:%u",
                       bench->judge_port);
        return 0;
}

static int connect_judge(const struct bench *bench, struct error *err)
{
        const struct sockaddr_in address = { .sin_family = AF_INET,
                                             .sin_port = htons(bench->judge_port),
                                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const struct timeval longest = { .tv_sec = ANSWER_SECONDS };
        AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)) < 0 ||
            connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return error_set_errno(err, "reach go-judge");
        return fd_take(&fd);
}

int bench_prepare_judge(struct bench *bench, const char *tool, struct error *err)
{
        const struct timespec moment = { .tv_nsec = PAUSE_NS };
        int r;

        if (bench->judge > 0)
                return 0;
        (void)snprintf(bench->judge_group, sizeof(bench->judge_group), "sandbox-bench-%ld",
                       (long)getpid());
        r = find_port(bench, err);
        if (r == 0)
                r = bench_command(bench, bench_judge_command, tool, BENCH_ALONE, -1, &bench->judge,
                                  err);
        (void)alarm(0); /* it lives as long as we do */
        for (int i = 0; r == 0 && i < TRIES && !run_signals_caught(); i++) {
                AUTO_CLOSE int fd = connect_judge(bench, NULL);

                if (fd >= 0)
                        return 0;
                (void)nanosleep(&moment, NULL);
        }
        return r < 0 ? r : error_set(err, SBX_ESYSTEM, "go-judge does not listen");
}

/* The control groups of its own, which it leaves when it ends; the name is nobody else's. Whether
 * one is still there: its helpers end a moment later than itself. */
static bool remove_groups(const struct bench *bench)
{
        static const char *const forms[] = { "/sys/fs/cgroup/%s/*", "/sys/fs/cgroup/*/%s/*",
                                             "/sys/fs/cgroup/%s", "/sys/fs/cgroup/*/%s" };
        bool is_left = false;

        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                char pattern[sizeof(bench->judge_group) + 32];
                glob_t found = { 0 };

                (void)snprintf(pattern, sizeof(pattern), forms[i], bench->judge_group);
                if (glob(pattern, 0, NULL, &found) == 0)
                        for (size_t j = 0; j < found.gl_pathc; j++) /* files go with a group */
                                is_left |= rmdir(found.gl_pathv[j]) < 0 && errno == EBUSY;
                globfree(&found);
        }
        return is_left;
}

void bench_finish_judge(struct bench *bench, const char *tool)
{
        const struct timespec moment = { .tv_nsec = PAUSE_NS };

        (void)tool;
        if (bench->judge <= 0)
                return;
        (void)kill(bench->judge, SIGTERM); /* our child, not yet waited for */
        (void)alarm(BENCH_CHILD_SECONDS);
        (void)bench_wait(bench->judge, "go-judge", NULL); /* it is gone in either case */
        bench->judge = 0;
        for (int i = 0; i < TRIES && remove_groups(bench); i++)
                (void)nanosleep(&moment, NULL);
}

/* The limits are those of our own runs. The static program is copied in; Python is among what it
 * binds by itself. */
static json_t *make_job(const struct bench *bench, const struct bench_row_kind *kind)
{
        json_t *arguments = kind->code ? json_pack("[sss]", bench->python, "-c", kind->code)
                                       : json_pack("[s]", "hello");
        json_t *copied =
                kind->code ? json_object() : json_pack("{s{ss}}", "hello", "src", bench->hello);

        return json_pack("{s[{so,s[s],s[{ss},{sssi},{sssi}],sI,sI,si,so}]}", "cmd", "args",
                         arguments, "env", "PATH=/usr/bin", "files", "content", "", "name",
                         "stdout", "max", OUTPUT_MAX, "name", "stderr", "max", OUTPUT_MAX,
                         "cpuLimit", (json_int_t)30000000000, "memoryLimit", (json_int_t)512 << 20,
                         "procLimit", 64, "copyIn", copied);
}

static int make_request(const struct bench *bench, const struct bench_row_kind *kind,
                        struct strbuf *request, struct error *err)
{
        json_t *job = make_job(bench, kind);
        char *body = job ? json_dumps(job, JSON_COMPACT) : NULL;

        if (body)
                strbuf_addf(request,
                            "POST /run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            strlen(body), body);
        json_decref(job);
        free(body);
        return !request->length || request->failed ? error_set_nomem(err) : 0;
}

int bench_ask_judge(struct bench *bench, const struct bench_row_kind *kind, struct error *err)
{
        AUTO_CLOSE int fd = connect_judge(bench, err);
        AUTO_STRBUF struct strbuf request = { 0 };
        AUTO_FREE char *answer = NULL;
        const char *said;
        size_t length;

        if (fd < 0 || make_request(bench, kind, &request, err) < 0)
                return SBX_ESYSTEM;
        if (fd_write_all(fd, request.data, request.length) < 0)
                return error_set_errno(err, "ask go-judge");
        if (fd_read_all(fd, ANSWER_MAX, "the answer of go-judge", &answer, &length, err) < 0)
                return SBX_ESYSTEM;
        if (str_has_prefix(answer, "HTTP/1.1 200 ") && strstr(answer, "\"status\":\"Accepted\""))
                return 0;
        said = strstr(answer, "\r\n\r\n");
        return error_set(err, SBX_ESYSTEM, "go-judge did not run it: %.160s",
                         said ? said + 4 : answer);
}
