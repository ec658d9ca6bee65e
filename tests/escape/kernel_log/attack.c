#include "attack.h"

int main(void)
{
        char buffer[64];

        TRY("syslog-read", syscall(SYS_syslog, 3, buffer, sizeof(buffer)));
        TRY("syslog-size", syscall(SYS_syslog, 10, NULL, 0));
        TRY("kmsg-device", open("/dev/kmsg", O_RDONLY), ENOENT);
        TRY("kmsg-proc", open("/proc/kmsg", O_RDONLY), ENOENT);
        return 0;
}
