#include "attack.h"

int main(void)
{
        TRY("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0xffff0000));
        TRY("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0xffff));
        return 0;
}
