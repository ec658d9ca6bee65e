#include "network/rules.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535 };

/* "80" or "80-90". */
static bool parse_ports(const char *text, struct rule *rule)
{
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;

        if (end == text || !isdigit((unsigned char)*text))
                return false;
        if (*end == '-' && isdigit((unsigned char)end[1]))
                last = strtoul(end + 1, &end, 10);
        if (*end || first < 1 || last > PORT_MAX || first > last)
                return false;
        rule->first_port = (uint16_t)first;
        rule->last_port = (uint16_t)last;
        return true;
}

/* Cuts protocol and port off the text; what remains is `*host`. */
static bool split(char *text, char **host, struct rule *rule)
{
        size_t length = strlen(text);
        char *colon;

        rule->first_port = 1;
        rule->last_port = PORT_MAX;
        if (str_has_suffix(text, "/udp")) {
                rule->is_udp = true;
                text[length - 4] = '\0';
        }
        *host = text;
        if (*text == '[') {
                char *end = strchr(text, ']');

                if (!end || (end[1] && end[1] != ':'))
                        return false;
                *end = '\0';
                *host = text + 1;
                return end[1] == '\0' || parse_ports(end + 2, rule);
        }
        colon = strrchr(text, ':');
        if (!colon || strchr(text, ':') != colon)
                return true; /* no port, or a bare IPv6 address */
        *colon = '\0';
        return parse_ports(colon + 1, rule);
}

static bool parse_net(char *host, struct rule *rule)
{
        char *slash = strchr(host, '/'), *end;
        unsigned long bits;

        if (slash)
                *slash = '\0';
        if (!address_parse(host, &rule->net))
                return false;
        rule->bits = 128;
        if (!slash)
                return true;
        bits = strtoul(slash + 1, &end, 10);
        if (!isdigit((unsigned char)slash[1]) || *end ||
            bits > (address_is_v4(&rule->net) && !strchr(host, ':') ? 32 : 128))
                return false;
        rule->bits = (unsigned)bits + (strchr(host, ':') ? 0 : 96);
        return true;
}

static bool parse_name(const char *host, struct rule *rule)
{
        size_t length;

        if (str_has_prefix(host, "*.")) {
                rule->is_beneath = true;
                host += 2;
        }
        length = strlen(host);
        if (length == 0 || length > RULE_NAME_MAX || strpbrk(host, "/*:[]"))
                return false;
        for (size_t i = 0; i < length; i++)
                rule->name[i] = (char)tolower((unsigned char)host[i]);
        return true;
}

static bool parse_host(char *host, struct rule *rule)
{
        bool is_net = strchr(host, '/');

        return parse_net(host, rule) || (!is_net && parse_name(host, rule));
}

int rules_add(struct rules *rules, const char *text, struct error *err)
{
        char copy[RULE_NAME_MAX + 64], shown[160], *host = NULL;
        struct rule rule = { 0 };
        int length = snprintf(copy, sizeof(copy), "%s", text);

        if (length < 0 || (size_t)length >= sizeof(copy) || !split(copy, &host, &rule) ||
            !parse_host(host, &rule) ||
            (rule.is_udp &&
             (rule.first_port != rule.last_port || (!rule.name[0] && rule.bits < 128))))
                return error_set(err, SBX_EINVAL, "bad network destination '%s'",
                                 str_printable(text, shown, sizeof(shown)));
        if (MEM_GROW(rules->items, rules->count, rules->capacity) < 0)
                return error_set_nomem(err);
        rules->items[rules->count++] = rule;
        return 0;
}

void rules_done(struct rules *rules)
{
        mem_free(rules->items);
        *rules = (struct rules){ 0 };
}

static bool has_port(const struct rule *rule, uint16_t port, bool udp)
{
        return rule->is_udp == udp && port >= rule->first_port && port <= rule->last_port;
}

static bool has_address(const struct rule *rule, const struct address *address)
{
        /* "::/0" means IPv6: an IPv4 address lies beneath it only in our way to keep it. */
        if (rule->name[0] || (rule->bits < 96 && address_is_v4(address)))
                return false;
        return address_is_within(address, &rule->net, rule->bits);
}

bool rule_names(const struct rule *rule, const char *name)
{
        size_t own = strlen(rule->name), length = strlen(name);

        if (own == 0)
                return false;
        if (!rule->is_beneath)
                return strcmp(rule->name, name) == 0;
        return length > own + 1 && name[length - own - 1] == '.' &&
               strcmp(name + length - own, rule->name) == 0;
}

bool rules_have_address(const struct rules *rules, const struct address *address, uint16_t port,
                        bool udp)
{
        for (size_t i = 0; i < rules->count; i++)
                if (has_address(&rules->items[i], address) && has_port(&rules->items[i], port, udp))
                        return true;
        return false;
}

bool rules_have_narrow_address(const struct rules *rules, const struct address *address,
                               unsigned bits, uint16_t port, bool udp)
{
        for (size_t i = 0; i < rules->count; i++)
                if (rules->items[i].bits >= bits && has_address(&rules->items[i], address) &&
                    (port == 0 || has_port(&rules->items[i], port, udp)))
                        return true;
        return false;
}

bool rules_have_name(const struct rules *rules, const char *name, uint16_t port, bool udp)
{
        for (size_t i = 0; i < rules->count; i++)
                if (rule_names(&rules->items[i], name) && has_port(&rules->items[i], port, udp))
                        return true;
        return false;
}

bool rules_have_name_anyhow(const struct rules *rules, const char *name)
{
        for (size_t i = 0; i < rules->count; i++)
                if (rule_names(&rules->items[i], name))
                        return true;
        return false;
}

bool rules_have_name_wholly(const struct rules *rules, const char *name)
{
        for (size_t i = 0; i < rules->count; i++)
                if (rule_names(&rules->items[i], name) && rules->items[i].first_port == 1 &&
                    rules->items[i].last_port == PORT_MAX && !rules->items[i].is_udp)
                        return true;
        return false;
}
