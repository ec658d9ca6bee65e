/*
 * Theory of operation. The child has a process group of its own, which is killed as a whole once
 * its leader has ended or time is up. The caller's thread waits for exactly this child, so other
 * children of the process are left alone.
 */
#include "engine/ask.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads what is there; false at the end of the stream. What is too much is read and dropped. */
static bool take(int fd, struct strbuf *text)
{
        char buffer[4096];
        ssize_t n = read(fd, buffer, sizeof(buffer));

        if (n < 0)
                return errno == EINTR || errno == EAGAIN;
        if (n > 0 && text->length + (size_t)n <= ASK_OUTPUT_MAX)
                strbuf_add(text, buffer, (size_t)n);
        return n > 0;
}

/* Listens until the leader has ended and its streams are empty. 0, or the error that ends it. */
static int listen_to(int process, int streams[2], uint64_t deadline_ns, int cancel_fd,
                     struct ask_answer *answer, struct error *err)
{
        for (;;) {
                struct pollfd items[] = { { process, POLLIN, 0 },
                                          { streams[0], POLLIN, 0 },
                                          { streams[1], POLLIN, 0 },
                                          { cancel_fd, POLLIN, 0 } };
                uint64_t now = clock_now_ns();

                if (now >= deadline_ns)
                        return error_set(err, SBX_EREFUSED, "it did not answer in time");
                if (poll(items, 4, (int)((deadline_ns - now) / 1000000 + 1)) < 0 && errno != EINTR)
                        return error_set_errno(err, "wait for an answer");
                if (items[3].revents)
                        return error_set(err, SBX_EREFUSED, "cancelled");
                for (int i = 0; i < 2; i++)
                        if (items[1 + i].revents &&
                            !take(streams[i], i == 0 ? &answer->out : &answer->err))
                                fd_close(fd_take(&streams[i]));
                /* A grandchild may hold the streams: the leader's end is the end. */
                if (items[0].revents && !items[1].revents && !items[2].revents)
                        return 0;
        }
}

static int converse(const struct strlist *command, unsigned timeout_ms, int cancel_fd,
                    struct ask_answer *answer, struct error *err)
{
        uint64_t deadline_ns = clock_now_ns() + UINT64_C(1000000) * timeout_ms;
        AUTO_CLOSE int process = -1;
        struct spawn_fd theirs[2] = { { -1, 1 }, { -1, 2 } };
        int ours[2] = { -1, -1 }, ends[2];
        pid_t pid = -1;
        int r = 0;

        for (int i = 0; i < 2 && r == 0; i++) {
                if (pipe2(ends, O_CLOEXEC) < 0) {
                        r = error_set_errno(err, "make a pipe");
                } else {
                        ours[i] = ends[0];
                        theirs[i] = (struct spawn_fd){ spawn_move_up(ends[1]), 1 + i };
                }
        }
        if (r == 0) {
                errno = spawn_tool(command->items, environ, theirs, ARRAY_SIZE(theirs), &pid);
                if (errno != 0)
                        r = error_set_errno(err, "start '%s'", command->items[0]);
        }
        fd_close(theirs[0].fd);
        fd_close(theirs[1].fd);
        if (r == 0) {
                process = sys_pidfd_open(pid);
                r = process < 0 ? error_set_errno(err, "watch '%s'", command->items[0])
                                : listen_to(process, ours, deadline_ns, cancel_fd, answer, err);
                (void)kill(-pid, SIGKILL); /* the rest of its group; gone already is as well */
                while (waitpid(pid, &answer->wait_status, 0) < 0 && errno == EINTR)
                        ;
        }
        fd_close(ours[0]);
        fd_close(ours[1]);
        return r;
}

int ask(const struct strlist *command, unsigned timeout_ms, int cancel_fd,
        struct ask_answer *ret_answer, struct error *err)
{
        int r;

        *ret_answer = (struct ask_answer){ .wait_status = -1 };
        r = converse(command, timeout_ms, cancel_fd, ret_answer, err);
        /* Streams are strings to whoever reads them. */
        strbuf_add(&ret_answer->out, "", 0);
        strbuf_add(&ret_answer->err, "", 0);
        if (r == 0 && (ret_answer->out.failed || ret_answer->err.failed))
                r = error_set_nomem(err);
        if (r < 0)
                ask_answer_done(ret_answer);
        return r;
}

void ask_answer_done(struct ask_answer *answer)
{
        strbuf_done(&answer->out);
        strbuf_done(&answer->err);
}
