/*
 * Theory of operation: a measured process is started with posix_spawn and waited for by its pid. An
 * alarm ends the wait for one that hangs; a timer costs less, and the same for all, than watching a
 * descriptor. The process is killed then and only then.
 */
#include "cli/bench.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 32 };

static void wake(int number)
{
        (void)number; /* its arrival ends waitpid(), that is all */
}

static int spawn_prepared(char *const *argv, char *const *environment, const int fds[2],
                          posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                          pid_t *ret_pid)
{
        sigset_t defaults;
        int failed;

        (void)sigemptyset(&defaults);
        (void)sigaddset(&defaults, SIGPIPE);
        failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
        for (int i = 0; i < 2 && !failed; i++)
                failed = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(actions, fds[i], 1 + i)
                                     : posix_spawn_file_actions_addopen(actions, 1 + i, "/dev/null",
                                                                        O_WRONLY, 0);
        if (!failed)
                failed = posix_spawnattr_setsigdefault(attributes, &defaults);
        if (!failed)
                failed = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
        if (!failed)
                failed = posix_spawn(ret_pid, argv[0], actions, attributes, argv, environment);
        return failed;
}

int bench_spawn(char *const *argv, char *const *environment, const int fds[2], pid_t *ret_pid,
                struct error *err)
{
        const struct sigaction action = { .sa_handler = wake };
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int failed;

        (void)sigaction(SIGALRM, &action, NULL); /* fails for bad numbers alone */
        if (posix_spawn_file_actions_init(&actions) != 0)
                return error_set_nomem(err);
        if (posix_spawnattr_init(&attributes) != 0) {
                (void)posix_spawn_file_actions_destroy(&actions);
                return error_set_nomem(err);
        }
        (void)alarm(BENCH_CHILD_SECONDS);
        failed = spawn_prepared(argv, environment, fds, &actions, &attributes, ret_pid);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        if (failed) {
                (void)alarm(0);
                return error_set(err, SBX_ESYSTEM, "start '%s': %s", argv[0], strerror(failed));
        }
        return 0;
}

/* Whether it ended by itself; the status is there in either case. */
static bool wait_bounded(pid_t pid, int *ret_status)
{
        while (waitpid(pid, ret_status, 0) < 0) {
                /* Another signal than the alarm leaves some of its time; the child is waited for.
                 */
                if (errno == EINTR && alarm(BENCH_CHILD_SECONDS) > 0)
                        continue;
                (void)kill(pid, SIGKILL);
                while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                        ;
                return false;
        }
        return true;
}

int bench_wait(pid_t pid, const char *what, struct error *err)
{
        int status = 0;
        bool ended = wait_bounded(pid, &status);

        (void)alarm(0);
        if (!ended)
                return error_set(err, SBX_ESYSTEM, "%s: still running after %d s", what,
                                 BENCH_CHILD_SECONDS);
        if (WIFSIGNALED(status))
                return error_set(err, SBX_ESYSTEM, "%s: died of signal %d", what, WTERMSIG(status));
        if (WEXITSTATUS(status) != 0)
                return error_set(err, SBX_ESYSTEM, "%s: exit code %d", what, WEXITSTATUS(status));
        return 0;
}

static void expand(const struct bench *bench, const char *word, const char *tool,
                   struct strbuf *out)
{
        const struct {
                const char *name;
                const char *value;
        } values[] = {
                { "{self}", bench->self },
                { "{hello}", bench->hello },
                { "{tool}", tool },
                { "{python}", bench->python },
                { "{dir}", bench->directory },
                { "{id}", bench->id },
                { "{judge}", bench->judge_address },
                { "{judge-group}", bench->judge_group },
        };

        while (*word) {
                size_t i;

                for (i = 0; i < ARRAY_SIZE(values); i++)
                        if (str_has_prefix(word, values[i].name))
                                break;
                if (i < ARRAY_SIZE(values)) {
                        strbuf_adds(out, values[i].value);
                        word += strlen(values[i].name);
                } else {
                        strbuf_add(out, word++, 1);
                }
        }
}

int bench_command(struct bench *bench, const char *const *command, const char *tool,
                  enum bench_surroundings surroundings, int stdout_fd, pid_t *ret_pid,
                  struct error *err)
{
        const int fds[2] = { stdout_fd, bench->error_fd };
        struct strlist argv = { 0 };
        int r = 0;

        for (size_t i = 0; i < WORDS_MAX && command[i] && r == 0; i++) {
                AUTO_STRBUF struct strbuf word = { 0 };

                expand(bench, command[i], tool, &word);
                if (word.failed || strlist_add(&argv, word.data ? word.data : "") < 0)
                        r = error_set_nomem(err);
        }
        if (r == 0)
                r = bench_spawn(argv.items, bench->environments[surroundings].items, fds, ret_pid,
                                err);
        strlist_done(&argv);
        return r;
}

void bench_command_line(const struct bench *bench, const char *const *command, const char *tool,
                        struct strbuf *out)
{
        for (size_t i = 0; i < WORDS_MAX && command[i]; i++) {
                bool has_space = strchr(command[i], ' ') != NULL;

                strbuf_adds(out, i ? " " : "");
                strbuf_adds(out, has_space ? "'" : "");
                expand(bench, command[i], tool, out);
                strbuf_adds(out, has_space ? "'" : "");
        }
}
