/*
 * What a guest may reach, and how it gets there.
 *
 * Theory of operation. The guest lives in a network namespace of its own that holds nothing but its
 * loopback: by itself it reaches nobody. Two ways lead out, and both end here, in the supervisor,
 * which lives in the caller's namespace:
 *
 *   Names. The helper opens two sockets in the guest's namespace, UDP and TCP on 127.0.0.1 port 53,
 *   and hands them up. We answer on them: for allowed names, by asking the caller's own name
 *   servers. Which addresses were given for which name, and until when, is remembered.
 *
 *   Connections. The guest's filter has connect(), bind() and listen() wait for us
 * (kernel/notify.h). We copy the arguments once, decide by the copy, make the connection on a
 * socket of our own, and put that in the place of the guest's. The guest never makes such a call
 * itself on an internet socket: what it changes in its memory or its descriptors after the copy
 * changes nothing. Calls on sockets of its own namespace (its loopback) we make too, on a copy of
 * its descriptor.
 *
 * What a socket in the guest's hands could still do that would lead elsewhere, the filter refuses
 * by the values of registers: TCP fast open, source routes, binding to a device, asking about
 * interfaces. docs/NETWORK.md has the whole argument.
 *
 * All of this is one single-threaded process, the program sandbox-network (main.c); the supervisor
 * only hears of it (agent.h). Sockets that the guest has in its hands can be made to hold up calls
 * on them: a guest that takes O_NONBLOCK away between our look and our connect(), or that closes a
 * socket which lingers and leaves us the last to hold it. So nothing here relies on a call to come
 * back: a timer interrupts it (main.c). What is held up meanwhile is the guest's own network.
 */
#ifndef NETWORK_SERVER_H
#define NETWORK_SERVER_H

#include "base/error.h"
#include "network/agent.h"
#include "network/messages.h"

#include <stdbool.h>
#include <stdint.h>

struct network;

/* What the helper handed up, and who hears of what happens. Descriptors are borrowed and must
 * outlive the network. */
struct network_guest {
        int listener;                  /* calls that wait */
        int resolver_fds[2];           /* UDP, TCP; or -1 */
        int relay_fds[NETWORK_RELAYS]; /* for UDP; or -1 */
        bool denies_tcp;               /* Landlock refuses the guest's own connects and binds */
        bool asks_forks;               /* calls that start a process are not ours to decide */
        /* Says it to the supervisor. */
        void (*say)(enum network_word word, uint64_t id, const struct network_usage *usage,
                    const char *what, const char *why);
};

int network_new(const struct network_order *order, struct network **ret_network, struct error *err);
void network_free(struct network *network);
/* Begins to serve. 0, or -1 with errno. */
int network_attach(struct network *network, const struct network_guest *guest);
/* Readable when there is something to do. */
int network_fd(const struct network *network);
/* Does some of what is to be done now. */
void network_serve(struct network *network);

/* Looks once more, and says what was used. */
void network_tell(struct network *network);

#endif
