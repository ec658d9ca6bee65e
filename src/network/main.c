/*
 * sandbox-network: the program that makes a guest's connections and answers for names.
 *
 *   sandbox-network SUPERVISOR [all-names] [connects] [connections=N] [bytes=N] [rate=N]
 *                   [allow=RULE]... [deny=RULE]...
 *
 * Theory of operation. A child of the supervisor, in its namespaces. It is given a socket, hears
 * there once which guest it is for, becomes that guest's user where root started it, keeps no more
 * rights than to look at the guest (confine.c), and ends when the supervisor shuts that down or
 * dies. One thread, one loop.
 *
 * While something is being done a timer goes off every few milliseconds, to interrupt calls that
 * the guest has made wait. It ends by _exit(): sockets that a dying process holds do not linger.
 */
#include "network/server.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "kernel/notify.h"
#include "kernel/sys.h"
#include "network/confine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { INTERRUPT_US = 10000 };

static void say(enum network_word word, uint64_t id, const struct network_usage *usage,
                const char *what, const char *why)
{
        struct network_said said = { .id = id, .word = (uint32_t)word };

        if (usage)
                said.usage = *usage;
        (void)snprintf(said.what, sizeof(said.what), "%s", what);
        (void)snprintf(said.why, sizeof(said.why), "%s", why);
        /* Where nobody hears any more we are about to end. */
        (void)message_send(NETWORK_SOCKET, &said, sizeof(said), NULL, 0);
}

/* ---- the order ---- */

static bool take_number(const char *text, const char *word, uint64_t *ret_number)
{
        size_t length = strlen(word);
        char *end;

        if (strncmp(text, word, length) != 0 || text[length] != '=')
                return false;
        errno = 0;
        *ret_number = strtoull(text + length + 1, &end, 10);
        return errno == 0 && *end == '\0' && end != text + length + 1;
}

static bool take_rule(const char *text, const char *word, struct strlist *rules)
{
        size_t length = strlen(word);

        return strncmp(text, word, length) == 0 && text[length] == '=' &&
               strlist_add(rules, text + length + 1) == 0;
}

static bool read_arguments(int argc, char **argv, struct network_order *order,
                           struct strlist *allow, struct strlist *deny)
{
        for (int i = 2; i < argc; i++) {
                if (strcmp(argv[i], "all-names") == 0)
                        order->resolve_all = true;
                else if (strcmp(argv[i], "connects") == 0)
                        order->connects = true;
                else if (!take_number(argv[i], "connections", &order->connections_max) &&
                         !take_number(argv[i], "bytes", &order->bytes_max) &&
                         !take_number(argv[i], "rate", &order->rate_max) &&
                         !take_rule(argv[i], "allow", allow) && !take_rule(argv[i], "deny", deny))
                        return false;
        }
        order->allow = allow;
        order->deny = deny;
        return argc >= 2;
}

/* The supervisor may have died before the death signal was set. */
static bool is_orphan(const char *supervisor)
{
        return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
               getppid() != (pid_t)strtol(supervisor, NULL, 10);
}

/* ---- the loop ---- */

static void interrupt(int number)
{
        (void)number;
}

static bool set_interrupts(void)
{
        struct sigaction action = { .sa_handler = interrupt }; /* calls are not made again */

        (void)sigemptyset(&action.sa_mask); /* cannot fail */
        return sigaction(SIGALRM, &action, NULL) == 0;
}

static void interrupt_calls(bool wanted)
{
        struct itimerval every = { 0 };

        if (wanted)
                every.it_value.tv_usec = every.it_interval.tv_usec = INTERRUPT_US;
        (void)setitimer(ITIMER_REAL, &every, NULL); /* cannot fail with these values */
}

/* Hears whom it is for, and gives up what that does not take, before the guest can say anything. */
static int await_guest(struct network *network, const char *supervisor)
{
        struct network_begin begin;
        int fds[3 + NETWORK_RELAYS];
        size_t count = 0;
        struct network_guest guest = { .say = say };

        if (message_receive(NETWORK_SOCKET, 0, &begin, sizeof(begin), fds, ARRAY_SIZE(fds),
                            &count) <= 0 ||
            count < 3)
                return -1;
        guest.listener = fds[0];
        notify_wake_beside(guest.listener);
        guest.resolver_fds[0] = fds[1];
        guest.resolver_fds[1] = fds[2];
        for (size_t i = 0; i < NETWORK_RELAYS; i++)
                guest.relay_fds[i] = i + 3 < count ? fds[i + 3] : -1;
        guest.denies_tcp = begin.denies_tcp;
        guest.asks_forks = begin.asks_forks;
        if (confine(begin.uid, count > 3) < 0 || is_orphan(supervisor) || confine_calls() < 0)
                return -1;
        return network_attach(network, &guest);
}

static void serve(struct network *network)
{
        struct pollfd items[] = { { .fd = NETWORK_SOCKET, .events = POLLIN },
                                  { .fd = network_fd(network), .events = POLLIN } };

        while (!items[0].revents) {
                interrupt_calls(false);
                if (poll(items, ARRAY_SIZE(items), -1) < 0) {
                        items[0].revents = 0;
                        continue;
                }
                interrupt_calls(true);
                if (items[1].revents)
                        network_serve(network);
        }
        network_tell(network);
}

int main(int argc, char **argv)
{
        struct network_order order = { .connections_max = 1, .bytes_max = 1, .rate_max = 1 };
        struct strlist allow = { 0 }, deny = { 0 };
        struct network *network = NULL;

        if (!read_arguments(argc, argv, &order, &allow, &deny)) {
                fputs("usage: sandbox-network SUPERVISOR [all-names] [connects] [connections=N] "
                      "[bytes=N] [rate=N] [allow=RULE]... [deny=RULE]...\n",
                      stderr);
                return 2;
        }
        (void)signal(SIGPIPE, SIG_IGN); /* cannot fail for this signal */
        if (sys_close_range(NETWORK_SOCKET + 1, ~0u) < 0 || !set_interrupts() ||
            network_new(&order, &network, NULL) < 0 || is_orphan(argv[1]) ||
            await_guest(network, argv[1]) < 0)
                _exit(1);
        serve(network);
        _exit(0);
}
