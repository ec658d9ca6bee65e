/*
 * Theory of operation. The child has a process group of its own, which is killed as a whole once
 * its leader has ended or time is up. The caller's thread waits for exactly this child, so other
 * children of the process are left alone.
 */
#include "engine/ask.h"
#include "base/clock.h"
#include "base/fd.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_up_files(posix_spawn_file_actions_t *files, const int pipes[2])
{
        if (posix_spawn_file_actions_adddup2(files, pipes[0], 1) != 0 ||
            posix_spawn_file_actions_adddup2(files, pipes[1], 2) != 0 ||
            posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
            posix_spawn_file_actions_addchdir_np(files, "/") != 0)
                return -1;
        return 0;
}

/* The caller may ignore or block signals; the tool starts with the usual ones. */
static int set_up_attributes(posix_spawnattr_t *attributes)
{
        sigset_t none, all;

        (void)sigemptyset(&none); /* cannot fail */
        (void)sigfillset(&all);
        if (posix_spawnattr_setpgroup(attributes, 0) != 0 ||
            posix_spawnattr_setsigmask(attributes, &none) != 0 ||
            posix_spawnattr_setsigdefault(attributes, &all) != 0 ||
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF) != 0)
                return -1;
        return 0;
}

static pid_t start(const struct strlist *command, const int pipes[2])
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attributes;
        pid_t pid = -1;
        int r;

        if (posix_spawn_file_actions_init(&files) != 0)
                return -1;
        if (posix_spawnattr_init(&attributes) == 0) {
                r = set_up_files(&files, pipes) < 0 || set_up_attributes(&attributes) < 0
                            ? ENOMEM
                            : posix_spawn(&pid, command->items[0], &files, &attributes,
                                          command->items, environ);
                errno = r;
                if (r != 0)
                        pid = -1;
                (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&files);
        return pid;
}

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
        int ours[2] = { -1, -1 }, theirs[2] = { -1, -1 }, ends[2];
        pid_t pid = -1;
        int r = 0;

        for (int i = 0; i < 2 && r == 0; i++) {
                if (pipe2(ends, O_CLOEXEC) < 0) {
                        r = error_set_errno(err, "make a pipe");
                } else {
                        ours[i] = ends[0];
                        theirs[i] = ends[1];
                }
        }
        if (r == 0) {
                pid = start(command, theirs);
                if (pid < 0)
                        r = error_set_errno(err, "start '%s'", command->items[0]);
        }
        fd_close(theirs[0]);
        fd_close(theirs[1]);
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
