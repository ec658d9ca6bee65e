#include "attack.h"
#include <sys/mount.h>

int main(int argc, char **argv)
{
        char buffer[65536];
        ssize_t length;
        int from, to;

        if (argc > 1) {
                TRY("mount-from-memfd", mount("none", "/tmp", "tmpfs", 0, NULL));
                TRY("unshare-from-memfd", unshare(CLONE_NEWUSER));
                return 0;
        }
        from = open("/proc/self/exe", O_RDONLY);
        to = memfd_create("attack", 0);
        while ((length = read(from, buffer, sizeof(buffer))) > 0)
                write(to, buffer, (size_t)length);
        fexecve(to, (char *[]){ "attack", "again", NULL }, environ);
        /* Refusing to run from memory is as good. */
        attack_report("mount-from-memfd", -1, (const int[]){ EACCES, EPERM, ENOENT, 0 });
        attack_report("unshare-from-memfd", -1, (const int[]){ EACCES, EPERM, ENOENT, 0 });
        return 0;
}
