#include "attack.h"

int main(void)
{
        for (int i = 0; i < 4; i++)
                if (fork() == 0) {
                        setsid();
                        if (fork() > 0)
                                _exit(0);
                        for (int fd = 0; fd < 3; fd++)
                                close(fd);
                        signal(SIGTERM, SIG_IGN);
                        signal(SIGHUP, SIG_IGN);
                        for (;;)
                                pause();
                }
        while (wait(NULL) > 0)
                ;
        dprintf(1, "DAEMONS left\n");
        return 0;
}
