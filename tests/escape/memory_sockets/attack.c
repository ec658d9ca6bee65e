#include "attack.h"
#include <sys/socket.h>

int main(void)
{
        static char block[1 << 16];
        long total = 0;
        int pair[2];

        dprintf(1, "TRYING\n");
        while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
                ssize_t length;
                int size = 64 << 20;

                setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
                while ((length = write(pair[0], block, sizeof(block))) > 0)
                        total += length;
        }
        dprintf(1, "%s sockets %s with %ld MiB\n", total < (160 << 20) ? "REFUSED" : "ESCAPED",
                strerrorname_np(errno), total >> 20);
        return 0;
}
