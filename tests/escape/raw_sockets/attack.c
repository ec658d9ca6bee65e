#include "attack.h"
#include <netinet/in.h>
#include <sys/socket.h>

int main(void)
{
        TRY("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPROTONOSUPPORT, ESOCKTNOSUPPORT);
        TRY("raw-cloexec", socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255), EPROTONOSUPPORT, ESOCKTNOSUPPORT);
        TRY("raw6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), EPROTONOSUPPORT, ESOCKTNOSUPPORT);
        TRY("packet-type", socket(AF_INET, SOCK_PACKET, 3), EPROTONOSUPPORT, ESOCKTNOSUPPORT);
        TRY("mptcp", socket(AF_INET, SOCK_STREAM, 262), EPROTONOSUPPORT);
        TRY("mptcp6", socket(AF_INET6, SOCK_STREAM, 262), EPROTONOSUPPORT);
        TRY("sctp", socket(AF_INET, SOCK_STREAM, 132), EPROTONOSUPPORT);
        TRY("dccp", socket(AF_INET, 6, 33), EPROTONOSUPPORT, ESOCKTNOSUPPORT);
        return 0;
}
