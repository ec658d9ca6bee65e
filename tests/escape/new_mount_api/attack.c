#include "attack.h"

int main(void)
{
        char attributes[32] = { 0 };

        TRY("fsopen", syscall(430, "tmpfs", 0));
        TRY("fsconfig", syscall(431, 0, 6, NULL, NULL, 0));
        TRY("fsmount", syscall(432, 0, 0, 0));
        TRY("fspick", syscall(433, AT_FDCWD, "/", 0));
        TRY("open_tree", syscall(428, AT_FDCWD, "/", 1));
        TRY("move_mount", syscall(429, AT_FDCWD, "/tmp", AT_FDCWD, "/workspace", 0));
        TRY("mount_setattr", syscall(442, AT_FDCWD, "/", 0x8000, attributes, sizeof(attributes)));
        TRY("open_tree_attr", syscall(467, AT_FDCWD, "/", 1, attributes, sizeof(attributes)));
        return 0;
}
