#include "attack.h"

int main(void)
{
        char entry[16] = { 0 };

        TRY("modify_ldt-read", syscall(SYS_modify_ldt, 0, entry, sizeof(entry)));
        TRY("modify_ldt-write", syscall(SYS_modify_ldt, 1, entry, sizeof(entry)));
        return 0;
}
