/*
 * Internet addresses, IPv4 and IPv6 alike: an IPv4 address is kept as ::ffff:a.b.c.d, so that both
 * ways to write it are the same address and are compared by one rule.
 */
#ifndef NETWORK_ADDRESS_H
#define NETWORK_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
        uint8_t bytes[16];
};

enum { ADDRESS_TEXT_MAX = 64 };

struct address address_v4(const uint8_t bytes[4]);
bool address_is_v4(const struct address *address);
bool address_equal(const struct address *a, const struct address *b);
/* Whether the first `bits` (of 128) are the same. */
bool address_is_within(const struct address *address, const struct address *net, unsigned bits);
/* Dotted or colon form alone; nothing is looked up, octal and decimal forms are refused. */
bool address_parse(const char *text, struct address *ret_address);
/* "1.2.3.4:443" or "[2001:db8::1]:443"; without port where it is 0. Returns `buffer`. */
const char *address_text(const struct address *address, uint16_t port,
                         char buffer[ADDRESS_TEXT_MAX]);

/* 0; or the errno that connect() has for such bytes. */
int address_from_socket(const void *data, size_t length, struct address *ret_address,
                        uint16_t *ret_port);
/* The form that a socket of this family wants; the length, or 0 where it cannot have it. */
socklen_t address_to_socket(const struct address *address, uint16_t port, int family,
                            struct sockaddr_storage *ret);

/* Loopback and "any", which a socket in the guest's own namespace reaches by itself. */
bool address_is_loopback(const struct address *address);
/* What a public name must not lead to: what kind of address it is, in words, and how many bits its
 * kind has; NULL where it is an ordinary one. */
const char *address_special(const struct address *address, unsigned *ret_bits);
/* Whether an interface of this machine has it: asked of the kernel, now. */
bool address_is_our_own(const struct address *address);

#endif
