#include "attack.h"

int main(void)
{
        TRY("reboot", syscall(SYS_reboot, 1, 2, 3, NULL));
        return 0;
}
