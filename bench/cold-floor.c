/*
 * The least that a contained cold start takes of the kernel: `build/bench/cold-floor [RUNS]`, as
 * root.
 *
 * One process, born in six fresh namespaces by one call, executes a static program; nothing is
 * filtered, dropped, proved or told. With groups: it also enters a control group of version 1 in
 * each hierarchy that a run uses, which is made before and removed after. With a root: in memory,
 * with devices, terminals, processes and the program, and the old one let go of. As a command: all
 * of that by a program that is itself started, as `sandbox run` is, with the same C library. With
 * the walls: limits of the groups, a workspace, files of /etc, a guest that is not pid 1 and has a
 * user namespace, no rights, Landlock and the filter. Beside: the network namespace is made by
 * another process meanwhile. No policy, plan, helper, proof, result or record is in any of them. In
 * turn with a bare start of the same program; medians, and how often the bare one goes into them.
 */
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/namespace.h"
#include "kernel/seccomp.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BARE, NAMESPACES, WITH_GROUPS, WITH_ROOT, AS_COMMAND, WITH_WALLS, BESIDE, KINDS };
enum { RUNS_MAX = 10000, STACK = 65536, GROUPS = 4, GUEST_ID = 1000, GUEST_UID = 1879048192 };
enum { OLD_NAMESPACES = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS };

static const char *const kinds[KINDS] = { "bare",
                                          "six namespaces",
                                          "and four control groups",
                                          "and a root",
                                          "and as a command",
                                          "and the walls",
                                          "the network beside" };
static const char *const hierarchies[GROUPS] = { "memory", "pids", "cpu", "cpuacct" };
static const struct {
        const char *path;
        unsigned minor;
} devices[] = { { "dev/null", 3 },
                { "dev/zero", 5 },
                { "dev/full", 7 },
                { "dev/random", 8 },
                { "dev/urandom", 9 } };
static const char *const files[] = { "passwd", "group", "hosts", "resolv.conf", "nsswitch.conf" };
static char self[4096], hello[4096], groups[GROUPS][256];
static char stacks[3][STACK] __attribute__((aligned(16)));
static int host_proc, tasks[GROUPS], is_made, is_taken; /* the last two: futexes */
static pid_t maker;
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

static void must(long r)
{
        if (r < 0)
                _exit(125);
}

/* ---- control groups ---- */

static void set_limit(int group, const char *name, const char *value)
{
        char path[1100];
        int fd;

        (void)snprintf(path, sizeof(path), "%s/%s", groups[group], name);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        must(fd);
        must(write(fd, value, strlen(value)));
        (void)close(fd);
}

static void make_groups(int kind)
{
        for (int i = 0; i < GROUPS; i++) {
                char path[1100];

                if (mkdir(groups[i], 0755) < 0)
                        fail(groups[i]);
                (void)snprintf(path, sizeof(path), "%s/tasks", groups[i]);
                tasks[i] = open(path, O_WRONLY | O_CLOEXEC);
                if (tasks[i] < 0)
                        fail(path);
        }
        if (kind < WITH_WALLS)
                return;
        set_limit(0, "memory.limit_in_bytes", "268435456");
        set_limit(1, "pids.max", "64");
        set_limit(2, "cpu.cfs_quota_us", "100000");
}

static void enter_groups(void)
{
        for (int i = 0; i < GROUPS; i++) {
                must(write(tasks[i], "0", 1));
                (void)close(tasks[i]);
        }
}

static void remove_groups(void)
{
        for (int i = 0; i < GROUPS; i++) {
                (void)close(tasks[i]);
                if (rmdir(groups[i]) < 0)
                        fail(groups[i]);
        }
}

/* ---- the root ---- */

static void bind_file(const char *from, const char *to)
{
        must(mknod(to, S_IFREG | 0644, 0));
        must(mount(from, to, NULL, MS_BIND, NULL));
}

/* What a program may write to, and the few files that it looks for. */
static void make_places(void)
{
        must(mkdir("workspace", 0755));
        must(mkdir("tmp", 0755));
        must(mkdir("etc", 0755));
        must(mount("floor", "workspace", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,nr_inodes=1000"));
        must(mkdir("workspace/tmp", 01777));
        must(mount("workspace/tmp", "tmp", NULL, MS_BIND, NULL));
        must(mount("workspace/tmp", "dev/shm", NULL, MS_BIND, NULL));
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
                char path[64];
                int fd;

                (void)snprintf(path, sizeof(path), "etc/%s", files[i]);
                fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
                must(fd);
                must(write(fd, "sandbox\n", 8));
                (void)close(fd);
        }
}

static void make_root(int kind)
{
        must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
        must(mount("floor", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
        must(chdir("/proc"));
        must(mkdir("dev", 0755));
        must(mkdir("dev/pts", 0755));
        must(mkdir("dev/shm", 0755));
        must(mkdir("proc", 0755));
        for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
                must(mknod(devices[i].path, S_IFCHR | 0666, makedev(1, devices[i].minor)));
        must(mount_devices("dev"));
        must(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance"));
        must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
        bind_file(hello, "program");
        if (kind >= WITH_WALLS)
                make_places();
        must((int)syscall(SYS_pivot_root, ".", "."));
        must(umount2(".", MNT_DETACH));
        must(chdir("/"));
}

/* ---- the network beside ---- */

static void tell(int *flag)
{
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        (void)syscall(SYS_futex, flag, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wait_for(int *flag)
{
        while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
                (void)syscall(SYS_futex, flag, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static int make_network(void *argument)
{
        (void)argument;
        must(unshare(CLONE_NEWNET));
        tell(&is_made);
        wait_for(&is_taken);
        _exit(0);
}

static void take_network(void)
{
        char path[64];
        int fd;

        wait_for(&is_made);
        (void)snprintf(path, sizeof(path), "%ld/ns/net", (long)maker);
        fd = openat(host_proc, path, O_RDONLY | O_CLOEXEC);
        must(fd);
        must(setns(fd, CLONE_NEWNET));
        tell(&is_taken);
        (void)close(fd);
}

/* ---- the program ---- */

static void raise_walls(void)
{
        static const struct {
                const char *path;
                enum landlock_access access;
        } rules[] = {
                { "/", LANDLOCK_LIST },      { "/proc", LANDLOCK_READ },
                { "/dev", LANDLOCK_DEVICE }, { "/dev/shm", LANDLOCK_WRITE },
                { "/tmp", LANDLOCK_WRITE },  { "/workspace", LANDLOCK_WRITE },
                { "/etc", LANDLOCK_READ },   { "/program", LANDLOCK_READ },
        };
        const struct rlimit none = { 0, 0 };
        int abi = landlock_abi(), set = landlock_new(abi, abi >= 6, abi >= 4);

        must(setsid());
        must(setrlimit(RLIMIT_CORE, &none));
        must(caps_become(GUEST_UID, GUEST_UID));
        must(unshare(CLONE_NEWUSER));
        must(namespace_map_self(host_proc, GUEST_ID, GUEST_UID, GUEST_ID, GUEST_UID));
        must(caps_drop_all(false));
        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        for (size_t i = 0; abi > 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
                must(landlock_allow(set, abi, rules[i].path, rules[i].access));
        must(abi > 0 ? landlock_apply(set) : 0);
        must(sys_close_range(3, ~0u));
        must(seccomp_apply(false, false, false, NULL));
}

static int start_program(void *argument)
{
        int kind = *(const int *)argument;
        char *words[] = { kind >= WITH_ROOT ? (char[]){ "/program" } : hello, NULL };
        char *variables[] = { NULL };

        if (kind >= WITH_WALLS)
                raise_walls();
        (void)execve(words[0], words, variables);
        _exit(127);
}

/* The first process in the namespaces; from WITH_WALLS on it stays, as the parent of another. */
static int start(void *argument)
{
        int kind = *(const int *)argument, null = open("/dev/null", O_WRONLY | O_CLOEXEC), status;
        pid_t guest;

        (void)dup2(null, 1);
        if (kind >= WITH_ROOT)
                make_root(kind);
        if (kind == BESIDE)
                take_network();
        if (kind >= WITH_GROUPS)
                enter_groups();
        if (kind < WITH_WALLS)
                start_program(argument);
        must(sethostname("sandbox", strlen("sandbox")));
        must(unshare(CLONE_NEWCGROUP));
        guest = clone(start_program, stacks[2] + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
        must(guest);
        must(waitpid(guest, &status, __WALL));
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 124);
}

/* By a program of its own, which is this one. */
static void run_command(int kind)
{
        char number[] = { (char)('0' + (kind == AS_COMMAND ? WITH_ROOT : kind)), '\0' };
        char *words[] = { self, (char[]){ "--once" }, number, NULL }, *variables[] = { NULL };
        int status;
        pid_t pid;

        if (posix_spawn(&pid, self, NULL, NULL, words, variables) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0)
                fail("the command");
}

static int flags_of(int kind)
{
        if (kind == BARE)
                return 0;
        if (kind == BESIDE)
                return OLD_NAMESPACES;
        return OLD_NAMESPACES | CLONE_NEWNET | (kind < WITH_WALLS ? CLONE_NEWCGROUP : 0);
}

static void run(int kind)
{
        int status;
        pid_t pid;

        host_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (kind == BESIDE)
                maker = clone(make_network, stacks[1] + STACK, CLONE_VM | SIGCHLD, NULL);
        if (kind >= WITH_GROUPS)
                make_groups(kind);
        pid = clone(start, stacks[0] + STACK,
                    CLONE_VM | (kind < WITH_WALLS ? CLONE_VFORK : 0) | SIGCHLD | flags_of(kind),
                    &kind);
        if (pid < 0 || maker < 0)
                fail("clone");
        if (waitpid(pid, &status, __WALL) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail("the program");
        if (maker > 0)
                (void)waitpid(maker, NULL, __WALL);
        (void)close(host_proc);
        if (kind >= WITH_GROUPS)
                remove_groups();
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
        if (once && argc > 2) {
                run(argv[2][0] - '0');
                return 0;
        }
        for (int i = -5; i < runs; i++)
                for (int kind = 0; kind < KINDS; kind++) {
                        double start_ms = now_ms();

                        if (kind >= AS_COMMAND)
                                run_command(kind);
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
