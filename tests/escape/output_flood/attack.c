#include "attack.h"

int main(void)
{
        static char block[65536];

        memset(block, 'A', sizeof(block));
        memcpy(block, "TRYING\n", 7);
        for (;;) {
                (void)!write(1, block, sizeof(block));
                (void)!write(2, block, sizeof(block));
        }
}
