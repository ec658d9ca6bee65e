#include "attack.h"

int main(void)
{
        TRY("lookup_dcookie", syscall(SYS_lookup_dcookie, 0, NULL, 0));
        TRY("uselib", syscall(SYS_uselib, "/usr/lib/none"));
        TRY("ustat", syscall(SYS_ustat, 0, NULL));
        TRY("sysfs", syscall(SYS_sysfs, 3));
        TRY("vhangup", syscall(SYS_vhangup));
        TRY("nfsservctl", syscall(SYS_nfsservctl, 0, NULL, NULL));
        TRY("_sysctl", syscall(SYS__sysctl, NULL));
        return 0;
}
