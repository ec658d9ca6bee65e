#include "attack.h"

int main(void)
{
        mkdir("/tmp/root", 0700);
        TRY("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp/root"));
        TRY("pivot_root-dot", syscall(SYS_pivot_root, ".", "."));
        TRY("chroot", chroot("/tmp/root"));
        return 0;
}
