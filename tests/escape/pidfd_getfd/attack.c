#include "attack.h"

int main(void)
{
        int init = (int)syscall(SYS_pidfd_open, 1, 0);
        int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

        TRY("pidfd_getfd-init", syscall(438, init, 0, 0));
        TRY("pidfd_getfd-self", syscall(438, self, 1, 0));
        return 0;
}
