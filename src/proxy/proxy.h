/*
 * sandbox-proxy: the one way out of a network namespace that has none. It knows nothing of what
 * the traffic is for.
 *
 * Theory of operation. The supervisor starts it with the places that may be reached as arguments,
 * as a process of its own, outside of the sandbox:
 *
 *         sandbox-proxy SUPERVISOR (near|far)=HOST:PORT...
 *
 * ("near" places may have addresses of this machine and of private networks.) Descriptor 0 is a
 * pipe whose end tells it to go, 1 takes its lines, 3 is a socket on which the keeper of the
 * sandbox hands over a listening socket of its network namespace. It gives up root where it has
 * it, resolves and tries the places, says which can be reached, and then locks itself up: no new
 * file, process or privilege, some twenty system calls. Only then does it hear what the guest says.
 * One thread, one poll loop, all memory static. It goes with the supervisor, by the pipe and by a
 * death signal.
 *
 * Lines: "reachable N", "unreachable N WHY", then "ready"; at the end "refused COUNT WHAT" for each
 * thing refused, "bytes N" and "end".
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include "proxy/allow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        PROXY_CONTROL = 0, /* descriptors */
        PROXY_LINES = 1,
        PROXY_SOCKET = 3,
        PROXY_REFUSALS_MAX = 16,
        PROXY_WHAT_MAX = 96,
};

/* What was asked for and refused, for the supervisor. */
struct refusals {
        struct refusal {
                char what[PROXY_WHAT_MAX];
                uint64_t count;
        } items[PROXY_REFUSALS_MAX];
        size_t count;
};
void refusals_add(struct refusals *refusals, const char *what);

/* confine.c: give up root where we have it; later everything else. 0, or -1 with errno. */
int confine_identity(void);
int confine_rest(void);

/* relay.c: serves until descriptor 0 ends. Returns the bytes that went through. */
uint64_t relay_run(const struct allow_list *list, struct refusals *refusals);

#endif
