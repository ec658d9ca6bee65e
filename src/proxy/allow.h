/*
 * The places that may be reached. A name is resolved once, before anybody untrusted is heard: what
 * it means cannot change afterwards, and a name that is not on the list is never looked up, so that
 * no secret leaves by a question to a name server.
 */
#ifndef PROXY_ALLOW_H
#define PROXY_ALLOW_H

#include "proxy/request.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { ALLOW_ADDRESSES_MAX = 16, ALLOW_PLACES_MAX = 64 };

union allow_address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

struct allow_place {
        char host[REQUEST_HOST_MAX];
        uint16_t port;
        bool may_be_local; /* addresses of this machine and of private networks are meant */
        union allow_address addresses[ALLOW_ADDRESSES_MAX];
        size_t address_count;
};

struct allow_list {
        struct allow_place places[ALLOW_PLACES_MAX];
        size_t count;
};

/* Reads "host:port". False where it is none, or the list is full. */
bool allow_add(struct allow_list *list, const char *text, bool may_be_local);
/* Finds the addresses of a place; NULL, or why it has none. */
const char *allow_resolve(struct allow_place *place);
/* The place of exactly this host and port, or NULL. */
const struct allow_place *allow_find(const struct allow_list *list, const char *host,
                                     uint16_t port);
/* Whether an address is of an interface of this machine: those may be public as well. */
bool allow_is_own(const union allow_address *address);
/* Whether an address belongs to the internet at large: not to this machine, a private network, a
 * link (where clouds have their metadata) or a group. */
bool allow_is_public(const union allow_address *address);

#endif
