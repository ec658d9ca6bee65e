#include "attack.h"

int main(void)
{
        TRY("iopl", syscall(SYS_iopl, 3));
        TRY("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
        return 0;
}
