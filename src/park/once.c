/*
 * An interpreter that is itself the guest of the one run that comes: what has threads cannot be
 * copied. It was confined before it was executed (src/init/once.c), and waits here, in the thread
 * of its launcher, until its keeper says what the program is. Then it takes what is the run's own,
 * proves once more what holds it, reports, and goes on.
 *
 * Its other threads go on all the while. Nothing here allocates, and no descriptor of theirs is
 * touched.
 */
#include "park/park.h"
#include "init/init.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What the interpreter used until now is not the program's, nor counts to its limit. */
static int set_cpu_limit(struct init *init)
{
        uint64_t used_us;

        guest_count_cpu(init);
        used_us = init->report.cpu_user_us + init->report.cpu_system_us;
        return guest_limit(RLIMIT_CPU, init->plan.cpu_seconds + used_us / 1000000);
}

/* Nor is what it has read and written. */
static int count_io(struct init *init)
{
        AUTO_CLOSE int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
        struct io_counters used = { 0 };
        ssize_t own = io_read(fd, &used);

        if (own > 0) {
                init->report.io_read_bytes = used.read_bytes + (uint64_t)own;
                init->report.io_write_bytes = used.write_bytes;
        }
        return 0;
}

static const struct step steps[] = {
        { STAGE_RLIMITS, set_cpu_limit, true }, { STAGE_DIRECTORY, guest_enter_directory, true },
        { STAGE_INPUTS, guest_files, true },    { STAGE_VERIFY, guest_verify, true },
        { STAGE_VERIFY, count_io, true },
};

static void take_stdin(struct init *init, const struct given *given)
{
        int null = given->empty_stdin ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

        if (given->empty_stdin && (null < 0 || dup3(null, 0, 0) < 0))
                report_failure(init, STAGE_ORDER, errno);
        fd_close(null);
}

/* What cannot be asked from inside a process that has descriptors and threads of its own was
 * proved when it was confined. */
static void take_report(struct init *init, const struct given *given)
{
        init->report = given->report;
        init->report.seen &= PROTECTION_BIT(CLEANUP) | PROTECTION_BIT(DESCRIPTORS);
        memcpy(init->outer_namespaces, given->outer_namespaces, sizeof(init->outer_namespaces));
        memcpy(init->outer_root, given->outer_root, sizeof(init->outer_root));
        init->change_uid = given->change_uid;
        init->is_hatched = true;
        init->fork_listener = -1;
}

void given_receive(int socket, size_t stream_count, struct given *ret_given, int *ret_fds)
{
        size_t count = 0;
        int r = message_receive(socket, 0, ret_given, sizeof(*ret_given), ret_fds, ORDER_FDS_MAX,
                                &count);

        if (r <= 0 || ret_given->magic != GIVEN_MAGIC || count != ret_given->fd_count ||
            count < GIVEN_FIXED_FDS + stream_count)
                _exit(1); /* nobody wants it any more */
}

void once_wait(struct init *init, int socket)
{
        const struct parked here = { .magic = PARK_MAGIC };
        static struct given given;
        int fds[ORDER_FDS_MAX];
        size_t count;

        if (message_send(socket, &here, sizeof(here), NULL, 0) < 0)
                _exit(1);
        given_receive(socket, 0, &given, fds);
        count = given.fd_count;
        fd_close(socket);
        init->socket = fds[GIVEN_REPORTS];
        take_report(init, &given);
        run_plan_read(init, fds[GIVEN_PLAN], given.plan_length);
        init->file_fds = fds + GIVEN_FIXED_FDS;
        init->file_fd_count = (int)(count - GIVEN_FIXED_FDS);
        take_stdin(init, &given);
        steps_run(init, steps, ARRAY_SIZE(steps));
        report_send(init, REPORT_READY, NULL, 0);
        for (size_t i = 0; i < count; i++)
                fd_close(fds[i]);
        memset(&given, 0, sizeof(given));
}

void once_execute(const struct init *init)
{
        struct sigaction action;
        sigset_t none;

        /* As it was when the interpreter started; handlers go by themselves. */
        for (int number = 1; number < NSIG; number++)
                if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
                        (void)signal(number, SIG_DFL);
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)sys_close_range(HELPER_SOCKET, ~0u);
        (void)execve(init->plan.program, (char *const *)init->plan.arguments,
                     (char *const *)init->plan.environment);
        _exit(127);
}
