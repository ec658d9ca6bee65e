#include "attack.h"
#include <sys/sysmacros.h>

int main(void)
{
        TRY("mknod-mem", mknod("/workspace/mem", S_IFCHR | 0666, makedev(1, 1)));
        TRY("mknod-disk", mknod("/workspace/disk", S_IFBLK | 0666, makedev(254, 0)));
        TRY("mknod-tty", mknod("/tmp/tty", S_IFCHR | 0666, makedev(5, 0)));
        TRY("mknod-whiteout", mknod("/tmp/whiteout", S_IFCHR | 0666, makedev(0, 0)));
        TRY("mknodat", mknodat(AT_FDCWD, "/dev/shm/kmsg", S_IFCHR | 0666, makedev(1, 11)));
        return 0;
}
