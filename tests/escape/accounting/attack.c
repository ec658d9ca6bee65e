#include "attack.h"

int main(void)
{
        char buffer[256] = { 0 };

        TRY("acct", syscall(SYS_acct, "/workspace/acct"));
        TRY("quotactl", syscall(SYS_quotactl, 0x800001 << 8, "/dev/vda", 0, buffer));
        TRY("quotactl_fd", syscall(443, 1, 0x800001 << 8, 0, buffer));
        return 0;
}
