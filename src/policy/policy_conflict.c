/*
 * Rules about the network that cannot hold side by side.
 *
 * A denied name is kept from resolving. Where addresses are allowed by themselves a program needs
 * no name: it connects to what the denied name stands for. Which addresses those are nobody can
 * list (a server gives some now and others later, to everybody his own), so the two are refused
 * together, unless their ports keep them apart.
 */
#include "policy/policy.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DESTINATION_MAX = 512, PORT_MAX = 65535 };

struct reach {
        bool is_name, is_udp;
        unsigned long first_port, last_port;
};

/* Cuts the port off; NULL where there is none. */
static const char *cut_port(char *text)
{
        char *end = *text == '[' ? strchr(text, ']') : strrchr(text, ':');

        if (!end || (*text != '[' && strchr(text, ':') != end))
                return NULL; /* none, or a bare IPv6 address */
        if (*text == '[' && end[1] != ':')
                return NULL;
        *end = '\0';
        return end + (*text == '[' ? 2 : 1);
}

/* Takes a destination apart that was found to be one. */
static struct reach reach_of(const char *destination)
{
        struct reach reach = { .first_port = 1, .last_port = PORT_MAX };
        unsigned char bytes[16];
        char text[DESTINATION_MAX];
        const char *port;

        (void)snprintf(text, sizeof(text), "%s", destination); /* their length was looked at */
        reach.is_udp = str_has_suffix(text, "/udp");
        if (reach.is_udp)
                text[strlen(text) - strlen("/udp")] = '\0';
        port = cut_port(text);
        if (port) {
                char *end;

                reach.first_port = reach.last_port = strtoul(port, &end, 10);
                if (*end == '-')
                        reach.last_port = strtoul(end + 1, NULL, 10);
        }
        reach.is_name = *text != '[' && !strchr(text, ':') && !strchr(text, '/') &&
                        inet_pton(AF_INET, text, bytes) != 1;
        return reach;
}

/* A rule against TCP is one against UDP too. */
static bool has_same_port(const struct reach *denied, const struct reach *allowed)
{
        return (!denied->is_udp || allowed->is_udp) && denied->first_port <= allowed->last_port &&
               allowed->first_port <= denied->last_port;
}

static int refuse(const char *name, const char *address, struct error *err)
{
        int r = error_set(err, SBX_EINVAL,
                          "network.deny has the name '%s' and network.allow the address '%s', "
                          "which a program may reach without the name",
                          name, address);

        error_hint(err, "deny addresses instead of the name, allow names alone, or give the two "
                        "different ports");
        return r;
}

int policy_check_network(const struct policy_values *values, struct error *err)
{
        const struct strlist *allow = &values->network_allow, *deny = &values->network_deny;
        AUTO_FREE struct reach *allowed = mem_alloc((allow->count + 1) * sizeof(*allowed));

        if (!allowed)
                return error_set_nomem(err);
        for (size_t k = 0; k < allow->count; k++)
                allowed[k] = reach_of(allow->items[k]);
        for (size_t i = 0; i < deny->count; i++) {
                struct reach denied = reach_of(deny->items[i]);

                for (size_t k = 0; denied.is_name && k < allow->count; k++)
                        if (!allowed[k].is_name && has_same_port(&denied, &allowed[k]))
                                return refuse(deny->items[i], allow->items[k], err);
        }
        return 0;
}
