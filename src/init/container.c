/* The keeper of a container: pid 1 of the new namespaces builds the root and starts the guest. */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

int container_map_user(struct init *init)
{
        if (!init->plan.user_namespace)
                return 0;
        return namespace_map_self(init->host_proc, 0, init->outer_uid, 0, init->outer_gid) < 0 ? -1
                                                                                               : 0;
}

int container_make_group_namespace(struct init *init)
{
        (void)init;
        return unshare(CLONE_NEWCGROUP);
}

int container_make_private(struct init *init)
{
        (void)init;
        return mount_make_private();
}

int container_pivot(struct init *init)
{
        (void)init;
        return mount_pivot();
}

int container_set_hostname(struct init *init)
{
        (void)init;
        return sethostname(GUEST_HOST_NAME, sizeof(GUEST_HOST_NAME) - 1);
}

/* What System V objects hold is invisible to a sum over the processes, so their total is bounded
 * too; a control group sees it. Kernels before 6.3 let only the host's root do this: then it stays
 * undone. */
int container_limit_shared_memory(struct init *init)
{
        /* Semaphores of a set, of all sets, operations of a call, sets; queues; bytes of one. */
        static const struct {
                const char *file, *value;
        } few[] = {
                { "sys/kernel/sem", "250 8000 100 64" },
                { "sys/kernel/msgmni", "64" },
                { "sys/kernel/msgmnb", "16384" },
        };
        char pages[32];

        if (!init->plan.sums_memory)
                return 0;
        (void)snprintf(pages, sizeof(pages), "%llu",
                       (unsigned long long)init->plan.memory_bytes / 4096);
        (void)fd_write_file_at(init->host_proc, "sys/kernel/shmall", pages);
        for (size_t i = 0; i < ARRAY_SIZE(few); i++)
                (void)fd_write_file_at(init->host_proc, few[i].file, few[i].value);
        return 0;
}

static const struct step steps[] = {
        { STAGE_NETWORK, network_begin, true },
        { STAGE_USER_MAP, container_map_user, true },
        { STAGE_PRIVATE, container_make_private, true },
        { STAGE_ROOT, root_make, true },
        { STAGE_SYSTEM, root_system, true },
        { STAGE_DEVICES, root_devices, true },
        { STAGE_PROC, root_proc, false },
        { STAGE_WORKSPACE, root_workspace, true },
        { STAGE_VOLUMES, root_volumes, true },
        { STAGE_FILES, root_files, true },
        { STAGE_PIVOT, container_pivot, true },
        { STAGE_HOSTNAME, container_set_hostname, false },
        { STAGE_NETWORK, network_enter, true },
        { STAGE_IPC, container_limit_shared_memory, false },
        { STAGE_GROUP, keeper_enter_groups, true },
        { STAGE_GROUP_NAMESPACE, container_make_group_namespace, false },
};

/* The supervisor reads the workspace and /proc through these once everything here is dead. */
void container_send_places(struct init *init)
{
        int places[REPORT_PLACES_MAX];
        int count = 0;

        places[count] = open("/workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (places[count] < 0)
                report_failure(init, STAGE_WORKSPACE, errno);
        count++;
        places[count] = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (places[count] >= 0)
                count++;
        report_send(init, REPORT_PLACES, places, count);
        for (int i = 0; i < count; i++)
                fd_close(places[i]);
}

_Noreturn void container_keeper(struct init *init)
{
        if (keeper_tie_to_warden(init, SIGKILL) < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        steps_run(init, steps, ARRAY_SIZE(steps));
        container_send_places(init);
        keeper_run(init);
}
