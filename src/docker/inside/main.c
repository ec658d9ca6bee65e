/*
 * sandbox-inside: the first process of a container that sandbox-docker made.
 *
 * Theory of operation. It has the program's user and rights, which are none, and is nevertheless
 * out of its reach: signals that a first process has no handler for are not delivered from within,
 * nobody looks into a process that is not dumpable, and the filter refuses ptrace. It waits for an
 * order on its standard input, starts the program with pipes of the container's, passes its input
 * on piece by piece, holds the limit of CPU time, ends whatever the program left, and then writes
 * the record. The end of its standard input means that sandbox-docker is gone: it leaves, and the
 * container ends with it. All sizes are fixed. Where no network was promised and there is a route
 * to somebody, it starts nothing.
 */
#include "docker/inside.h"
#include "docker/inside/group.h"
#include "docker/inside/processes.h"
#include "docker/inside/routes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
        WORDS_COUNT_MAX = 65536,
        PATH_BYTES = 4096,
        EXPANDED_MAX = 8 << 20,
        LOOK_MS = 20,
        GONE = 3,
};

struct inside {
        struct inside_order order;
        struct inside_end end;
        pid_t program;
        int status_fd; /* tells why the program could not be executed */
        int input_fd;  /* the program's, or -1 once it has all */
        int signal_fd;
        bool is_told;        /* to end everything */
        uint64_t cpu_before; /* what starting the container took */
        uint32_t piece_left;
        size_t held, sent; /* bytes of a piece that wait for the program */
};

static char words[INSIDE_WORDS_MAX + 1], expanded[EXPANDED_MAX], piece[INSIDE_PIECE_MAX];
static char *arguments[WORDS_COUNT_MAX + 1], *variables[WORDS_COUNT_MAX + 1];
static char tool[PATH_BYTES], runtime[PATH_BYTES];

static bool read_exactly(int fd, void *data, size_t length)
{
        for (size_t done = 0; done < length;) {
                ssize_t n = read(fd, (char *)data + done, length - done);

                if (n == 0 || (n < 0 && errno != EINTR))
                        return false;
                done += n > 0 ? (size_t)n : 0;
        }
        return true;
}

static void write_exactly(int fd, const void *data, size_t length)
{
        for (size_t done = 0; done < length;) {
                ssize_t n = write(fd, (const char *)data + done, length - done);

                if (n < 0 && errno == EAGAIN) {
                        /* The program may have made the pipe so. */
                        struct pollfd waits = { .fd = fd, .events = POLLOUT };

                        (void)poll(&waits, 1, -1);
                        continue;
                }
                if (n < 0 && errno != EINTR)
                        return;
                done += n > 0 ? (size_t)n : 0;
        }
}

/* The first of the paths that is a program; they may be patterns. */
static void find_program(char **word, uint32_t count, char *ret_path)
{
        for (uint32_t i = 0; i < count; i++) {
                glob_t found = { 0 };

                if (glob(*word, 0, NULL, &found) == 0)
                        for (size_t j = found.gl_pathc; j > 0 && !ret_path[0]; j--) {
                                struct stat st;
                                const char *path = found.gl_pathv[j - 1];

                                if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                                    access(path, X_OK) == 0 && strlen(path) < PATH_BYTES)
                                        (void)strcpy(ret_path, path);
                        }
                globfree(&found);
                *word += strlen(*word) + 1;
        }
}

static void root_of(const char *path, char *ret_root)
{
        char *slash;

        (void)strcpy(ret_root, path);
        for (int i = 0; i < 2 && (slash = strrchr(ret_root, '/')); i++)
                *slash = '\0';
}

static size_t replace(char *to, size_t room, const char *word)
{
        static char tool_root[PATH_BYTES], runtime_root[PATH_BYTES];
        const struct {
                const char *mark, *text;
        } meanings[] = {
                { INSIDE_TOOL, tool },
                { INSIDE_RUNTIME, runtime },
                { INSIDE_ROOT, tool_root },
                { INSIDE_RUNTIME_ROOT, runtime_root },
        };
        size_t length = 0;

        root_of(tool, tool_root);
        root_of(runtime, runtime_root);
        while (*word && length + PATH_BYTES + 1 < room) {
                size_t i = 0, count = sizeof(meanings) / sizeof(meanings[0]);

                while (i < count && strncmp(word, meanings[i].mark, strlen(meanings[i].mark)) != 0)
                        i++;
                if (i == count) {
                        to[length++] = *word++;
                        continue;
                }
                (void)strcpy(to + length, meanings[i].text);
                length += strlen(meanings[i].text);
                word += strlen(meanings[i].mark);
        }
        to[length] = '\0';
        return length + 1;
}

/* The words of the order, with what was found put in. NULL, or the directory to start in. */
static const char *understand(struct inside *inside)
{
        const struct inside_order *order = &inside->order;
        const char *directory = words;
        char *word = words + strlen(words) + 1;
        size_t used = 0;

        find_program(&word, order->tools, tool);
        find_program(&word, order->runtimes, runtime);
        for (uint32_t i = 0; i < order->arguments + order->variables; i++) {
                char **place =
                        i < order->arguments ? &arguments[i] : &variables[i - order->arguments];

                *place = expanded + used;
                used += replace(expanded + used, sizeof(expanded) - used, word);
                word += strlen(word) + 1;
        }
        return (order->tools && !tool[0]) || (order->runtimes && !runtime[0]) ? NULL : directory;
}

/* Whether the words are as many as the order says. */
static bool is_whole(const struct inside_order *order)
{
        uint64_t wanted =
                1 + (uint64_t)order->tools + order->runtimes + order->arguments + order->variables;
        uint64_t count = 0;

        for (uint32_t i = 0; i < order->length; i++)
                count += words[i] == '\0';
        return count == wanted && order->arguments > 0 && order->arguments <= WORDS_COUNT_MAX &&
               order->variables <= WORDS_COUNT_MAX;
}

static bool receive_order(struct inside *inside)
{
        struct inside_order *order = &inside->order;

        if (!read_exactly(STDIN_FILENO, order, sizeof(*order)) || order->magic != INSIDE_MAGIC ||
            order->length == 0 || order->length > INSIDE_WORDS_MAX ||
            !read_exactly(STDIN_FILENO, words, order->length))
                return false;
        memcpy(inside->end.secret, order->secret, INSIDE_SECRET);
        memcpy(inside->end.seal, order->seal, INSIDE_SECRET);
        return is_whole(order);
}

/* Where memory ends, the program and its children go before the first process does. Its files in
 * /proc are its own only while it is dumpable, which exec makes it anyway. */
static void be_first_to_go(void)
{
        int fd;

        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
                (void)!write(fd, "1000", 4); /* the larger one is chosen then */
                (void)close(fd);
        }
}

static _Noreturn void become_program(const char *directory, int input, int status)
{
        const struct rlimit none = { 0 };
        sigset_t nothing;
        int failure;

        sigemptyset(&nothing);
        (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)setsid();
        (void)setrlimit(RLIMIT_CORE, &none);
        be_first_to_go();
        umask(022);
        if (dup2(input, STDIN_FILENO) >= 0 && chdir(directory) == 0)
                (void)execve(arguments[0], arguments, variables);
        failure = errno;
        (void)!write(status, &failure, sizeof(failure)); /* nobody is left who could be told */
        _exit(127);
}

/* 0, or the errno for which there is no program. */
static int start(struct inside *inside, const char *directory)
{
        int input[2] = { -1, -1 }, status[2] = { -1, -1 }, failure = 0;

        if (pipe2(input, O_CLOEXEC) < 0 || pipe2(status, O_CLOEXEC) < 0)
                return errno;
        inside->program = fork();
        if (inside->program == 0)
                become_program(directory, input[0], status[1]);
        failure = inside->program < 0 ? errno : 0;
        (void)close(input[0]);
        (void)close(status[1]);
        if (failure == 0 && read(status[0], &failure, sizeof(failure)) != sizeof(failure))
                failure = 0;
        (void)close(status[0]);
        inside->input_fd = input[1];
        (void)fcntl(input[1], F_SETFL, O_NONBLOCK);
        return failure;
}

static void close_input(struct inside *inside)
{
        if (inside->input_fd >= 0)
                (void)close(inside->input_fd);
        inside->input_fd = -1;
        inside->held = inside->sent = 0;
}

/* The program's input, as far as it takes it. One that wants no more loses the rest. */
static void pass_on(struct inside *inside)
{
        while (inside->sent < inside->held) {
                ssize_t n = inside->input_fd < 0 ? (ssize_t)(inside->held - inside->sent)
                                                 : write(inside->input_fd, piece + inside->sent,
                                                         inside->held - inside->sent);

                if (n < 0 && errno == EAGAIN)
                        return;
                if (n < 0 && errno != EINTR)
                        close_input(inside);
                inside->sent += n > 0 ? (size_t)n : 0;
        }
        inside->held = inside->sent = 0;
}

static void take_piece(struct inside *inside)
{
        size_t most = inside->piece_left < sizeof(piece) ? inside->piece_left : sizeof(piece);
        ssize_t n;

        if (inside->piece_left == 0) {
                if (!read_exactly(STDIN_FILENO, &inside->piece_left, sizeof(inside->piece_left)))
                        _exit(GONE);
                if (inside->piece_left == 0)
                        close_input(inside);
                return;
        }
        n = read(STDIN_FILENO, piece, most);
        if (n == 0 || (n < 0 && errno != EINTR))
                _exit(GONE);
        inside->held = n > 0 ? (size_t)n : 0;
        inside->piece_left -= (uint32_t)inside->held;
        pass_on(inside);
}

/* SIGTERM is for everybody; SIGINT ends everybody. Both come from outside of the container, where
 * senders have no number here; who forges one cannot forge the kind. */
static void hear_signal(struct inside *inside)
{
        struct signalfd_siginfo info;

        if (read(inside->signal_fd, &info, sizeof(info)) != sizeof(info) || info.ssi_pid != 0 ||
            info.ssi_code != SI_USER)
                return;
        if (info.ssi_signo == SIGTERM) {
                (void)kill(-1, SIGTERM);
                (void)kill(-1, SIGCONT);
        } else if (info.ssi_signo == SIGINT) {
                inside->is_told = true;
        }
}

/* Reaps; true once the program itself has ended. */
static bool reap(struct inside *inside)
{
        struct rusage usage;
        int status;
        pid_t pid;
        bool ended = false;

        while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
                if (pid == inside->program) {
                        inside->end.wait_status = status;
                        ended = true;
                }
        return ended;
}

/* The group's own peak of processes has the engine's in it, which made the container. */
static void look(struct inside *inside)
{
        struct processes now = { 0 };

        if (inside->order.has_group) {
                now.cpu_us = group_cpu_us() - inside->cpu_before;
                now.count = group_processes_now();
        } else {
                now = processes_look();
        }
        inside->end.cpu_us = now.cpu_us;
        if (now.count > inside->end.processes_peak)
                inside->end.processes_peak = now.count;
        if (now.memory > inside->end.memory_peak)
                inside->end.memory_peak = now.memory;
}

static bool cpu_is_over(struct inside *inside)
{
        uint64_t limit = inside->order.cpu_us;

        inside->end.cpu_was_over = limit && inside->end.cpu_us >= limit;
        return inside->end.cpu_was_over;
}

/* A process of the program's was killed for want of memory: the others are not to go on without it.
 */
static bool memory_is_over(const struct inside *inside)
{
        return inside->order.has_group && group_memory_kills() > 0;
}

/* Until the program ends, or has to. */
static void watch(struct inside *inside)
{
        for (bool ended = false; !ended;) {
                struct pollfd slots[] = {
                        { .fd = inside->signal_fd, .events = POLLIN },
                        { .fd = STDIN_FILENO, .events = inside->held ? 0 : POLLIN },
                        { .fd = inside->held ? inside->input_fd : -1, .events = POLLOUT },
                };

                if (poll(slots, 3, LOOK_MS) < 0 && errno != EINTR)
                        _exit(GONE);
                if (slots[0].revents)
                        hear_signal(inside);
                if (slots[1].revents & POLLIN && !inside->held)
                        take_piece(inside);
                else if (slots[1].revents & (POLLHUP | POLLERR))
                        _exit(GONE);
                if (slots[2].revents)
                        pass_on(inside);
                look(inside);
                ended = reap(inside);
                if (!ended && (inside->is_told || cpu_is_over(inside) || memory_is_over(inside))) {
                        (void)kill(-1, SIGKILL);
                        ended = waitpid(inside->program, &inside->end.wait_status, 0) ==
                                inside->program;
                }
        }
}

/* Ends and counts whatever the program left. */
static void end_all(struct inside *inside)
{
        int status;

        (void)kill(-1, SIGKILL);
        while (wait4(-1, &status, 0, NULL) > 0 || errno == EINTR)
                inside->end.survivors++;
}

static bool is_full(const char *path)
{
        struct statfs fs;

        return statfs(path, &fs) == 0 && fs.f_blocks > 0 && (fs.f_bavail == 0 || fs.f_ffree == 0);
}

static uint32_t count_entries(const char *path)
{
        DIR *dir = opendir(path);
        uint32_t count = 0;

        /* One that the program closed is looked at all the same. */
        if (!dir && errno == EACCES && chmod(path, 0700) == 0)
                dir = opendir(path);
        if (!dir)
                return 1;
        while (readdir(dir))
                count++;
        (void)closedir(dir);
        return count > 2 ? count - 2 : 0;
}

static void settle(struct inside *inside)
{
        struct inside_end *end = &inside->end;
        struct rusage usage = { 0 };

        if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
                end->cpu_user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 +
                                   (uint64_t)usage.ru_utime.tv_usec;
                end->cpu_system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000 +
                                     (uint64_t)usage.ru_stime.tv_usec;
        }
        look(inside);
        if (inside->order.has_group) {
                end->memory_peak = group_memory_peak();
                end->memory_kills = group_memory_kills();
                end->fork_refusals = group_fork_refusals();
        } else if (end->memory_peak < (uint64_t)usage.ru_maxrss * 1024) {
                end->memory_peak = (uint64_t)usage.ru_maxrss * 1024; /* of the largest of them */
        }
        end->disk_is_full = is_full("/workspace") || is_full("/tmp") || is_full("/dev/shm");
        end->entries = count_entries("/workspace");
        write_exactly(STDOUT_FILENO, end, sizeof(*end));
        write_exactly(STDERR_FILENO, end, sizeof(*end));
}

int main(void)
{
        static struct inside inside = { .input_fd = -1 };
        const char *directory;
        char byte;
        sigset_t mask;

        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        sigfillset(&mask);
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        inside.signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        if (inside.signal_fd < 0 || !receive_order(&inside))
                return GONE;
        inside.cpu_before = group_cpu_us();
        directory = understand(&inside);
        if (inside.order.is_alone && routes_lead_out())
                inside.end.kind = INSIDE_NOT_ALONE;
        else if (!directory)
                inside.end.kind = INSIDE_NO_TOOL;
        else if ((inside.end.sys_errno = start(&inside, directory)) != 0)
                inside.end.kind = INSIDE_FAILED;
        if (inside.end.kind == INSIDE_EXITED)
                watch(&inside);
        end_all(&inside);
        settle(&inside);
        /* What the program made is fetched while this process holds the container open. */
        while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR)
                errno = 0;
        return 0;
}
