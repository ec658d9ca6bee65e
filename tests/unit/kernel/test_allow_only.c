/* The small filter for programs of ours: what is not named ends the process. */
#include "child_helpers.h"
#include "kernel/allow_only.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The signal by which a child ended that made the call under the filter; 0: it ended well. */
static int ends_by(long number, long first, long second, long third)
{
        static const unsigned calls[] = { SYS_exit_group, SYS_getppid };
        static const struct allow_argument rows[] = {
                { SYS_openat, 2, O_ACCMODE | O_CREAT, O_RDONLY },
                { SYS_socket, 0, UINT32_MAX, AF_INET },
                { SYS_socket, 0, UINT32_MAX, AF_INET6 },
        };
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || /* a signal of ours, no core */
                    allow_only_with(calls, 2, rows, 3) < 0)
                        _exit(1);
                (void)syscall(number, first, second, third);
                (void)syscall(SYS_exit_group, 0); /* _exit() of a sanitizer's does more first */
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFSIGNALED(status))
                return WTERMSIG(status);
        assert_int_equal(WEXITSTATUS(status), 0);
        return 0;
}

static void named_calls_are_allowed_and_others_end_the_process(void **state)
{
        assert_int_equal(ends_by(SYS_getppid, 0, 0, 0), 0);
        assert_int_equal(ends_by(SYS_getuid, 0, 0, 0), SIGSYS);
}

static void argument_decides_where_one_is_given(void **state)
{
        assert_int_equal(ends_by(SYS_openat, AT_FDCWD, (long)"/", O_RDONLY | O_CLOEXEC), 0);
        assert_int_equal(ends_by(SYS_openat, AT_FDCWD, (long)"/dev/null", O_WRONLY), SIGSYS);
        assert_int_equal(ends_by(SYS_openat, AT_FDCWD, (long)"/", O_RDONLY | O_CREAT), SIGSYS);
        assert_int_equal(ends_by(SYS_socket, AF_INET, SOCK_STREAM, 0), 0);
        assert_int_equal(ends_by(SYS_socket, AF_INET6, SOCK_STREAM, 0), 0);
        assert_int_equal(ends_by(SYS_socket, AF_UNIX, SOCK_STREAM, 0), SIGSYS);
}

static void too_many_are_refused(void **state)
{
        static const unsigned calls[ALLOW_ONLY_MAX + 1];
        static const struct allow_argument rows[ALLOW_ARGUMENTS_MAX + 1];

        assert_int_equal(allow_only(calls, ALLOW_ONLY_MAX + 1), -1);
        assert_int_equal(errno, E2BIG);
        assert_int_equal(allow_only_with(calls, 1, rows, ALLOW_ARGUMENTS_MAX + 1), -1);
        assert_int_equal(errno, E2BIG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(named_calls_are_allowed_and_others_end_the_process),
                cmocka_unit_test(argument_decides_where_one_is_given),
                cmocka_unit_test(too_many_are_refused),
        };

        return RUN(tests);
}
