/* How the monitor comes to its end, whatever others do. */
#include "monitor/monitor_helpers.h"
#include "kernel/sys.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { REFILLS_MAX = 1000 };

struct refill {
        int fd;
        unsigned count;
};

/* Somebody else who was sent the program's end of a stream writes again as soon as there is room.
 */
static void write_again(void *context, int stream, const void *data, size_t length)
{
        struct refill *refill = context;

        (void)stream;
        if (refill->count++ < REFILLS_MAX)
                assert_int_equal(write(refill->fd, data, length), (ssize_t)length);
}

static void what_others_write_when_the_run_is_over_is_not_waited_for(void **state)
{
        struct bench bench;
        struct refill refill = { 0 };

        set_up(&bench);
        bench.order.output_caps[1] = UINT64_MAX;
        write_text(&bench, 1, "the program's");
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        /* Hears that before it reads the first byte. */
        assert_int_equal(run_receive(&bench.run), 1);
        assert_int_equal(run_receive(&bench.run), 1);
        refill.fd = bench.output[1];
        bench.order.listener.output = write_again;
        bench.order.listener.context = &refill;
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_OK);
        assert_string_equal(bench.result->run.out.kept.data, "the program's");
        assert_int_equal(refill.count, 1);
        tear_down(&bench);
}

/* A process that hears nothing but SIGKILL, and ends with us; its descriptor. */
static pid_t start_deaf_keeper(int *ret_pidfd)
{
        sigset_t all, before;
        pid_t pid;

        sigfillset(&all);
        assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0); /* from its birth on */
        pid = fork();
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        pause();
        }
        assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
        assert_true(pid > 0);
        *ret_pidfd = sys_pidfd_open(pid);
        return pid;
}

/* One that was stopped, and tells that all are gone once it goes on. */
static pid_t start_stopped_helper(struct bench *bench, int *ret_pidfd)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)raise(SIGSTOP);
                tell(bench, REPORT_GONE, 0);
                _exit(0);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
        *ret_pidfd = sys_pidfd_open(pid);
        return pid;
}

static void a_local_run_that_does_not_end_when_it_is_told_to_is_made_to(void **state)
{
        struct bench bench;
        pid_t keeper, helper;
        int status;

        set_up(&bench);
        bench.run.is_local = true;
        bench.run.kill_signal = SIGINT;
        bench.order.timeout_ms = 1;
        keeper = start_deaf_keeper(&bench.run.keeper_pidfd);
        helper = start_stopped_helper(&bench, &bench.run.helper_pidfd);
        tell(&bench, REPORT_READY, 0);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_TIMEOUT);
        assert_int_equal(waitpid(keeper, &status, 0), keeper);
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_int_equal(waitpid(helper, &status, 0), helper);
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_others_write_when_the_run_is_over_is_not_waited_for),
                cmocka_unit_test(a_local_run_that_does_not_end_when_it_is_told_to_is_made_to),
        };

        return RUN(tests);
}
