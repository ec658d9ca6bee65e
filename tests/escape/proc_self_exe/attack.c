#include "attack.h"

/* Becomes another program, so that the file of the first one is no longer busy. */
static void become_another(const char *argument)
{
        char buffer[65536];
        int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("other", 0);
        ssize_t length;

        while ((length = read(from, buffer, sizeof(buffer))) > 0)
                write(to, buffer, (size_t)length);
        close(from);
        fexecve(to, (char *[]){ "attack", (char *)argument, NULL }, environ);
}

int main(int argc, char **argv)
{
        char path[64];

        if (argc > 1) {
                snprintf(path, sizeof(path), "/proc/self/fd/%s", argv[1]);
                TRY("exe-later", open(path, O_WRONLY), EROFS);
                TRY("exe-later-truncate", open(path, O_WRONLY | O_TRUNC), EROFS);
                return 0;
        }
        /* Busy is no refusal to rely on; the second try is the one that counts. */
        TRY("self-exe", open("/proc/self/exe", O_WRONLY), EROFS, ETXTBSY);
        TRY("init-exe", open("/proc/1/exe", O_WRONLY), EROFS, ENOENT);
        TRY("init-exe-path", open("/proc/1/exe", O_PATH), EROFS, ENOENT);
        snprintf(path, sizeof(path), "%d", open("/proc/self/exe", O_PATH));
        become_another(path);
        return 1;
}
