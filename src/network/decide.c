/*
 * Who may be reached. Denied wins; then an address that a rule names; then an address that our
 * resolver gave for a name that a rule names, while that answer is good.
 *
 * An address of this machine or of a private network is reached only where a rule names it
 * outright: by itself, or by a network no wider than its kind ("10.0.0.0/8" does, "0.0.0.0/0" does
 * not).
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static const uint64_t ns_per_s = 1000000000;

/* Programs keep answers somewhat longer than they are told to, and long lists of addresses are
 * tried one after another. */
enum { GIVEN_LEAST_S = 60, GIVEN_MOST_S = 3600, GIVEN_GRACE_S = 30 };

/* A rule against TCP is one against UDP too; see relay.c. */
static bool is_denied(const struct network *network, const struct address *address, uint16_t port)
{
        return rules_have_address(&network->deny, address, port, false);
}

/* Whether a name that may be reached at this port has the address. */
static bool was_given(const struct network *network, const struct address *address, uint16_t port)
{
        uint64_t now = clock_now_ns();

        for (size_t i = 0; i < network->given_count; i++) {
                const struct given *given = &network->given[i];

                if (given->expires_ns > now && address_equal(&given->address, address) &&
                    rules_have_name(&network->allow, given->name, port, false) &&
                    !rules_have_name(&network->deny, given->name, port, false))
                        return true;
        }
        return false;
}

/* Whether the address is of a kind that must be named outright and was not; for any port where that
 * is 0. */
static bool is_special(const struct network *network, const struct address *address, uint16_t port,
                       bool udp)
{
        unsigned bits = 0;

        if (!address_special(address, &bits) && !address_is_our_own(address))
                return false;
        if (!address_is_loopback(address) && address_is_our_own(address))
                bits = 128;
        return !rules_have_narrow_address(&network->allow, address, bits, port, udp);
}

const char *decide_connect(struct network *network, const struct address *address, uint16_t port)
{
        if (is_denied(network, address, port))
                return "it is denied";
        if (!network->connects)
                return "the network mode is dns: names resolve, nothing connects";
        if (is_special(network, address, port, false))
                return "not allowed: an address of this machine or of a private network";
        if (rules_have_address(&network->allow, address, port, false))
                return NULL;
        return was_given(network, address, port) ? NULL
                                                 : "not allowed, nor an address of an allowed name";
}

const char *decide_send(const struct network *network, const struct address *address, uint16_t port)
{
        if (rules_have_address(&network->deny, address, port, true) ||
            is_denied(network, address, port))
                return "it is denied";
        if (is_special(network, address, port, true))
                return "not allowed: an address of this machine or of a private network";
        return NULL;
}

const char *decide_name(const struct network *network, const char *name)
{
        if (rules_have_name_wholly(&network->deny, name))
                return "the name is denied";
        if (network->resolve_all || rules_have_name_anyhow(&network->allow, name))
                return NULL;
        return "the name is not allowed";
}

const char *decide_name_of(const struct network *network, const struct address *address)
{
        for (size_t i = network->given_count; i-- > 0;)
                if (address_equal(&network->given[i].address, address))
                        return network->given[i].name;
        return NULL;
}

bool decide_is_known(const struct network *network, const struct address *address)
{
        return decide_name_of(network, address) ||
               rules_have_narrow_address(&network->allow, address, 0, 0, false);
}

static void forget(struct network *network, size_t index)
{
        mem_free(network->given[index].name);
        network->given[index] = network->given[--network->given_count];
}

/* Remembers that the address was given for the name. Where there is no memory or no room, it is
 * not, and the connection will be refused. */
static void remember(struct network *network, const char *name, const struct address *address,
                     uint64_t expires_ns)
{
        uint64_t now = clock_now_ns();
        struct given given = { .address = *address, .expires_ns = expires_ns };

        for (size_t i = 0; i < network->given_count;) {
                struct given *known = &network->given[i];

                if (address_equal(&known->address, address) && strcmp(known->name, name) == 0) {
                        if (known->expires_ns < expires_ns)
                                known->expires_ns = expires_ns;
                        return;
                }
                if (known->expires_ns <= now)
                        forget(network, i);
                else
                        i++;
        }
        if (network->given_count >= GIVEN_MAX ||
            MEM_GROW(network->given, network->given_count, network->given_capacity) < 0)
                return;
        given.name = mem_strdup(name);
        if (given.name)
                network->given[network->given_count++] = given;
}

/* A name that stands for a denied one, for whichever ports, is denied like it. */
static bool leads_over_denied(struct network *network, const char *name,
                              const struct dns_answer *answer)
{
        for (size_t i = 0; i < answer->alias_count; i++)
                if (rules_have_name_anyhow(&network->deny, answer->aliases[i])) {
                        network_refuse(network, "it stands for a name that is denied",
                                       "resolve %s to %s", name, answer->aliases[i]);
                        return true;
                }
        return false;
}

void decide_answer(struct network *network, const char *name, struct dns_answer *answer)
{
        uint64_t seconds = answer->ttl, expires_ns;
        bool is_looked_at = !network->connects || !rules_have_name_anyhow(&network->allow, name);
        size_t kept = 0;

        if (leads_over_denied(network, name, answer)) {
                *answer = (struct dns_answer){ .code = DNS_NO_SUCH_NAME };
                return;
        }
        if (seconds < GIVEN_LEAST_S)
                seconds = GIVEN_LEAST_S;
        if (seconds > GIVEN_MOST_S)
                seconds = GIVEN_MOST_S;
        expires_ns = clock_now_ns() + (seconds + GIVEN_GRACE_S) * ns_per_s;
        for (size_t i = 0; i < answer->count; i++) {
                const struct address *address = &answer->addresses[i];
                char text[ADDRESS_TEXT_MAX];

                if (!is_looked_at && is_special(network, address, 0, false)) {
                        network_refuse(network, "it leads to this machine or to a private network",
                                       "resolve %s to %s", name, address_text(address, 0, text));
                        continue;
                }
                remember(network, name, address, expires_ns);
                if (!is_looked_at)
                        relay_given(network, name, address, expires_ns);
                answer->addresses[kept++] = *address;
        }
        answer->count = kept;
}

void decide_done(struct network *network)
{
        while (network->given_count > 0)
                forget(network, network->given_count - 1);
        mem_free(network->given);
        network->given = NULL;
}
