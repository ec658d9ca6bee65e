/* Failed steps become sentences with remedies, and a helper that is not there is noticed. */
#include "unit.h"
#include "backend/backend.h"
#include "backend/child.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/namespace.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_failed_step_is_a_refusal_in_one_line(void **state)
{
        for (int stage = 0; stage < STAGE_COUNT; stage++)
                for (int as_root = 0; as_root < 2; as_root++) {
                        struct report report = { .stage = (uint32_t)stage,
                                                 .sys_errno = EPERM,
                                                 .detail = "/some/path" };
                        struct error err = { 0 };

                        assert_int_equal(backend_failure(&report, as_root, &err), SBX_EREFUSED);
                        assert_int_equal(err.code, SBX_EREFUSED);
                        assert_int_equal(err.sys_errno, EPERM);
                        assert_has(err.message, "cannot ");
                        assert_has(err.message, stage_sentence((enum stage)stage));
                        assert_has(err.message, "/some/path");
                        assert_has(err.message, "not permitted");
                        assert_lacks(err.message, "\n");
                        assert_lacks(err.hint, "\n");
                }
}

static void a_failure_without_a_path_has_none_in_its_sentence(void **state)
{
        struct report report = { .stage = STAGE_SECCOMP, .sys_errno = EINVAL };
        struct error err = { 0 };

        assert_int_equal(backend_failure(&report, true, &err), SBX_EREFUSED);
        assert_string_equal(err.message, "cannot apply the system call filter: Invalid argument");
        assert_has(err.hint, "CONFIG_SECCOMP_FILTER");
        assert_int_equal(backend_failure(&report, true, NULL), SBX_EREFUSED);
}

static void remedies_go_by_reason_and_by_who_asks(void **state)
{
        static const struct {
                enum stage stage;
                int sys_errno;
                bool as_root;
                const char *hint;
        } all[] = {
                { STAGE_NAMESPACES, ENOSYS, true, "5.12" },
                { STAGE_NAMESPACES, ENOSPC, false, "max_user_namespaces" },
                { STAGE_NAMESPACES, ENOSPC, false, "max_mnt_namespaces" },
                { STAGE_NETWORK, ENOSPC, true, "max_net_namespaces" },
                { STAGE_GROUP_NAMESPACE, ENOSPC, false, "max_cgroup_namespaces" },
                { STAGE_GUEST_NAMESPACE, ENOSPC, true, "max_user_namespaces" },
                { STAGE_NAMESPACES, EAGAIN, true, "ulimit -u" },
                { STAGE_NAMESPACES, EPERM, true, "--privileged" },
                { STAGE_NAMESPACES, EPERM, false, "unprivileged_userns_clone" },
                { STAGE_PROC, EPERM, false, "systempaths" },
                { STAGE_LANDLOCK, ENOSYS, true, "5.13" },
                { STAGE_EXEC, ENOEXEC, true, "not a program" },
                { STAGE_EXEC, E2BIG, false, "fewer or shorter" },
                { STAGE_ORDER, ETOOMANYREFS, false, "descriptors on their way" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct report report = { .stage = (uint32_t)all[i].stage,
                                         .sys_errno = all[i].sys_errno };
                struct error err = { 0 };

                (void)backend_failure(&report, all[i].as_root, &err);
                assert_has(err.hint, all[i].hint);
        }
}

static void a_step_from_nowhere_is_still_a_sentence(void **state)
{
        struct report report = { .stage = 12345, .sys_errno = EIO };
        struct error err = { 0 };

        (void)backend_failure(&report, true, &err);
        assert_has(err.message, "unknown step");
        assert_string_equal(err.hint, "");
}

/* Which protections a machine can lack, so that a remedy is known; the others come with any kernel
 * that has these, and their absence is a fault of ours. */
static const uint64_t remediable = PROTECTION_BIT(USER_NAMESPACE) |
                                   PROTECTION_BIT(MOUNT_NAMESPACE) | PROTECTION_BIT(PROC) |
                                   PROTECTION_BIT(SECCOMP) | PROTECTION_BIT(LANDLOCK);

static void each_protection_a_machine_can_lack_has_a_remedy(void **state)
{
        for (int id = 0; id < PROTECTION_COUNT; id++)
                if (remediable & (UINT64_C(1) << id)) {
                        const char *for_user = backend_remedy((enum protection)id, false);

                        if (!for_user)
                                fail_msg("no remedy for '%s'",
                                         protection_name((enum protection)id));
                        assert_lacks(for_user, "\n");
                }
        assert_null(backend_remedy(PROTECTION_SESSION, false));
        assert_null(backend_remedy(PROTECTION_COUNT, true));
}

static void a_container_requires_everything_that_is_proven(void **state)
{
        uint64_t none = backend_container.required(PLAN_NETWORK_NONE);
        uint64_t host = backend_container.required(PLAN_NETWORK_HOST);

        assert_int_equal(none & ~(uint64_t)BACKEND_PROVEN, 0);
        assert_int_equal(BACKEND_PROVEN & ~none & ~PROTECTION_BIT(LANDLOCK), 0);
        assert_int_equal(none & ~host, PROTECTION_BIT(NETWORK));
}

static void what_was_not_seen_is_missing(void **state)
{
        struct result *result = result_new();
        struct run run;

        assert_non_null(result);
        run_init(&run);
        run.is_ready = true;
        run.ready.seen = PROTECTION_BIT(SECCOMP) | PROTECTION_BIT(SESSION);
        run.ready.skipped[STAGE_LANDLOCK] = ENOSYS;
        backend_describe_seen(&run, BACKEND_PROVEN, result);
        assert_int_equal(result->protections[PROTECTION_SECCOMP].state, STATE_ENFORCED);
        assert_int_equal(result->protections[PROTECTION_SESSION].state, STATE_ENFORCED);
        assert_int_equal(result->protections[PROTECTION_LANDLOCK].state, STATE_MISSING);
        assert_has(result->protections[PROTECTION_LANDLOCK].detail, "not implemented");
        assert_int_equal(result->protections[PROTECTION_FILESYSTEM].state, STATE_MISSING);
        assert_int_equal(result->protections[PROTECTION_TIMEOUT].state, STATE_NOT_ASKED);
        /* A run that was never ready proved nothing, whatever its record holds. */
        run.is_ready = false;
        backend_describe_seen(&run, BACKEND_PROVEN, result);
        assert_int_equal(result->protections[PROTECTION_SECCOMP].state, STATE_MISSING);
        result_free(result);
}

static void starts_no_helper(const char *path, int sys_errno)
{
        static struct child child;
        int pair[2], pidfd = -1, status;
        pid_t pid;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        child = (struct child){ .path = path, .socket = pair[1] };
        pid = child_start(&child, &pidfd);
        assert_true(pid > 0);
        assert_true(pidfd >= 0);
        assert_int_equal(waitpid(pid, &status, __WALL), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 127);
        assert_int_equal(child.sys_errno, sys_errno);
        close(pidfd);
        close(pair[0]);
        close(pair[1]);
}

static void a_helper_that_cannot_be_executed_says_why(void **state)
{
        starts_no_helper("/nonexistent/helper", ENOENT);
        starts_no_helper("/etc/passwd", EACCES);
        starts_no_helper("/", EACCES);
}

static void *start_elsewhere(void *argument)
{
        struct helper *helper = argument;

        /* An ordinary user needs a user namespace for it, which a process with threads cannot have.
         */
        if (unshare(CLONE_NEWUTS) < 0 || helper_start(helper, "/bin/true", NULL) < 0)
                return helper;
        helper_dismiss(helper);
        return NULL;
}

static void a_proof_compares_with_the_thread_that_started_the_helper(void **state)
{
        static struct helper here, elsewhere;
        uint64_t own[NAMESPACE_COUNT];
        AUTO_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        pthread_t thread;
        void *failed;

        namespace_inodes(proc, own);
        assert_int_equal(helper_start(&here, "/bin/true", NULL), 0);
        helper_dismiss(&here);
        assert_memory_equal(here.outer_namespaces, own, sizeof(own));
        assert_int_not_equal(own[NAMESPACE_UTS], 0);
        assert_int_equal(pthread_create(&thread, NULL, start_elsewhere, &elsewhere), 0);
        assert_int_equal(pthread_join(thread, &failed), 0);
        if (failed)
                skip();
        assert_int_not_equal(elsewhere.outer_namespaces[NAMESPACE_UTS], own[NAMESPACE_UTS]);
        assert_int_equal(elsewhere.outer_namespaces[NAMESPACE_IPC], own[NAMESPACE_IPC]);
}

static void a_helper_needs_a_descriptor_to_look_around_with(void **state)
{
        static struct helper helper;
        struct rlimit before, few;
        AUTO_CLOSE int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = before;
        /* A pair of sockets, one of them for a moment, and a pidfd; one more would do. */
        few.rlim_cur = (rlim_t)next + 4;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        fd_close(fd_take(&next));
        next = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest number is taken again */
        assert_int_equal(helper_start(&helper, "/bin/true", NULL), -1);
        assert_int_equal(errno, EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(helper.socket, -1);
        assert_int_equal(helper.pidfd, -1);
        assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
        assert_int_equal(errno, ECHILD);
}

static void reports_that_are_not_reports_are_refused(void **state)
{
        struct report report = { .magic = REPORT_MAGIC, .kind = REPORT_READY, .seen = 5 };
        struct run run;
        int pair[2];

        run_init(&run);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        run.socket = pair[0];
        assert_int_equal(run_receive(&run), -1);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(send(pair[1], &report, 10, 0), 10);
        assert_int_equal(run_receive(&run), -1);
        assert_int_equal(errno, EPROTO);
        report.magic++;
        assert_int_equal(send(pair[1], &report, sizeof(report), 0), sizeof(report));
        assert_int_equal(run_receive(&run), -1);
        assert_int_equal(errno, EPROTO);
        assert_false(run.is_ready);
        report.magic--;
        assert_int_equal(send(pair[1], &report, sizeof(report), 0), sizeof(report));
        assert_int_equal(run_receive(&run), 1);
        assert_true(run.is_ready);
        assert_int_equal(run.ready.seen, 5);
        report.kind = REPORT_FAILED;
        memset(report.detail, 'x', sizeof(report.detail)); /* without an end */
        assert_int_equal(send(pair[1], &report, sizeof(report), 0), sizeof(report));
        assert_int_equal(run_receive(&run), 1);
        assert_int_equal(strlen(run.failed.detail), REPORT_DETAIL_MAX - 1);
        close(pair[1]);
        assert_int_equal(run_receive(&run), 0);
        run_close(&run);
}

/* Says so in a pipe when it is told to end; a stopped one hears it when it is woken. */
static pid_t start_stopped_worker(int said)
{
        sigset_t signals;
        pid_t child;
        int number;

        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        assert_int_equal(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
        child = fork();
        if (child == 0) {
                (void)raise(SIGSTOP);
                _exit(sigwait(&signals, &number) == 0 && write(said, "!", 1) == 1 ? 0 : 1);
        }
        assert_int_equal(sigprocmask(SIG_UNBLOCK, &signals, NULL), 0);
        assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
        return child;
}

static void the_worker_of_a_container_engine_is_woken_and_not_killed(void **state)
{
        struct run run;
        int said[2], status;
        pid_t worker;
        char word;

        run_init(&run);
        assert_int_equal(pipe2(said, O_CLOEXEC), 0);
        worker = start_stopped_worker(said[1]);
        run.kill_signal = SIGINT;
        run.keeper_pidfd = sys_pidfd_open(worker);
        assert_true(run.keeper_pidfd >= 0);
        run_kill(&run);
        run_force(&run);
        assert_int_equal(read(said[0], &word, 1), 1);
        assert_int_equal(waitpid(worker, &status, 0), worker);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(said[0]);
        close(said[1]);
        run_close(&run);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_failed_step_is_a_refusal_in_one_line),
                cmocka_unit_test(a_failure_without_a_path_has_none_in_its_sentence),
                cmocka_unit_test(remedies_go_by_reason_and_by_who_asks),
                cmocka_unit_test(a_step_from_nowhere_is_still_a_sentence),
                cmocka_unit_test(each_protection_a_machine_can_lack_has_a_remedy),
                cmocka_unit_test(a_container_requires_everything_that_is_proven),
                cmocka_unit_test(what_was_not_seen_is_missing),
                cmocka_unit_test(a_helper_that_cannot_be_executed_says_why),
                cmocka_unit_test(a_proof_compares_with_the_thread_that_started_the_helper),
                cmocka_unit_test(a_helper_needs_a_descriptor_to_look_around_with),
                cmocka_unit_test(reports_that_are_not_reports_are_refused),
                cmocka_unit_test(the_worker_of_a_container_engine_is_woken_and_not_killed),
        };

        return RUN(tests);
}
