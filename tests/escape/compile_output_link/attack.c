#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

int main(void)
{
        char path[256] = "";

        (void)!readlink("/proc/self/exe", path, sizeof(path) - 1);
        printf("%s mount-after-compile\n", mount("none", "/tmp", "tmpfs", 0, NULL) ? "REFUSED" : "ESCAPED");
        printf("%s write-program\n", fopen(path, "r+") ? "ESCAPED" : "REFUSED");
        return 0;
}
