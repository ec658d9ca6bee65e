#include "attack.h"

int main(void)
{
        dprintf(1, "TRYING\n");
        for (;;)
                (void)!write(1, "\x01\x02\x03\x04\x05\x06\x07", 7);
}
