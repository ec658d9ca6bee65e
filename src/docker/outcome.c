/* What becomes known of a run, and how it is told. */
#include "docker/run.h"
#include "docker/pack.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/tree.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void outcome_report(struct docker_run *run, enum report_kind kind, const int *fds, int count)
{
        run->report.magic = REPORT_MAGIC;
        run->report.kind = kind;
        run->report.at_ns = clock_now_ns();
        (void)message_send(run->socket, &run->report, sizeof(run->report), fds, (size_t)count);
}

void outcome_started(struct docker_run *run)
{
        AUTO_CLOSE int own = sys_pidfd_open(getpid());

        run->report.keeper_pid = getpid();
        outcome_report(run, REPORT_STARTED, &own, 1);
}

void outcome_error(struct docker_run *run, const struct error *err)
{
        run->report.stage = STAGE_DOCKER;
        run->report.sys_errno = -err->code;
        (void)snprintf(run->report.detail, sizeof(run->report.detail), "%.199s", err->message);
        (void)snprintf(run->report.hint, sizeof(run->report.hint), "%.199s", err->hint);
        outcome_report(run, REPORT_FAILED, NULL, 0);
}

static int make_scratch(struct docker_run *run, struct error *err)
{
        char path[sizeof(run->scratch)];

        if (run->scratch[0])
                return 0;
        (void)snprintf(path, sizeof(path), "%.4000s/sandbox-run.XXXXXX", run->order.temporary);
        if (!mkdtemp(path))
                return error_set_errno(err, "make a directory '%.500s'", path);
        (void)strcpy(run->scratch, path);
        return 0;
}

int outcome_fetch(struct docker_run *run, const struct inside_end *end, struct error *err)
{
        struct unpack unpack = { .most = run->plan.disk_bytes };
        AUTO_CLOSE int archive = -1;
        AUTO_CLOSE int folder = -1;
        char path[sizeof(run->scratch) + 32];
        int r = 0;

        if (end->entries == 0 && !run->order.wants_files)
                return 0;
        r = make_scratch(run, err);
        if (r < 0)
                return r;
        (void)snprintf(path, sizeof(path), "%s/workspace", run->scratch);
        if (mkdir(path, 0700) < 0 || (folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return error_set_errno(err, "make a directory '%.500s'", path);
        if (end->entries > 0)
                r = container_get(&run->daemon, &run->container, "/workspace", run->plan.disk_bytes,
                                  &archive, err);
        if (r == 0 && archive >= 0)
                r = unpack_tree(archive, folder, &unpack, err);
        if (r == 0)
                outcome_report(run, REPORT_PLACES, &folder, 1);
        return r;
}

void outcome_end(struct docker_run *run, const struct inside_end *end)
{
        struct report *told = &run->report;

        told->wait_status = end->wait_status;
        told->survivors = end->survivors;
        told->cpu_user_us = end->cpu_user_us;
        told->cpu_system_us = end->cpu_system_us;
        told->memory_peak = end->memory_peak;
        told->counted = (struct report_counted){ .is_known = 1,
                                                 .disk_is_full = end->disk_is_full,
                                                 .cpu_us = end->cpu_us,
                                                 .memory_kills = end->memory_kills,
                                                 .processes_peak = end->processes_peak,
                                                 .fork_refusals = end->fork_refusals };
        outcome_report(run, REPORT_EXITED, NULL, 0);
}

void outcome_lost(struct docker_run *run)
{
        struct error err = { 0 };
        char path[160];
        long status = 0;

        if (run->is_told)
                return; /* it was to end, and did */
        (void)snprintf(path, sizeof(path), "/containers/%s/json", run->container.id);
        if (daemon_call(&run->daemon, "GET", path, NULL, NULL, &status, &err) == 0 || status == 404)
                (void)error_set(&err, SBX_ESYSTEM, "the container was ended from outside");
        else
                (void)error_set(&err, SBX_ESYSTEM, "%s went away during the run", run->daemon.host);
        outcome_error(run, &err);
}

void outcome_unstarted(struct docker_run *run, const struct inside_end *end)
{
        struct error err = { 0 };

        if (end->kind == INSIDE_NO_TOOL) {
                (void)error_set(&err, SBX_EUNAVAILABLE, "image '%.100s' has no program for '%s'",
                                run->order.image, run->order.language);
                error_hint(&err, "name an image that has it with DOCKER_IMAGE");
        } else if (end->kind == INSIDE_NOT_ALONE) {
                (void)error_set(&err, SBX_EREFUSED,
                                "the engine gave the container a network that it denies");
        } else {
                errno = end->sys_errno;
                (void)error_set(&err, SBX_EREFUSED, "cannot execute the program: %s",
                                strerror(end->sys_errno));
        }
        outcome_error(run, &err);
}

void outcome_settle(struct docker_run *run)
{
        struct pollfd socket = { .fd = run->socket, .events = POLLRDHUP };

        while (poll(&socket, 1, -1) < 0 && errno == EINTR)
                ;
        (void)tree_remove(run->scratch); /* nobody is left who could be told */
}
