#include "attack.h"

int main(void)
{
        static char block[1 << 20] = { 1 };
        int fd = memfd_create("bomb", 0);

        dprintf(1, "TRYING\n");
        for (int i = 0; i < 1024; i++)
                if (write(fd, block, sizeof(block)) < 0) {
                        dprintf(1, "REFUSED memfd %s\n", strerrorname_np(errno));
                        return 1;
                }
        dprintf(1, "ESCAPED 1 GiB in a memfd\n");
        return 0;
}
