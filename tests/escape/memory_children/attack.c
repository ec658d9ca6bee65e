#include "attack.h"

int main(void)
{
        dprintf(1, "TRYING\n");
        for (int i = 0; i < 10; i++)
                if (fork() == 0) {
                        char *block = malloc(20 << 20);

                        memset(block, 1, 20 << 20);
                        for (;;)
                                pause();
                }
        sleep(15);
        dprintf(1, "ESCAPED 200 MiB in ten children\n");
        return 0;
}
