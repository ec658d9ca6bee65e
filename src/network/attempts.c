#include "network/attempts.h"
#include "network/address.h"

#include <stdio.h>
#include <sys/syscall.h>

enum { PORT_OF_NAMES = 53 };

bool attempt_describe(int listener, const struct notify_call *call, bool has_loopback,
                      char what[ATTEMPT_MAX])
{
        bool sends = call->number == SYS_sendto;
        uint64_t place = call->arguments[sends ? 4 : 1], length = call->arguments[sends ? 5 : 2];
        struct sockaddr_storage bytes;
        char text[ADDRESS_TEXT_MAX];
        struct address address;
        uint16_t port;

        if (length > sizeof(bytes))
                length = sizeof(bytes);
        if (guest_read(call->thread, place, &bytes, length) < 0 ||
            !notify_is_valid(listener, call->id) ||
            address_from_socket(&bytes, length, &address, &port) != 0)
                return false;
        if (address_is_loopback(&address) && (has_loopback || port == PORT_OF_NAMES)) {
                /* Without a name server the C library asks this machine. */
                (void)snprintf(what, ATTEMPT_MAX, "resolve a name");
                return port == PORT_OF_NAMES;
        }
        (void)snprintf(what, ATTEMPT_MAX, "%s %s", sends ? "send udp" : "connect",
                       address_text(&address, port, text));
        return true;
}
