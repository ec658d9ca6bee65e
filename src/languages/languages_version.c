/*
 * Theory of operation. The tool's own program, found at a path that the language file names, is
 * started once with its version arguments, as the caller and outside of any sandbox: it is as
 * trusted as the language file, and never the guest's. It gets an empty environment, no input, the
 * root directory, a process group of its own, and five seconds; then the whole group is killed. The
 * caller's thread waits for exactly this child, so other children of the process are left alone.
 */
#include "languages/languages_find.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/spawn.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void version_extract(const char *text, size_t length, char version[VERSION_MAX])
{
        version[0] = '\0';
        for (size_t start = 0; start < length; start++) {
                size_t end = start, dots = 0;

                if (!isdigit((unsigned char)text[start]))
                        continue;
                while (end < length && (isdigit((unsigned char)text[end]) ||
                                        (text[end] == '.' && end + 1 < length &&
                                         isdigit((unsigned char)text[end + 1]))))
                        dots += text[end++] == '.';
                if (dots > 0 && end - start < VERSION_MAX) {
                        memcpy(version, text + start, end - start);
                        version[end - start] = '\0';
                        return;
                }
                start = end;
        }
}

int version_compare(const char *a, const char *b)
{
        while (*a || *b) {
                char *a_end = NULL, *b_end = NULL;
                unsigned long long x = strtoull(a, &a_end, 10), y = strtoull(b, &b_end, 10);

                if (x != y)
                        return x < y ? -1 : 1;
                a = *a_end == '.' ? a_end + 1 : "";
                b = *b_end == '.' ? b_end + 1 : "";
        }
        return 0;
}

/* ---- the process ---- */

/* Waits until `fd` can be read, or has ended. False when the time is up. */
static bool wait_for(int fd, uint64_t deadline_ns)
{
        struct pollfd item = { .fd = fd, .events = POLLIN };

        for (;;) {
                uint64_t now = clock_now_ns();
                int n;

                if (fd < 0 || now >= deadline_ns)
                        return false;
                n = poll(&item, 1, (int)((deadline_ns - now) / 1000000 + 1));
                if (n > 0)
                        return true;
                if (n < 0 && errno != EINTR)
                        return false;
        }
}

/* Reads until the end or until the buffer is full. False when the time is up. */
static bool read_answer(int fd, char *answer, size_t *used, uint64_t deadline_ns)
{
        while (*used < VERSION_OUTPUT_MAX) {
                ssize_t n;

                if (!wait_for(fd, deadline_ns))
                        return false;
                n = read(fd, answer + *used, VERSION_OUTPUT_MAX - *used);
                if (n == 0)
                        return true;
                if (n < 0 && errno != EINTR)
                        return false;
                if (n > 0)
                        *used += (size_t)n;
        }
        return true;
}

/* Gives the tool until the deadline to end by itself, then ends it. Whether it ended with 0. */
static bool finish(pid_t pid, bool may_wait, uint64_t deadline_ns, bool *ret_ended)
{
        AUTO_CLOSE int process = (int)syscall(SYS_pidfd_open, pid, 0);
        int status = 0;

        *ret_ended = may_wait && wait_for(process, deadline_ns);
        (void)kill(-pid, SIGKILL); /* the rest of its group, too; gone already is as well */
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return *ret_ended; /* the caller has its children reaped by the kernel */
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool tool_ask(const char *const *argv, const char *const *environment, unsigned timeout_ms,
              char answer[VERSION_OUTPUT_MAX], size_t *ret_used)
{
        uint64_t deadline_ns = clock_now_ns() + UINT64_C(1000000) * timeout_ms;
        AUTO_CLOSE int input = -1;
        AUTO_CLOSE int output = -1;
        bool answered, ended = false;
        size_t used = 0;
        int ends[2];
        pid_t pid;

        *ret_used = 0;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        input = ends[0];
        output = spawn_move_up(ends[1]);
        if (spawn_tool((char *const *)argv, (char *const *)environment,
                       (struct spawn_fd[]){ { output, 1 }, { output, 2 } }, 2, &pid) != 0)
                return false;
        fd_close(fd_take(&output));
        answered = read_answer(input, answer, &used, deadline_ns);
        fd_close(fd_take(&input)); /* one that writes on gets SIGPIPE instead of waiting for us */
        if (finish(pid, answered, deadline_ns, &ended) || used == VERSION_OUTPUT_MAX)
                *ret_used = used;
        return ended;
}

bool version_ask(const char *path, const char *const *arguments, unsigned timeout_ms,
                 char version[VERSION_MAX])
{
        static const char *const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
        const char *argv[TOOL_ARGUMENTS_MAX] = { path };
        char answer[VERSION_OUTPUT_MAX];
        size_t used;
        bool ended;

        for (size_t i = 0; arguments[i] && i + 2 < TOOL_ARGUMENTS_MAX; i++)
                argv[i + 1] = arguments[i];
        ended = tool_ask(argv, environment, timeout_ms, answer, &used);
        version_extract(answer, used, version);
        return ended;
}
