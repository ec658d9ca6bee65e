/*
 * Messages of the domain name system (RFC 1035), as far as a resolver for addresses needs them.
 *
 * Both sides are foreign: questions come from the guest, answers from a server that may be anybody.
 * Nothing that came in is ever passed on: what goes out is written anew from the few fields kept
 * here. No function reads beyond `length`, loops through compression, or allocates.
 */
#ifndef NETWORK_DNS_MESSAGE_H
#define NETWORK_DNS_MESSAGE_H

#include "network/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        DNS_NAME_MAX = 253,  /* bytes of a name as text */
        DNS_UDP_PLAIN = 512, /* bytes of an answer, unless the question allows more */
        DNS_UDP_MAX = 1232,
        DNS_ADDRESSES_MAX = 24,
        DNS_ALIASES_MAX = 16, /* on the way to an address */
};

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_AAAA = 28, DNS_OPT = 41 };

enum dns_code {
        DNS_OK = 0,
        DNS_FORMAT_ERROR = 1,
        DNS_SERVER_FAILURE = 2,
        DNS_NO_SUCH_NAME = 3,
        DNS_NOT_IMPLEMENTED = 4,
};

struct dns_question {
        uint16_t id;
        uint16_t type;
        char name[DNS_NAME_MAX + 1]; /* lower case, without the last dot */
        bool is_ordinary_name;       /* letters, digits, '-' and '_' alone */
        size_t answer_max;           /* bytes that the asker takes */
        /* The question as it was asked, to be said again: names are compared bit by bit by some. */
        uint8_t asked[DNS_NAME_MAX + 2 + 4];
        size_t asked_length;
};

struct dns_answer {
        enum dns_code code;
        struct address addresses[DNS_ADDRESSES_MAX];
        size_t count;
        uint32_t ttl; /* the shortest on the way to the addresses */
        bool was_cut; /* there were more */
        /* The names on the way to the addresses, after the one that was asked for. */
        char aliases[DNS_ALIASES_MAX][DNS_NAME_MAX + 1];
        size_t alias_count;
};

/* DNS_OK; or with what to answer; -1 where it is no question and gets no answer. `ret_question->id`
 * and what was asked are set wherever there is an answer to give. */
int dns_parse_question(const uint8_t *data, size_t length, struct dns_question *ret_question);
/* The answer, at most `size` bytes: addresses that do not fit are left out. */
size_t dns_write_answer(const struct dns_question *question, const struct dns_answer *answer,
                        uint8_t *buffer, size_t size);
/* A question to a server. `size` must be at least DNS_UDP_PLAIN. */
size_t dns_write_question(uint16_t id, const char *name, enum dns_type type, uint8_t *buffer,
                          size_t size);
/* Reads a server's answer to such a question. False where it is none to it. */
bool dns_parse_answer(const uint8_t *data, size_t length, uint16_t id, const char *name,
                      enum dns_type type, struct dns_answer *ret_answer);

#endif
