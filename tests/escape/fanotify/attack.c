#include "attack.h"

int main(void)
{
        TRY("fanotify_init", syscall(SYS_fanotify_init, 0x200, O_RDONLY));
        TRY("fanotify_init-content", syscall(SYS_fanotify_init, 4, O_RDONLY));
        return 0;
}
