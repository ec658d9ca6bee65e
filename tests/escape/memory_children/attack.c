#include "attack.h"

int main(void)
{
        dprintf(1, "TRYING\n");
        for (int i = 0; i < 10; i++)
                if (fork() == 0) {
                        volatile char *block = malloc(20 << 20);

                        for (int at = 0; at < 20 << 20; at += 4096)
                                block[at] = 1;
                        for (;;)
                                pause();
                }
        sleep(15);
        dprintf(1, "ESCAPED 200 MiB in ten children\n");
        return 0;
}
