#include "attack.h"

int main(void)
{
        TRY("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
        TRY("userfaultfd-user", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
        TRY("userfaultfd-device", open("/dev/userfaultfd", O_RDWR), ENOENT);
        return 0;
}
