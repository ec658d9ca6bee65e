/*
 * The least that a contained cold start takes of the kernel: `build/bench/cold-floor [RUNS]`, as
 * root.
 *
 * One process, born in six fresh namespaces by one call, executes a static program; nothing is
 * filtered, dropped, proved or told. With groups: it also enters a control group of version 1 in
 * each hierarchy that a run uses, which is made before and removed after. With a root: in memory,
 * with devices, terminals, processes and the program, and the old one let go of. As a command: all
 * of that by a program that is itself started, as `sandbox run` is. In turn with a bare start of
 * the same program; medians, and how often the bare one goes into them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BARE, NAMESPACES, WITH_GROUPS, WITH_ROOT, AS_COMMAND, KINDS };
enum { RUNS_MAX = 10000, STACK = 65536, GROUPS = 4 };

static const char *const kinds[KINDS] = { "bare", "six namespaces", "and four control groups",
                                          "and a root", "and as a command" };
static const char *const hierarchies[GROUPS] = { "memory", "pids", "cpu", "cpuacct" };
static const char *const devices[] = { "null", "zero", "full", "random", "urandom" };
static char self[4096], hello[4096], groups[GROUPS][256], stack[STACK] __attribute__((aligned(16)));
static double samples[KINDS][RUNS_MAX];

static double now_ms(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static _Noreturn void fail(const char *what)
{
        (void)fprintf(stderr, "cold-floor: %s: %s\n", what, strerror(errno));
        for (int i = 0; i < GROUPS; i++)
                (void)rmdir(groups[i]);
        exit(1);
}

static void enter_groups(void)
{
        for (int i = 0; i < GROUPS; i++) {
                char path[1100];
                int fd;

                (void)snprintf(path, sizeof(path), "%s/tasks", groups[i]);
                fd = open(path, O_WRONLY | O_CLOEXEC);
                if (fd < 0 || write(fd, "0", 1) != 1)
                        _exit(126);
                (void)close(fd);
        }
}

static void must(int r)
{
        if (r < 0)
                _exit(125);
}

static void bind_file(const char *from, const char *to)
{
        must(mknod(to, S_IFREG | 0644, 0));
        must(mount(from, to, NULL, MS_BIND, NULL));
}

static void make_root(void)
{
        must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
        must(mount("floor", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
        must(chdir("/proc"));
        must(mkdir("dev", 0755));
        must(mkdir("dev/pts", 0755));
        must(mkdir("proc", 0755));
        for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
                char from[64];

                (void)snprintf(from, sizeof(from), "/dev/%s", devices[i]);
                bind_file(from, from + 1);
        }
        must(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance"));
        must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
        bind_file(hello, "program");
        must((int)syscall(SYS_pivot_root, ".", "."));
        must(umount2(".", MNT_DETACH));
        must(chdir("/"));
}

static int start(void *argument)
{
        int kind = *(const int *)argument, null = open("/dev/null", O_WRONLY);
        char *words[] = { kind >= WITH_ROOT ? (char[]){ "/program" } : hello, NULL };
        char *variables[] = { NULL };

        if (kind >= WITH_GROUPS)
                enter_groups();
        if (kind >= WITH_ROOT)
                make_root();
        (void)dup2(null, 1);
        (void)execve(words[0], words, variables);
        _exit(127);
}

/* By a program of its own, which is this one. */
static void run_command(void)
{
        char *words[] = { self, (char[]){ "--once" }, NULL }, *variables[] = { NULL };
        int status;
        pid_t pid;

        if (posix_spawn(&pid, self, NULL, NULL, words, variables) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0)
                fail("the command");
}

static void run(int kind)
{
        int flags = CLONE_VM | CLONE_VFORK | SIGCHLD, status;
        pid_t pid;

        for (int i = 0; kind >= WITH_GROUPS && i < GROUPS; i++)
                if (mkdir(groups[i], 0755) < 0)
                        fail(groups[i]);
        if (kind > BARE)
                flags |= CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                         CLONE_NEWCGROUP;
        pid = clone(start, stack + STACK, flags, &kind);
        if (pid < 0)
                fail("clone");
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail("the program");
        for (int i = 0; kind >= WITH_GROUPS && i < GROUPS; i++)
                if (rmdir(groups[i]) < 0)
                        fail(groups[i]);
}

static int compare(const void *a, const void *b)
{
        double one = *(const double *)a, other = *(const double *)b;

        return (one > other) - (one < other);
}

int main(int argc, char **argv)
{
        bool once = argc > 1 && strcmp(argv[1], "--once") == 0;
        int runs = once ? 1 : argc > 1 ? atoi(argv[1]) : 200;
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 32);
        char *slash;

        (void)strcpy(hello, self);
        slash = n > 0 ? strrchr(hello, '/') : NULL;
        if (!slash || runs < 1 || runs > RUNS_MAX)
                return 1;
        (void)strcpy(slash, "/bench-hello");
        for (int i = 0; i < GROUPS; i++)
                (void)snprintf(groups[i], sizeof(groups[i]), "/sys/fs/cgroup/%s/cold-floor.%ld",
                               hierarchies[i], (long)getpid());
        if (once) {
                run(WITH_ROOT);
                return 0;
        }
        for (int i = -5; i < runs; i++)
                for (int kind = 0; kind < KINDS; kind++) {
                        double start_ms = now_ms();

                        if (kind == AS_COMMAND)
                                run_command();
                        else
                                run(kind);
                        if (i >= 0)
                                samples[kind][i] = now_ms() - start_ms;
                }
        for (int kind = 0; kind < KINDS; kind++) {
                qsort(samples[kind], (size_t)runs, sizeof(double), compare);
                printf("%-26s %7.3f ms %6.2fx\n", kinds[kind], samples[kind][runs / 2],
                       samples[kind][runs / 2] / samples[0][runs / 2]);
        }
        return 0;
}
