#include "attack.h"
#include <sys/socket.h>

int main(void)
{
        static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
        char what[64];

        for (int family = 3; family < 64; family++) {
                if (family == AF_INET6)
                        continue;
                for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
                        snprintf(what, sizeof(what), "socket-%d-%d", family, types[i]);
                        TRY(what, socket(family, types[i], 0), EAFNOSUPPORT);
                }
        }
        TRY("socketpair-netlink", socketpair(AF_NETLINK, SOCK_RAW, 0, (int[2]){ 0 }), EAFNOSUPPORT);
        /* The kernel takes an int: high bits must not hide the family. */
        TRY("socket-high", syscall(SYS_socket, 0x100000000UL | AF_NETLINK, SOCK_RAW, 0), EAFNOSUPPORT);
        return 0;
}
