#include "attack.h"

int main(void)
{
        for (int i = 0; i < 3; i++)
                if (fork() == 0)
                        for (;;)
                                raise(SIGSTOP);
        dprintf(1, "TRYING\n");
        kill(-1, SIGSTOP);
        raise(SIGSTOP);
        for (;;)
                raise(SIGSTOP);
}
