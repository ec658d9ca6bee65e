#include "attack.h"

int main(int argc, char **argv)
{
        char path[64];
        int fd;

        if (argc > 2) {
                /* Another program runs in this process now: the first one's file is not busy. */
                snprintf(path, sizeof(path), "/proc/self/fd/%s", argv[2]);
                TRY("exe-later", open(path, O_WRONLY), EROFS);
                TRY("exe-later-truncate", open(path, O_WRONLY | O_TRUNC), EROFS);
                return 0;
        }
        TRY("self-exe", open("/proc/self/exe", O_WRONLY), EROFS);
        TRY("init-exe", open("/proc/1/exe", O_WRONLY), EROFS, ENOENT);
        TRY("init-exe-path", open("/proc/1/exe", O_PATH), EROFS, ENOENT);
        fd = open("/proc/self/exe", O_PATH);
        snprintf(path, sizeof(path), "%d", fd);
        execl("/proc/self/exe", "attack", "later", path, NULL);
        return 1;
}
