#include "attack.h"
#include <dirent.h>

int main(void)
{
        char path[32], what[32], target[256];
        int open_count = 0;

        for (int fd = 3; fd < 4096; fd++) {
                ssize_t length;

                if (fcntl(fd, F_GETFD) < 0)
                        continue;
                open_count++;
                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                length = readlink(path, target, sizeof(target) - 1);
                target[length < 0 ? 0 : length] = '\0';
                dprintf(1, "ESCAPED descriptor %d is %s\n", fd, target);
                snprintf(what, sizeof(what), "openat-%d", fd);
                TRY(what, openat(fd, "..", O_RDONLY), ENOTDIR);
        }
        REFUSED_IF("no-descriptor-but-0-to-2", open_count == 0);
        TRY_ONLY("fd-3", fcntl(3, F_GETFD), EBADF);
        TRY_ONLY("fd-10", openat(10, ".", O_RDONLY), EBADF);
        return 0;
}
