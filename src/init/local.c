/*
 * The keeper of a local run: no namespaces, no root of its own. It writes the files into the
 * scratch directory, gives the workspace to the guest, and as a subreaper collects whatever the
 * guest leaves.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int adopt_orphans(struct init *init)
{
        (void)init;
        return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Below the scratch directory; all but the code is the guest's. */
static int make_parts(struct init *init)
{
        static const struct {
                const char *name;
                bool is_given;
        } parts[] = { { "code", false }, { "workspace", true }, { "tmp", true } };
        char path[4200];

        if (chmod(init->plan.scratch, 0755) < 0)
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", init->plan.scratch, parts[i].name);
                if (mkdir(path, 0755) < 0)
                        return -1;
                if (parts[i].is_given && init->change_uid &&
                    chown(path, init->guest_uid, init->guest_uid) < 0)
                        return -1;
        }
        return 0;
}

static int make_files(struct init *init)
{
        return files_make(init, false);
}

static const struct step steps[] = {
        { STAGE_GROUP, keeper_enter_groups, true },
        { STAGE_FORK, adopt_orphans, true },
        { STAGE_WORKSPACE, make_parts, true },
        { STAGE_FILES, make_files, true },
};

_Noreturn void local_keeper(struct init *init)
{
        int place;

        if (keeper_tie_to_warden(init, SIGINT) < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        /* A process of the guest's may outlive a keeper that it managed to kill. */
        init->report.seen &= ~PROTECTION_BIT(CLEANUP);
        steps_run(init, steps, ARRAY_SIZE(steps));
        place = guest_open_directory(init, O_RDONLY);
        if (place < 0)
                report_failure(init, STAGE_WORKSPACE, errno);
        report_send(init, REPORT_PLACES, &place, 1);
        fd_close(place);
        keeper_run(init);
}
