#include "attack.h"

int main(void)
{
        if (fork() == 0) {
                setsid();
                for (;;)
                        pause();
        }
        dprintf(1, "PARENT ends\n");
        return 0;
}
