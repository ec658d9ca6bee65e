/* The caller's own resolv.conf and hosts: who is asked for names, and what needs no asking. */
#include "network/internal.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

enum { FILE_MAX = 1 << 20, DNS_PORT = 53 };

char *host_read(const char *path)
{
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        char *data = NULL;
        size_t length;

        if (fd < 0 || fd_read_all(fd, FILE_MAX, path, &data, &length, NULL) < 0)
                return NULL;
        return data;
}

static char *next_word(char **rest)
{
        return strtok_r(NULL, " \t\r", rest);
}

static bool parse_server(const char *text, struct server *ret)
{
        struct address address;

        if (!address_parse(text, &address))
                return false;
        ret->length = address_to_socket(&address, DNS_PORT,
                                        address_is_v4(&address) ? AF_INET : AF_INET6, &ret->name);
        return ret->length > 0;
}

size_t host_servers(const char *path, struct server *servers, size_t max)
{
        AUTO_FREE char *text = host_read(path);
        char *rest = NULL;
        size_t count = 0;

        for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && count < max;
             line = strtok_r(NULL, "\n", &rest)) {
                char *words = NULL, *word = strtok_r(line, " \t\r", &words);

                if (!word || strcmp(word, "nameserver") != 0)
                        continue;
                word = next_word(&words);
                if (word && parse_server(word, &servers[count]))
                        count++;
        }
        return count;
}

static bool line_names(char **words, const char *name)
{
        for (const char *word = next_word(words); word && word[0] != '#'; word = next_word(words))
                if (strcasecmp(word, name) == 0)
                        return true;
        return false;
}

bool host_lookup(const char *hosts, const char *name, bool v4, struct dns_answer *answer)
{
        AUTO_FREE char *text = hosts ? mem_strdup(hosts) : NULL; /* is taken apart */
        char *rest = NULL;
        bool found = false;

        for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
             line = strtok_r(NULL, "\n", &rest)) {
                char *words = NULL, *word = strtok_r(line, " \t\r", &words);
                struct address address;

                if (!word || !address_parse(word, &address) || !line_names(&words, name))
                        continue;
                found = true;
                if (address_is_v4(&address) == v4 && answer->count < DNS_ADDRESSES_MAX)
                        answer->addresses[answer->count++] = address;
        }
        return found;
}
