#include "attack.h"

int main(void)
{
        TRY("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 1));
        TRY("kcmp-init", syscall(SYS_kcmp, getpid(), 1, 1, 0, 0));
        return 0;
}
