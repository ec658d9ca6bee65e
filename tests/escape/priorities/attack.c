#include "attack.h"
#include <sys/resource.h>

int main(void)
{
        struct sched_param first = { .sched_priority = 50 };
        struct rlimit files;

        TRY("sched_fifo", sched_setscheduler(0, SCHED_FIFO, &first), EINVAL);
        TRY("sched_rr", sched_setscheduler(0, SCHED_RR, &first), EINVAL);
        TRY("nice", setpriority(PRIO_PROCESS, 0, -20));
        TRY("ioprio-realtime", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
        getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max = files.rlim_max + 1;
        TRY("rlimit-files", setrlimit(RLIMIT_NOFILE, &files));
        TRY("rlimit-core", setrlimit(RLIMIT_CORE, &(struct rlimit){ 1 << 20, 1 << 20 }));
        return 0;
}
