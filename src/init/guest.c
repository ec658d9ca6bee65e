/*
 * The guest's process, from fork to exec: gives up one thing after another, in an order in which
 * each step still has what it needs, then proves what is in force and executes the program.
 */
#include "init/init.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/caps.h"
#include "kernel/seccomp.h"
#include "kernel/sys.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int start_session(struct init *init)
{
        sigset_t none;

        if (!init->is_parked) { /* an interpreter has its own way with signals already */
                (void)signal(SIGPIPE, SIG_DFL); /* the helper's own two */
                (void)signal(SIGXFSZ, SIG_DFL);
        }
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        return setsid() < 0 ? -1 : 0;
}

/* Sets soft and hard limit; where the hard limit is lower already and cannot be raised, that one.
 */
int guest_limit(int resource, uint64_t value)
{
        struct rlimit now, wanted = { value, value };

        if (getrlimit(resource, &now) < 0)
                return -1;
        if (now.rlim_max < value)
                wanted.rlim_cur = wanted.rlim_max = now.rlim_max;
        return setrlimit(resource, &wanted);
}

static int set_limits(struct init *init)
{
        static const struct {
                int resource;
                uint64_t value;
        } limits[] = {
                { RLIMIT_CORE, 0 }, { RLIMIT_MEMLOCK, 64 << 10 }, { RLIMIT_MSGQUEUE, 64 << 10 },
                { RLIMIT_NICE, 0 }, { RLIMIT_RTPRIO, 0 },         { RLIMIT_SIGPENDING, 1024 },
        };

        (void)init;
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                if (guest_limit(limits[i].resource, limits[i].value) < 0)
                        return -1;
        return 0;
}

static int set_run_limits(struct init *init)
{
        return guest_limit(RLIMIT_FSIZE, init->plan.file_bytes) < 0
                       ? -1
                       : guest_limit(RLIMIT_CPU, init->plan.cpu_seconds);
}

/* In the guest's user namespace, where nobody but its processes is counted: a limit that stood
 * before would have become that of the namespace around it, where keepers and nests are. */
static int limit_processes(struct init *init)
{
        return init->plan.processes ? guest_limit(RLIMIT_NPROC, init->plan.processes) : 0;
}

/* Which CPUs: those of this process, from a place that differs between runs. */
static int pin(struct init *init)
{
        cpu_set_t allowed, chosen;
        unsigned left = init->plan.pin_cpus;
        uint16_t start;

        if (left == 0)
                return 0;
        if (getrandom(&start, sizeof(start), 0) < 0 ||
            sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
                return -1;
        CPU_ZERO(&chosen);
        for (unsigned i = 0; i < CPU_SETSIZE && left > 0; i++) {
                unsigned cpu = (start + i) % CPU_SETSIZE;

                if (CPU_ISSET(cpu, &allowed)) {
                        CPU_SET(cpu, &chosen);
                        left--;
                }
        }
        return sched_setaffinity(0, sizeof(chosen), &chosen);
}

int guest_become(struct init *init)
{
        return init->change_uid ? caps_become(init->guest_uid, init->guest_uid) : 0;
}

/* A namespace of the guest's own below everything set up so far: nothing it could ever regain in it
 * gives power over the mounts or the network outside of it. */
static int make_own_namespace(struct init *init)
{
        uint32_t outer_gid = init->change_uid            ? init->guest_uid
                             : init->plan.user_namespace ? 0
                                                         : getegid();
        int written;

        if (unshare(CLONE_NEWUSER) < 0)
                return -1;
        written =
                namespace_map_self(init->host_proc, GUEST_ID, init->guest_uid, GUEST_ID, outer_gid);
        if (written < 0)
                return -1;
        init->report.io_write_bytes = (uint64_t)written; /* ours, not the program's */
        return 0;
}

int guest_enter_namespace(struct init *init)
{
        if (init->plan.kind == PLAN_LOCAL)
                return 0;
        if (init->guest_user_fd < 0)
                return make_own_namespace(init);
        return setns(init->guest_user_fd, CLONE_NEWUSER) < 0
                       ? -1
                       : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* what it was made is */
}

/* An empty stream is the host's /dev/null: its times and locks are the host's, too. The
 * container's takes its place. */
static int take_own_null(struct init *init)
{
        for (int i = 0; i < 3 && init->plan.kind == PLAN_CONTAINER; i++) {
                AUTO_CLOSE int null = -1;
                struct stat st;

                if (fstat(i, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
                        continue;
                null = open("/dev/null", O_RDWR | O_CLOEXEC);
                if (null < 0 || dup3(null, i, 0) < 0)
                        return -1;
        }
        return 0;
}

static int drop_capabilities(struct init *init)
{
        bool has_namespace =
                init->plan.kind == PLAN_CONTAINER && !init->report.skipped[STAGE_GUEST_NAMESPACE];

        return caps_drop_all(!has_namespace && !init->change_uid);
}

bool guest_is_handed_in(const struct init *init)
{
        return init->plan.kind == PLAN_LOCAL && init->plan.workspace[0];
}

int guest_open_directory(const struct init *init, int flags)
{
        const char *path = init->plan.directory;

        return guest_is_handed_in(init)
                       ? sys_openat2(AT_FDCWD, path, flags | O_DIRECTORY, SYS_RESOLVE_NO_SYMLINKS)
                       : open(path, flags | O_DIRECTORY | O_CLOEXEC);
}

static int enter_handed_in(const struct init *init)
{
        AUTO_CLOSE int place = guest_open_directory(init, O_PATH);

        return place < 0 ? -1 : fchdir(place);
}

int guest_enter_directory(struct init *init)
{
        umask(022);
        report_detail(init, init->plan.directory);
        if (guest_is_handed_in(init) ? enter_handed_in(init) < 0 : chdir(init->plan.directory) < 0)
                return -1;
        init->report.detail[0] = '\0';
        return 0;
}

static int set_no_new_privs(struct init *init)
{
        (void)init;
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* The library in a guest that waits talks over one of them, and is loaded from the other. */
static int keep_waiting_descriptors(struct init *init)
{
        if (init->file_fd_count < 1) {
                errno = EPROTO;
                return -1;
        }
        if (dup3(init->waiting_pair[1], PARK_SOCKET, 0) < 0 ||
            dup3(init->file_fds[0], PARK_LIBRARY, 0) < 0 ||
            sys_close_range(HELPER_SOCKET + 1, PARK_SOCKET - 1) < 0)
                return -1;
        return sys_close_range(PARK_LIBRARY + 1, ~0u);
}

/* Everything but the three, and the socket, which exec closes. Where the program is a worker of
 * ours, it keeps the file in which it reports. */
static int close_descriptors(struct init *init)
{
        uint32_t number = init->plan.report_fd;
        int fd;

        if (init->plan.waits)
                return keep_waiting_descriptors(init);
        if (!number)
                return sys_close_range(HELPER_SOCKET + 1, ~0u);
        if (init->is_parked) /* it comes with the run: nothing else may have the number */
                return dup3(HELPER_SOCKET, REPORT_FILE, O_CLOEXEC) < 0
                               ? -1
                               : sys_close_range(REPORT_FILE + 1, ~0u);
        if (number > (uint32_t)init->file_fd_count) {
                errno = EPROTO;
                return -1;
        }
        fd = init->file_fds[number - 1];
        if (fd == REPORT_FILE ? fcntl(fd, F_SETFD, 0) < 0 : dup3(fd, REPORT_FILE, 0) < 0)
                return -1;
        return sys_close_range(REPORT_FILE + 1, ~0u);
}

/* What came when the others were closed already, but for the file in which a worker reports. */
static int close_handed_over(struct init *init)
{
        uint32_t number = init->handed_fd_count ? init->plan.report_fd : 0;

        if (number > (uint32_t)init->file_fd_count) {
                errno = EPROTO;
                return -1;
        }
        if (number && dup3(init->file_fds[number - 1], REPORT_FILE, 0) < 0)
                return -1;
        for (int i = 0; i < init->handed_fd_count; i++)
                fd_close(init->handed_fds[i]);
        init->handed_fd_count = 0;
        return 0;
}

/* What it tries to reach is worth telling, but nothing depends on it: a supervisor around us may be
 * asked already, and a process has one. A worker of ours has no sockets. */
static bool notes_attempts(const struct init *init)
{
        return init->plan.kind == PLAN_CONTAINER && init->plan.network != PLAN_NETWORK_HOST &&
               !init->plan.report_fd;
}

/* Has the supervisor asked about connections. Without it there would be none, which the policy did
 * not ask for, so this is vital. */
static int ask_supervisor(struct init *init)
{
        bool forks = init->plan.ask_forks > 0;
        bool threads_alone = init->plan.ask_forks == PLAN_ASK_THREADS;

        init->fork_listener = -1;
        if (init->plan.network == PLAN_NETWORK_ASKED) {
                init->fork_listener = seccomp_ask_about_network(forks, threads_alone);
                return init->fork_listener < 0 ? -1 : 0;
        }
        if (forks && notes_attempts(init))
                init->fork_listener = seccomp_note_attempts(threads_alone);
        return 0;
}

static int apply_filter(struct init *init)
{
        bool shares_files = init->plan.kind == PLAN_LOCAL || init->plan.workspace[0];
        bool has_none = init->fork_listener < 0 && !init->plan.ask_forks;

        if (init->plan.ask_forks && init->fork_listener < 0) {
                init->fork_listener =
                        seccomp_ask_about_forks(init->plan.ask_forks == PLAN_ASK_THREADS);
                /* Where a supervisor around us is asked already there is no second one: then the
                 * monitor counts, and the result says so. */
                if (init->fork_listener < 0 && errno != EBUSY)
                        return -1;
        }
        for (uint32_t i = 0; i < init->plan.mount_count; i++)
                shares_files |= init->plan.mounts[i].kind == PLAN_MOUNT_WRITE;
        if (seccomp_apply(init->plan.pin_cpus > 0, shares_files,
                          shares_files || init->plan.ask_forks,
                          has_none && notes_attempts(init) ? &init->fork_listener : NULL) == 0)
                return 0;
        /* Sockets that lead out are harmless in the guest's hands by this filter alone (fast open,
         * source routes, descriptors that are shared without threads), so no enforcement does
         * without it. */
        if (init->plan.network == PLAN_NETWORK_ASKED)
                report_failure(init, STAGE_SECCOMP, errno);
        return -1;
}

/* What must be seen whatever the enforcement: an allowlist holds by these two or not at all. */
static uint64_t indispensable(const struct plan *plan)
{
        if (!plan->best_effort)
                return plan->required;
        return plan->network == PLAN_NETWORK_ASKED
                       ? PROTECTION_BIT(NETWORK) | PROTECTION_BIT(SECCOMP)
                       : 0;
}

int guest_verify(struct init *init)
{
        int groups = getgroups(0, NULL);
        uint64_t missing;

        init->report.guest_groups = groups > 0 ? (uint32_t)groups : 0;
        init->report.seen |= verify_protections(init);
        /* Last of all: looking around took descriptors itself. */
        if (guest_limit(RLIMIT_NOFILE, init->plan.open_files) == 0 && verify_open_files(init))
                init->report.seen |= PROTECTION_BIT(OPEN_FILES);
        missing = indispensable(&init->plan) & ~init->report.seen;
        if (missing == 0)
                return 0;
        for (int id = 0; id < PROTECTION_COUNT; id++)
                if (missing & (UINT64_C(1) << id)) {
                        report_detail(init, protection_name((enum protection)id));
                        break;
                }
        errno = EPERM;
        return -1;
}

/* One that is there before its run does what needs nothing of that ahead, and the rest then. */
static const struct step steps[] = {
        { STAGE_SESSION, start_session, true },
        { STAGE_RLIMITS, set_limits, true },
        { STAGE_RLIMITS, set_run_limits, true, .needs_run = true },
        { STAGE_AFFINITY, pin, false },
        { STAGE_IDENTITY, guest_become, true },
        { STAGE_GUEST_NAMESPACE, guest_enter_namespace, false },
        { STAGE_RLIMITS, limit_processes, true },
        { STAGE_CAPABILITIES, drop_capabilities, true },
        { STAGE_DESCRIPTORS, take_own_null, true, .needs_run = true },
        { STAGE_DIRECTORY, guest_enter_directory, true, .needs_run = true },
        { STAGE_NO_NEW_PRIVS, set_no_new_privs, true },
        { STAGE_LANDLOCK, access_apply, false },
        /* A link in a kept workspace leads no further now. */
        { STAGE_INPUTS, guest_files, true, .needs_run = true },
        { STAGE_DESCRIPTORS, close_handed_over, true, .needs_run = true },
        { STAGE_DESCRIPTORS, close_descriptors, true },
        { STAGE_NOTIFY, ask_supervisor, true },
        { STAGE_SECCOMP, apply_filter, false },
        { STAGE_VERIFY, guest_verify, true, .needs_run = true },
};

void guest_count_cpu(struct init *init)
{
        struct rusage usage;

        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return;
        init->report.cpu_user_us = clock_us(usage.ru_utime);
        init->report.cpu_system_us = clock_us(usage.ru_stime);
}

void guest_confine_ahead(struct init *init)
{
        steps_run_part(init, steps, ARRAY_SIZE(steps), false);
}

void guest_confine(struct init *init)
{
        if (init->is_parked)
                steps_run_part(init, steps, ARRAY_SIZE(steps), true);
        else
                steps_run(init, steps, ARRAY_SIZE(steps));
        guest_count_cpu(init);
        report_send(init, REPORT_READY, &init->fork_listener, init->fork_listener >= 0);
}

_Noreturn void guest_run(struct init *init)
{
        guest_confine(init);
        (void)execve(init->plan.program, (char *const *)init->plan.arguments,
                     (char *const *)init->plan.environment);
        report_detail(init, init->plan.program);
        report_failure(init, STAGE_EXEC, errno);
}
