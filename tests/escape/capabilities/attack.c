#include "attack.h"
#include <linux/capability.h>
#include <sys/prctl.h>

int main(void)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct all[2] = { { ~0u, ~0u, ~0u }, { 0x1ff, 0x1ff, 0x1ff } };
        struct __user_cap_data_struct seen[2] = { 0 };
        int bounding = 0;

        TRY("capset", syscall(SYS_capset, &head, all));
        all[0].effective = all[0].permitted = 0;
        TRY("capset-inheritable", syscall(SYS_capset, &head, all));
        TRY("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
        TRY("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
        syscall(SYS_capget, &head, seen);
        for (int i = 0; i < 41; i++)
                bounding += prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0;
        REFUSED_IF("no-capabilities", !seen[0].effective && !seen[0].permitted && !seen[0].inheritable &&
                                              !seen[1].effective && !seen[1].permitted && !seen[1].inheritable);
        REFUSED_IF("no-bounding-set", bounding == 0);
        return 0;
}
