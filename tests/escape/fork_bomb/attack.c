#include "attack.h"

int main(void)
{
        bool told = false;

        for (;;)
                if (fork() < 0 && !told) {
                        told = true;
                        dprintf(1, "REFUSED fork %s\n", strerrorname_np(errno));
                }
}
