#include "attack.h"

int main(void)
{
        static char block[1 << 16];
        long total = 0;
        int ends[2];

        dprintf(1, "TRYING\n");
        while (pipe2(ends, O_NONBLOCK) == 0) {
                ssize_t length;

                fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
                while ((length = write(ends[1], block, sizeof(block))) > 0)
                        total += length;
        }
        dprintf(1, "%s pipes %s with %ld MiB\n", total < (160 << 20) ? "REFUSED" : "ESCAPED",
                strerrorname_np(errno), total >> 20);
        return 0;
}
