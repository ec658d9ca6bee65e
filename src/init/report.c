#include "init/init.h"
#include "base/clock.h"
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int report_try(struct init *init, enum report_kind kind, const int *fds, int fd_count)
{
        int waits = 0, r;

        init->report.magic = REPORT_MAGIC;
        init->report.kind = kind;
        do {
                init->report.at_ns = clock_now_ns(); /* what was waited for is nobody's time */
                r = message_try_send(init->socket, &init->report, sizeof(init->report), fds,
                                     (size_t)fd_count);
        } while (r < 0 && message_wait_for_room(&waits));
        return r;
}

void report_send(struct init *init, enum report_kind kind, const int *fds, int fd_count)
{
        if (report_try(init, kind, fds, fd_count) < 0 && (fd_count > 0 || kind == REPORT_READY))
                report_failure(init, STAGE_ORDER, errno);
        /* Else: a supervisor that is gone hears nothing; its death is seen elsewhere. */
}

_Noreturn void report_failure(struct init *init, enum stage stage, int sys_errno)
{
        init->report.stage = stage;
        init->report.sys_errno = sys_errno;
        report_send(init, REPORT_FAILED, NULL, 0);
        _exit(1);
}

void report_detail(struct init *init, const char *path)
{
        size_t length = strlen(path);

        if (length >= REPORT_DETAIL_MAX)
                length = REPORT_DETAIL_MAX - 1;
        memcpy(init->report.detail, path, length);
        init->report.detail[length] = '\0';
}

static void run_step(struct init *init, const struct step *step)
{
        if (step->run(init) == 0)
                return;
        if (step->vital || !init->plan.best_effort)
                report_failure(init, step->stage, errno);
        init->report.skipped[step->stage] = (int16_t)(errno ? errno : EIO);
        init->report.detail[0] = '\0';
}

void steps_run(struct init *init, const struct step *steps, size_t count)
{
        for (size_t i = 0; i < count; i++)
                run_step(init, &steps[i]);
}

void steps_run_part(struct init *init, const struct step *steps, size_t count, bool needs_run)
{
        for (size_t i = 0; i < count; i++)
                if (steps[i].needs_run == needs_run)
                        run_step(init, &steps[i]);
}
