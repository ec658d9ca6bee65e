#include "attack.h"

int main(void)
{
        for (int i = 0; i < 4; i++)
                if (fork() == 0)
                        for (;;)
                                pause();
        kill(-1, SIGTERM);
        kill(-1, SIGKILL);
        REFUSED_IF("survived", true);
        return 0;
}
