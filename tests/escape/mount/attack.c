#include "attack.h"
#include <sys/mount.h>

int main(void)
{
        TRY("mount-tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
        TRY("mount-proc", mount("proc", "/tmp", "proc", 0, NULL));
        TRY("mount-sysfs", mount("sysfs", "/tmp", "sysfs", 0, NULL));
        TRY("mount-bind", mount("/usr", "/tmp", NULL, MS_BIND | MS_REC, NULL));
        TRY("mount-move", mount("/tmp", "/workspace", NULL, MS_MOVE, NULL));
        TRY("mount-shared", mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
        TRY("mount-overlay", mount("overlay", "/tmp", "overlay", 0, "lowerdir=/usr"));
        return 0;
}
