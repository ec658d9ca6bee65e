/*
 * The supervisor's side of a run's network: starts the program sandbox-network, which does all the
 * work (see server.h for what and how), and hears of it.
 *
 * It is a process of its own because it handles sockets that the guest has in its hands, and a
 * guest has ways to make calls on those wait: whoever makes them must be one that can be held up or
 * killed while the clock of the run goes on. For the same reason none of the guest's descriptors
 * ever enters this process.
 */
#ifndef NETWORK_AGENT_H
#define NETWORK_AGENT_H

#include "base/error.h"
#include "base/mem.h"
#include "network/messages.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;

struct network_order {
        bool resolve_all;            /* every name; else the allowed ones */
        bool connects;               /* to what is allowed; else to nobody */
        const struct strlist *allow; /* borrowed */
        const struct strlist *deny;  /* borrowed; wins */
        uint64_t connections_max;    /* at once */
        uint64_t bytes_max;          /* in and out together, as far as is seen */
        uint64_t rate_max;           /* of them in a second */
        bool becomes_guest;          /* the program takes the guest's user, which is not ours */
};

/* What the helper handed up, and who hears of what happens. */
struct agent_guest {
        int listener;                  /* calls that wait; borrowed, must outlive the agent */
        int resolver_fds[2];           /* UDP, TCP */
        int relay_fds[NETWORK_RELAYS]; /* for UDP; or -1 */
        bool denies_tcp;               /* Landlock refuses the guest's own connects and binds */
        uint32_t uid;                  /* the guest's, which has a user namespace; 0: not so */
        void (*refused)(void *context, const char *what, const char *why);
        /* A limit was passed that ends the run. Told once. */
        void (*exceeded)(void *context);
        /* Whether one more process may start; NULL: nobody asks. */
        bool (*may_fork)(void *context);
        void *context;
};

/* Starts the program. The caller's thread must live as long as it: the program ends with it. */
int agent_start(const char *program, const struct network_order *order, struct agent **ret_agent,
                struct error *err);
/* Ends it at once. */
void agent_free(struct agent *agent);
/* The guest is about to start. 0, or -1 with errno; all descriptors but the listener may be closed
 * then. */
int agent_attach(struct agent *agent, const struct agent_guest *guest);
/* Readable when there is something to hear. */
int agent_fd(const struct agent *agent);
/* Hears some of what was said; does not block. False where the program is gone. */
bool agent_hear(struct agent *agent);
/* As far as was told. */
struct network_usage agent_usage(const struct agent *agent);
/* What the program has computed for the guest so far: microseconds of CPU time. */
uint64_t agent_cpu_us(const struct agent *agent);
/* The guest is gone: has the program say the rest. Waits for it, but not long. */
void agent_finish(struct agent *agent);

#endif
