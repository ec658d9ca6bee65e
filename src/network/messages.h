/*
 * What the supervisor (agent.c) and the program sandbox-network (main.c) say to one another, over
 * one SOCK_SEQPACKET pair. Both are of one build.
 *
 *   order    the program's arguments: "all-names", "connects", "connections=N", "bytes=N",
 *            "rate=N", "allow=RULE"..., "deny=RULE"...
 *   begin    to the program, once, with descriptors: the listener, the resolver's two, the relays
 *   said     by the program, as often as there is something
 *   end      the supervisor shuts its side down; the program says what is left to say and goes
 */
#ifndef NETWORK_MESSAGES_H
#define NETWORK_MESSAGES_H

#include <stdint.h>

enum {
        NETWORK_SOCKET = 3, /* the program's end of the pair */
        /* Sockets for UDP that the helper makes in the guest's namespace: half of them IPv4, half
         * IPv6. */
        NETWORK_RELAYS = 24,
        NETWORK_WHAT_MAX = 96,
        NETWORK_WHY_MAX = 96,
};

/* A rate that is none; the most that a policy can say. */
#define NETWORK_RATE_NONE (UINT64_C(1) << 42)

struct network_begin {
        uint32_t denies_tcp; /* Landlock refuses the guest's own connects and binds */
        uint32_t asks_forks; /* the supervisor decides about new processes */
        uint32_t uid;        /* whom to become, the guest's; 0: nobody else */
};

struct network_usage {
        uint64_t connections;        /* made */
        uint64_t rx_bytes, tx_bytes; /* on them, as far as was seen */
};

enum network_word {
        NETWORK_REFUSED,  /* what was tried, and why it was not done */
        NETWORK_USED,     /* so far */
        NETWORK_EXCEEDED, /* a limit that ends the run */
        NETWORK_FORK,     /* a call that starts a process waits for the supervisor's answer: `id` */
};

struct network_said {
        uint64_t id;
        struct network_usage usage;
        uint32_t word; /* enum network_word */
        char what[NETWORK_WHAT_MAX];
        char why[NETWORK_WHY_MAX];
};

#endif
