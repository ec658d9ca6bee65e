#include "proxy/request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_host_character(char c)
{
        return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

/* Decimal, 1 to 65535, nothing else. */
static bool read_port(const char *text, size_t length, uint16_t *ret_port)
{
        unsigned port = 0;

        if (length == 0 || length > 5)
                return false;
        for (size_t i = 0; i < length; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                port = port * 10 + (unsigned)(text[i] - '0');
        }
        *ret_port = (uint16_t)port;
        return port >= 1 && port <= 65535;
}

static bool copy_host(const char *text, size_t length, bool is_bracketed,
                      char host[REQUEST_HOST_MAX])
{
        if (!is_bracketed && length > 1 && text[length - 1] == '.')
                length--; /* "name." is the same name */
        if (length == 0 || length >= REQUEST_HOST_MAX)
                return false;
        for (size_t i = 0; i < length; i++) {
                bool fits = is_bracketed ? isxdigit((unsigned char)text[i]) || text[i] == ':' ||
                                                   text[i] == '.'
                                         : is_host_character(text[i]);

                if (!fits)
                        return false;
                host[i] = (char)tolower((unsigned char)text[i]);
        }
        host[length] = '\0';
        return true;
}

bool request_split_authority(const char *text, size_t length, uint16_t default_port,
                             char host[REQUEST_HOST_MAX], uint16_t *ret_port)
{
        bool is_bracketed = length > 0 && text[0] == '[';
        const char *end = is_bracketed ? memchr(text, ']', length) : memchr(text, ':', length);
        size_t host_length, rest;

        if (is_bracketed && !end)
                return false;
        host_length = end ? (size_t)(end - text) : length;
        rest = host_length + is_bracketed;
        if (rest < length) {
                if (text[rest] != ':' || !read_port(text + rest + 1, length - rest - 1, ret_port))
                        return false;
        } else if (default_port) {
                *ret_port = default_port;
        } else {
                return false;
        }
        return copy_host(text + is_bracketed, host_length - is_bracketed, is_bracketed, host);
}

/* The length of the head with its empty line; 0 where that has not come. */
static size_t find_head(const char *data, size_t length)
{
        for (size_t i = 3; i < length; i++)
                if (data[i] == '\n' && memcmp(data + i - 3, "\r\n\r\n", 4) == 0)
                        return i + 1;
        return 0;
}

/* Lines end with CR LF; no other control byte but the tab has any business in a head. */
static bool is_clean(const char *data, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)data[i];

                if (c == '\n' && (i == 0 || data[i - 1] != '\r'))
                        return false;
                if (c == '\r' && i + 1 < length && data[i + 1] != '\n')
                        return false;
                if ((c < 0x20 && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
                        return false;
        }
        return true;
}

/* Every line after the first is "Name: value": no continuation, no blank before the colon. */
static bool has_plain_fields(const char *head, size_t at, size_t length)
{
        while (at + 2 < length) {
                const char *end = memchr(head + at, '\n', length - at);
                size_t name = 0;

                while (head[at + name] > ' ' && head[at + name] != ':')
                        name++;
                if (name == 0 || head[at + name] != ':' || !end)
                        return false;
                at = (size_t)(end - head) + 1;
        }
        return true;
}

static bool parse_target(const char *head, size_t target, size_t target_length,
                         struct proxy_request *request)
{
        static const char scheme[] = "http://";
        const char *text = head + target;
        size_t authority;

        if (request->is_tunnel)
                return request_split_authority(text, target_length, 0, request->host,
                                               &request->port);
        if (target_length <= sizeof(scheme) - 1 ||
            strncasecmp(text, scheme, sizeof(scheme) - 1) != 0)
                return false;
        text += sizeof(scheme) - 1;
        target_length -= sizeof(scheme) - 1;
        for (authority = 0; authority < target_length && !strchr("/?#", text[authority]);)
                authority++;
        request->path_at = (size_t)(text + authority - head);
        request->path_length = target_length - authority;
        return request_split_authority(text, authority, 80, request->host, &request->port);
}

static bool parse_line(const char *head, struct proxy_request *request)
{
        const char *end = memchr(head, '\r', request->head_length);
        size_t line = (size_t)(end - head), method = 0, target;

        while (method < line && isupper((unsigned char)head[method]))
                method++;
        if (method == 0 || method > 16 || head[method] != ' ')
                return false;
        for (target = method + 1; target < line && head[target] > ' ';)
                target++;
        if (line - target != 9 || (memcmp(head + target, " HTTP/1.1", 9) != 0 &&
                                   memcmp(head + target, " HTTP/1.0", 9) != 0))
                return false;
        request->is_tunnel = method == 7 && memcmp(head, "CONNECT", 7) == 0;
        request->method_length = method;
        request->line_length = line + 2;
        return parse_target(head, method + 1, target - method - 1, request);
}

enum request_state request_parse(const char *data, size_t length, struct proxy_request *ret_request)
{
        struct proxy_request request = { 0 };

        request.head_length =
                find_head(data, length < REQUEST_HEAD_MAX ? length : REQUEST_HEAD_MAX);
        if (!is_clean(data, request.head_length         ? request.head_length
                            : length < REQUEST_HEAD_MAX ? length
                                                        : REQUEST_HEAD_MAX))
                return REQUEST_WRONG;
        if (request.head_length == 0)
                return length >= REQUEST_HEAD_MAX ? REQUEST_WRONG : REQUEST_INCOMPLETE;
        if (!parse_line(data, &request) ||
            !has_plain_fields(data, request.line_length, request.head_length))
                return REQUEST_WRONG;
        *ret_request = request;
        return REQUEST_WHOLE;
}

/* ---- for the server ---- */

struct writer {
        char *out;
        size_t used, size;
        bool is_full;
};

static void put(struct writer *writer, const char *data, size_t length)
{
        if (length > writer->size - writer->used) {
                writer->is_full = true;
                return;
        }
        memcpy(writer->out + writer->used, data, length);
        writer->used += length;
}

/* Fields that concern this connection or us, not the server. */
static bool is_dropped(const char *field, size_t name)
{
        static const char *const dropped[] = { "host", "connection", "keep-alive", "upgrade" };

        if (name > 6 && strncasecmp(field, "proxy-", 6) == 0)
                return true;
        for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
                if (strlen(dropped[i]) == name && strncasecmp(field, dropped[i], name) == 0)
                        return true;
        return false;
}

static void put_authority(struct writer *writer, const struct proxy_request *request)
{
        bool is_bracketed = strchr(request->host, ':') != NULL;
        char text[REQUEST_HOST_MAX + 32];
        int n = snprintf(text, sizeof(text), "Host: %s%s%s", is_bracketed ? "[" : "", request->host,
                         is_bracketed ? "]" : "");

        put(writer, text, (size_t)n);
        n = request->port == 80 ? 0 : snprintf(text, sizeof(text), ":%u", request->port);
        put(writer, text, (size_t)n);
        put(writer, "\r\n", 2);
}

size_t request_rewrite(const char *head, const struct proxy_request *request, char *out,
                       size_t size)
{
        struct writer writer = { .out = out, .size = size };
        size_t path = request->path_length;
        const char *fragment = memchr(head + request->path_at, '#', path);

        if (fragment)
                path = (size_t)(fragment - (head + request->path_at));
        put(&writer, head, request->method_length);
        put(&writer, " ", 1);
        if (path == 0 || head[request->path_at] != '/')
                put(&writer, "/", 1);
        put(&writer, head + request->path_at, path);
        put(&writer, " HTTP/1.1\r\n", 11);
        put_authority(&writer, request);
        for (size_t at = request->line_length; at + 2 < request->head_length;) {
                const char *end = memchr(head + at, '\n', request->head_length - at);
                size_t line = (size_t)(end - (head + at)) + 1;

                if (!is_dropped(head + at, strcspn(head + at, ":")))
                        put(&writer, head + at, line);
                at += line;
        }
        put(&writer, "Connection: close\r\n\r\n", 21);
        return writer.is_full ? 0 : writer.used;
}
