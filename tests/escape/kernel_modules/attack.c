#include "attack.h"

int main(void)
{
        TRY("init_module", syscall(SYS_init_module, "", 0, ""));
        TRY("finit_module", syscall(SYS_finit_module, -1, "", 0));
        TRY("delete_module", syscall(SYS_delete_module, "no_such_module", O_NONBLOCK));
        return 0;
}
