#include "proxy/allow.h"

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
        bool is_refused = false;
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
                if (place->may_be_local || allow_is_public(address))
                        place->address_count++;
                else
                        is_refused = true;
        }
        freeaddrinfo(found);
        if (place->address_count > 0)
                return NULL;
        return is_refused ? "its address is of a private network" : "it has no address";
}

const struct allow_place *allow_find(const struct allow_list *list, const char *host, uint16_t port)
{
        for (size_t i = 0; i < list->count; i++)
                if (list->places[i].port == port && strcmp(list->places[i].host, host) == 0)
                        return &list->places[i];
        return NULL;
}
