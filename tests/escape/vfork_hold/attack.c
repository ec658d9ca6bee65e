#include "attack.h"

int main(void)
{
        dprintf(1, "TRYING\n");
        if (vfork() == 0)
                for (;;)
                        pause();
        return 0;
}
