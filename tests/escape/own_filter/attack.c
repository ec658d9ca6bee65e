#include "attack.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>

int main(void)
{
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog program = { 1, &allow };

        TRY("unset-no-new-privs", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
        dprintf(1, "own filter: %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
        TRY("mount-after", mount("none", "/tmp", "tmpfs", 0, NULL));
        TRY("unshare-after", unshare(CLONE_NEWUSER));
        return 0;
}
