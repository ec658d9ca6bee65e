#include "attack.h"
#include <grp.h>

int main(void)
{
        gid_t group = 0;

        TRY("setuid-0", setuid(0), EINVAL);
        TRY("setgid-0", setgid(0), EINVAL);
        TRY("seteuid-0", seteuid(0), EINVAL);
        TRY("setresuid-0", setresuid(0, 0, 0), EINVAL);
        TRY("setreuid-neighbour", setreuid(1001, 1001), EINVAL);
        TRY("setgroups-0", setgroups(1, &group), EINVAL);
        TRY("setgroups-empty", setgroups(0, NULL));
        syscall(SYS_setfsuid, 0);
        REFUSED_IF("setfsuid-0", syscall(SYS_setfsuid, -1) == getuid());
        REFUSED_IF("still-unprivileged", getuid() == 1000 && geteuid() == 1000 && getgid() == 1000);
        return 0;
}
