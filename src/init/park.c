/*
 * Parking an interpreter: it is started like any program of the caller's, in a control group of its
 * own, with a library (src/park) that stops it where it would open the user's program. It runs no
 * code of a guest's, ever: guests are copies of it that confine themselves before they go on.
 */
#include "init/init.h"
#include "kernel/sys.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static int hand_over_socket(struct init *init)
{
        if (init->file_fd_count < 1) {
                errno = EPROTO;
                return -1;
        }
        /* Without close-on-exec: it is what the library talks over. */
        return dup3(init->file_fds[0], PARK_SOCKET, 0) < 0 ? -1 : 0;
}

static int enter_root(struct init *init)
{
        (void)init;
        umask(022);
        return chdir("/");
}

static const struct step steps[] = {
        { STAGE_GROUP, keeper_enter_groups, true },
        { STAGE_DESCRIPTORS, hand_over_socket, true },
        { STAGE_DIRECTORY, enter_root, true },
};

_Noreturn void park_main(struct init *init)
{
        if (keeper_tie_to_warden(init, SIGKILL) < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        steps_run(init, steps, sizeof(steps) / sizeof(steps[0]));
        (void)signal(SIGPIPE, SIG_DFL);
        (void)signal(SIGXFSZ, SIG_DFL);
        (void)execve(init->plan.program, (char *const *)init->plan.arguments,
                     (char *const *)init->plan.environment);
        report_detail(init, init->plan.program);
        report_failure(init, STAGE_EXEC, errno);
}
