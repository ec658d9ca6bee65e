#include "network/address.h"
#include "base/fd.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const uint8_t v4_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

struct address address_v4(const uint8_t bytes[4])
{
        struct address address;

        memcpy(address.bytes, v4_prefix, sizeof(v4_prefix));
        memcpy(address.bytes + sizeof(v4_prefix), bytes, 4);
        return address;
}

bool address_is_v4(const struct address *address)
{
        return memcmp(address->bytes, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool address_equal(const struct address *a, const struct address *b)
{
        return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool address_is_within(const struct address *address, const struct address *net, unsigned bits)
{
        unsigned whole = bits / 8, rest = bits % 8;

        if (memcmp(address->bytes, net->bytes, whole) != 0)
                return false;
        return rest == 0 || (address->bytes[whole] ^ net->bytes[whole]) >> (8 - rest) == 0;
}

bool address_parse(const char *text, struct address *ret_address)
{
        uint8_t v4[4];

        if (inet_pton(AF_INET, text, v4) == 1) {
                *ret_address = address_v4(v4);
                return true;
        }
        return inet_pton(AF_INET6, text, ret_address->bytes) == 1;
}

const char *address_text(const struct address *address, uint16_t port,
                         char buffer[ADDRESS_TEXT_MAX])
{
        char text[INET6_ADDRSTRLEN] = "?";
        bool v4 = address_is_v4(address);
        const uint8_t *bytes = address->bytes + (v4 ? sizeof(v4_prefix) : 0);

        (void)inet_ntop(v4 ? AF_INET : AF_INET6, bytes, text, sizeof(text)); /* it has room */
        if (port == 0)
                (void)snprintf(buffer, ADDRESS_TEXT_MAX, "%s", text);
        else
                (void)snprintf(buffer, ADDRESS_TEXT_MAX, v4 ? "%s:%u" : "[%s]:%u", text,
                               (unsigned)port);
        return buffer;
}

int address_from_socket(const void *data, size_t length, struct address *ret_address,
                        uint16_t *ret_port)
{
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        sa_family_t family;

        if (length < sizeof(family))
                return EINVAL;
        memcpy(&family, data, sizeof(family));
        if (family == AF_INET && length >= sizeof(v4)) {
                memcpy(&v4, data, sizeof(v4));
                *ret_address = address_v4((const uint8_t *)&v4.sin_addr);
                *ret_port = ntohs(v4.sin_port);
                return 0;
        }
        /* Without the scope, which came later, it is complete too. */
        if (family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
                memcpy(&v6, data, length < sizeof(v6) ? length : sizeof(v6));
                memcpy(ret_address->bytes, &v6.sin6_addr, sizeof(ret_address->bytes));
                *ret_port = ntohs(v6.sin6_port);
                return 0;
        }
        return family == AF_INET || family == AF_INET6 ? EINVAL : EAFNOSUPPORT;
}

socklen_t address_to_socket(const struct address *address, uint16_t port, int family,
                            struct sockaddr_storage *ret)
{
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

        memset(ret, 0, sizeof(*ret));
        if (family == AF_INET6) {
                memcpy(&v6.sin6_addr, address->bytes, sizeof(address->bytes));
                memcpy(ret, &v6, sizeof(v6));
                return sizeof(v6);
        }
        if (!address_is_v4(address))
                return 0;
        memcpy(&v4.sin_addr, address->bytes + sizeof(v4_prefix), 4);
        memcpy(ret, &v4, sizeof(v4));
        return sizeof(v4);
}

struct range {
        const char *net;
        unsigned bits; /* of 128 */
        const char *what;
};

/* The registries of special addresses (RFC 6890 and its kin), as far as they can lead to a machine.
 * The last ones carry an IPv4 address inside, which would have to be looked at once more: nobody
 * needs them to reach a public name. */
static const struct range ranges[] = {
        { "0.0.0.0", 96 + 8, "this host" },
        { "10.0.0.0", 96 + 8, "private" },
        { "100.64.0.0", 96 + 10, "a carrier's private" },
        { "127.0.0.0", 96 + 8, "loopback" },
        { "169.254.0.0", 96 + 16, "link-local (cloud metadata)" },
        { "168.63.129.16", 128, "cloud metadata" }, /* a public address that a cloud has taken */
        { "172.16.0.0", 96 + 12, "private" },
        { "192.0.0.0", 96 + 24, "special" },
        { "192.168.0.0", 96 + 16, "private" },
        { "198.18.0.0", 96 + 15, "a benchmark's" },
        { "224.0.0.0", 96 + 4, "multicast" },
        { "240.0.0.0", 96 + 4, "reserved" },
        { "fe80::", 10, "link-local" },
        { "fec0::", 10, "private" },
        { "fc00::", 7, "private" },
        { "ff00::", 8, "multicast" },
        { "100::", 64, "discard" },
        { "::", 96, "this host" },
        { "64:ff9b::", 96, "translated" },
        { "64:ff9b:1::", 48, "translated" },
        { "2001::", 32, "tunnelled" },
        { "2002::", 16, "tunnelled" },
};

const char *address_special(const struct address *address, unsigned *ret_bits)
{
        for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
                struct address net;

                if (address_parse(ranges[i].net, &net) &&
                    address_is_within(address, &net, ranges[i].bits)) {
                        *ret_bits = ranges[i].bits;
                        return ranges[i].what;
                }
        }
        return NULL;
}

bool address_is_loopback(const struct address *address)
{
        static const struct range own[] = {
                { "127.0.0.0", 96 + 8, NULL },
                { "0.0.0.0", 128, NULL },
                { "::", 128, NULL },
                { "::1", 128, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
                struct address net;

                if (address_parse(own[i].net, &net) &&
                    address_is_within(address, &net, own[i].bits))
                        return true;
        }
        return false;
}

bool address_is_our_own(const struct address *address)
{
        int family = address_is_v4(address) ? AF_INET : AF_INET6;
        AUTO_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_storage name;
        socklen_t length = address_to_socket(address, 0, family, &name);

        /* A socket can be bound to an address of this machine alone. One that cannot be asked about
         * counts as ours, but for a family that the machine does not have. */
        if (fd < 0)
                return errno != EAFNOSUPPORT;
        return bind(fd, (const struct sockaddr *)&name, length) == 0 || errno != EADDRNOTAVAIL;
}
