#include "attack.h"

int main(void)
{
        TRY("x32-getpid", syscall(0x40000000 + SYS_getpid));
        TRY("x32-ptrace", syscall(0x40000000 + 521, 0, 0, 0, 0));
        TRY("x32-mount", syscall(0x40000000 + SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
        return 0;
}
