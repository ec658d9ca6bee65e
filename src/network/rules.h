/*
 * Rules of who may be reached: "name", "*.name", "address" or "address/bits", each with an optional
 * ":port" or ":port-port". TCP is meant; "host:port/udp" means UDP, to one port of one host.
 */
#ifndef NETWORK_RULES_H
#define NETWORK_RULES_H

#include "base/error.h"
#include "network/address.h"

#include <stdbool.h>
#include <stdint.h>

enum { RULE_NAME_MAX = 253 };

struct rule {
        char name[RULE_NAME_MAX + 1]; /* lower case, without "*."; empty: an address */
        bool is_beneath;              /* "*.name": every name beneath it, not itself */
        struct address net;
        unsigned bits; /* of 128 */
        uint16_t first_port, last_port;
        bool is_udp;
};

struct rules {
        struct rule *items; /* owned */
        size_t count, capacity;
};

int rules_add(struct rules *rules, const char *text, struct error *err);
void rules_done(struct rules *rules);

/* Whether a rule names the address itself. */
bool rules_have_address(const struct rules *rules, const struct address *address, uint16_t port,
                        bool udp);
/* Whether a rule of at least so many bits does, for the port; 0: for any port and protocol. */
bool rules_have_narrow_address(const struct rules *rules, const struct address *address,
                               unsigned bits, uint16_t port, bool udp);
/* Whether a rule names this (lower case) name, for the port. */
bool rules_have_name(const struct rules *rules, const char *name, uint16_t port, bool udp);
/* Whether this rule does, for any port. */
bool rule_names(const struct rule *rule, const char *name);
/* For any port: it is worth resolving. */
bool rules_have_name_anyhow(const struct rules *rules, const char *name);
/* For every port and protocol: it is not even resolved. */
bool rules_have_name_wholly(const struct rules *rules, const char *name);

#endif
