#include "proxy/allow.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

/* What is not the internet at large: network, bits of its prefix. */
static const struct {
        uint32_t network;
        unsigned bits;
} local_v4[] = {
        { 0x00000000, 8 },  /* this host */
        { 0x0a000000, 8 },  /* private */
        { 0x64400000, 10 }, /* carrier's own */
        { 0x7f000000, 8 },  /* loopback */
        { 0xa9fe0000, 16 }, /* the link: metadata of clouds */
        { 0xac100000, 12 }, /* private */
        { 0xc0a80000, 16 }, /* private */
        { 0xc6120000, 15 }, /* benchmarks */
        { 0xe0000000, 3 },  /* groups, reserved, broadcast */
};

static bool is_public_v4(uint32_t address)
{
        for (size_t i = 0; i < sizeof(local_v4) / sizeof(local_v4[0]); i++)
                if ((address ^ local_v4[i].network) >> (32 - local_v4[i].bits) == 0)
                        return false;
        return true;
}

static uint32_t read_v4(const uint8_t *bytes)
{
        return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
               bytes[3];
}

/* Global unicast alone; and an address that carries one of version 4 is judged by that. */
static bool is_public_v6(const uint8_t *bytes)
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
        static const uint8_t translated[12] = { 0x00, 0x64, 0xff, 0x9b };

        if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, translated, 12) == 0)
                return is_public_v4(read_v4(bytes + 12));
        if (bytes[0] == 0x20 && bytes[1] == 0x02) /* 6to4 */
                return is_public_v4(read_v4(bytes + 2));
        return (bytes[0] & 0xe0) == 0x20;
}

bool allow_is_public(const union allow_address *address)
{
        if (address->any.sa_family == AF_INET)
                return is_public_v4(ntohl(address->v4.sin_addr.s_addr));
        return address->any.sa_family == AF_INET6 && is_public_v6(address->v6.sin6_addr.s6_addr);
}

static bool is_same_address(const union allow_address *address, const struct sockaddr *other)
{
        const union allow_address *own = (const union allow_address *)other;

        if (!other || other->sa_family != address->any.sa_family)
                return false;
        if (other->sa_family == AF_INET)
                return own->v4.sin_addr.s_addr == address->v4.sin_addr.s_addr;
        return other->sa_family == AF_INET6 &&
               memcmp(&own->v6.sin6_addr, &address->v6.sin6_addr, sizeof(own->v6.sin6_addr)) == 0;
}

bool allow_is_own(const union allow_address *address)
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
        union allow_address plain = *address;
        struct ifaddrs *list = NULL;
        bool found = false;

        if (address->any.sa_family == AF_INET6 &&
            memcmp(address->v6.sin6_addr.s6_addr, mapped, 12) == 0) {
                plain.v4 = (struct sockaddr_in){ .sin_family = AF_INET };
                memcpy(&plain.v4.sin_addr, address->v6.sin6_addr.s6_addr + 12, 4);
        }
        if (getifaddrs(&list) < 0)
                return true; /* whoever cannot tell says no */
        for (const struct ifaddrs *next = list; next && !found; next = next->ifa_next)
                found = is_same_address(&plain, next->ifa_addr);
        freeifaddrs(list);
        return found;
}

bool allow_add(struct allow_list *list, const char *text, bool may_be_local)
{
        struct allow_place *place = &list->places[list->count];

        if (list->count == ALLOW_PLACES_MAX ||
            !request_split_authority(text, strlen(text), 0, place->host, &place->port))
                return false;
        place->may_be_local = may_be_local;
        list->count++;
        return true;
}

const char *allow_resolve(struct allow_place *place)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
        struct addrinfo *found = NULL;
        char port[8];
        const char *refused = "it has no address", *why;
        int r;

        (void)snprintf(port, sizeof(port), "%u", place->port);
        r = getaddrinfo(place->host, port, &hints, &found);
        if (r != 0)
                return gai_strerror(r);
        for (const struct addrinfo *next = found; next; next = next->ai_next) {
                union allow_address *address = &place->addresses[place->address_count];

                if (place->address_count == ALLOW_ADDRESSES_MAX ||
                    next->ai_addrlen > sizeof(*address))
                        continue;
                memset(address, 0, sizeof(*address));
                memcpy(address, next->ai_addr, next->ai_addrlen);
                why = place->may_be_local         ? NULL
                      : !allow_is_public(address) ? "its address is of a private network"
                      : allow_is_own(address)     ? "its address is this machine's"
                                                  : NULL;
                if (why)
                        refused = why;
                else
                        place->address_count++;
        }
        freeaddrinfo(found);
        return place->address_count > 0 ? NULL : refused;
}

const struct allow_place *allow_find(const struct allow_list *list, const char *host, uint16_t port)
{
        for (size_t i = 0; i < list->count; i++)
                if (list->places[i].port == port && strcmp(list->places[i].host, host) == 0)
                        return &list->places[i];
        return NULL;
}
