#include "engine/gateway.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROXY_SOCKET = 3, OPEN_MS = 60000, CLOSE_MS = 5000 };

/* ---- places ---- */

static const struct {
        const char *scheme;
        unsigned port;
} schemes[] = {
        { "https://", 443 },
        { "http://", 80 },
        { "sparse+https://", 443 },
        { "sparse+http://", 80 },
};

static bool is_authority(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (!isalnum((unsigned char)text[i]) && !strchr(".-_:[]", text[i]))
                        return false;
        return length > 0 && length < 256 && text[0] != ':' && text[length - 1] != ':';
}

/* Whether there is a port after the host, which may be an address in brackets. */
static bool has_port(const char *text, size_t length)
{
        for (size_t i = length; i > 0 && text[i - 1] != ']'; i--)
                if (text[i - 1] == ':')
                        return true;
        return false;
}

int gateway_add_place(struct strlist *places, const char *text, bool is_near, struct error *err)
{
        AUTO_STRBUF struct strbuf place = { 0 };
        unsigned port = 443;
        const char *at;
        char shown[160];
        size_t length;

        str_printable(text, shown, sizeof(shown));
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
                if (str_has_prefix(text, schemes[i].scheme)) {
                        text += strlen(schemes[i].scheme);
                        port = schemes[i].port;
                        break;
                }
        length = strcspn(text, "/?#");
        /* Who one is does not say where it is. */
        for (at = memchr(text, '@', length); at; at = memchr(text, '@', length)) {
                length -= (size_t)(at - text) + 1;
                text = at + 1;
        }
        if (!is_authority(text, length))
                return error_set(err, SBX_EINVAL, "'%s' is not of the form HOST[:PORT]", shown);
        strbuf_adds(&place, is_near ? "near=" : "far=");
        strbuf_add(&place, text, length);
        if (!has_port(text, length))
                strbuf_addf(&place, ":%u", port);
        if (place.failed)
                return error_set_nomem(err);
        for (size_t i = 0; i < places->count; i++)
                if (str_equal(strchr(places->items[i], '='), strchr(place.data, '=')))
                        return 0;
        if (places->count == GATEWAY_PLACES_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d places", GATEWAY_PLACES_MAX);
        return strlist_add(places, place.data) < 0 ? error_set_nomem(err) : 0;
}

/* ---- the process ---- */

static int start(const char *program, const struct strlist *places, struct gateway *gateway,
                 struct error *err)
{
        char *arguments[GATEWAY_PLACES_MAX + 3] = { (char *)"sandbox-proxy" };
        int control[2] = { -1, -1 }, lines[2] = { -1, -1 }, pair[2] = { -1, -1 }, r = 0;
        struct spawn_fd fds[3];
        char supervisor[16];

        (void)snprintf(supervisor, sizeof(supervisor), "%d", (int)getpid());
        arguments[1] = supervisor;
        for (size_t i = 0; i < places->count && i < GATEWAY_PLACES_MAX; i++)
                arguments[i + 2] = places->items[i];
        if (pipe2(control, O_CLOEXEC) < 0 || pipe2(lines, O_CLOEXEC) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                r = error_set_errno(err, "make a socket");
        gateway->control = control[1];
        gateway->lines = lines[0];
        gateway->socket = pair[0];
        fds[0] = (struct spawn_fd){ spawn_move_up(control[0]), 0 };
        fds[1] = (struct spawn_fd){ spawn_move_up(lines[1]), 1 };
        fds[2] = (struct spawn_fd){ spawn_move_up(pair[1]), PROXY_SOCKET };
        if (r == 0)
                errno = spawn_helper(program, arguments, fds, ARRAY_SIZE(fds), &gateway->pid);
        if (r == 0 && gateway->pid <= 0) {
                r = error_set_errno(err, "start '%s'", program);
                error_hint(err, "install it beside sandbox-init");
        }
        for (int i = 0; i < 3; i++)
                fd_close(fds[i].fd);
        return r;
}

/* One line without its end, in `line`; 1, or 0 at the end or when time is up, or -1 cancelled. */
static int read_line(struct gateway *gateway, uint64_t deadline_ns, int cancel_fd, char *line,
                     size_t size)
{
        for (;;) {
                struct pollfd items[] = { { gateway->lines, POLLIN, 0 }, { cancel_fd, POLLIN, 0 } };
                char *end = memchr(gateway->buffer, '\n', gateway->used);
                uint64_t now = clock_now_ns();
                ssize_t n;

                if (end) {
                        size_t length = (size_t)(end - gateway->buffer);

                        (void)snprintf(line, size, "%.*s", (int)length, gateway->buffer);
                        gateway->used -= length + 1;
                        memmove(gateway->buffer, end + 1, gateway->used);
                        return 1;
                }
                if (now >= deadline_ns || gateway->used == sizeof(gateway->buffer))
                        return 0;
                if (poll(items, 2, (int)((deadline_ns - now) / 1000000 + 1)) < 0 && errno != EINTR)
                        return 0;
                if (items[1].revents)
                        return -1;
                if (!items[0].revents)
                        continue;
                n = read(gateway->lines, gateway->buffer + gateway->used,
                         sizeof(gateway->buffer) - gateway->used);
                if (n == 0 || (n < 0 && errno != EINTR))
                        return 0;
                gateway->used += n > 0 ? (size_t)n : 0;
        }
}

/* None of the near places answers: whoever asked for them must know which, and why. */
static int refuse_unreachable(const char *reasons, struct error *err)
{
        int r = error_set(err, SBX_EREFUSED, "no package registry can be reached: %s",
                          reasons ? reasons : "none is known");

        error_hint(err, "check the network, or name one that can be reached in the tool's own "
                        "configuration or with '--registry HOST[:PORT]'");
        return r;
}

static int hear_places(struct gateway *gateway, const struct strlist *places, int cancel_fd,
                       struct error *err)
{
        uint64_t deadline_ns = clock_now_ns() + UINT64_C(1000000) * OPEN_MS;
        AUTO_STRBUF struct strbuf reasons = { 0 };
        bool is_reachable = false;
        char line[512];
        int r;

        while ((r = read_line(gateway, deadline_ns, cancel_fd, line, sizeof(line))) > 0) {
                char *rest = strchr(line, ' ');
                char *why = NULL;
                size_t index = rest ? strtoul(rest, &why, 10) : places->count;
                bool is_near = index < places->count && str_has_prefix(places->items[index], "n");

                if (str_equal(line, "ready"))
                        return is_reachable ? 0 : refuse_unreachable(reasons.data, err);
                if (is_near && str_has_prefix(line, "reachable "))
                        is_reachable = true;
                else if (is_near && str_has_prefix(line, "unreachable "))
                        strbuf_addf(&reasons, "%s%s:%s", reasons.length ? ", " : "",
                                    strchr(places->items[index], '=') + 1, why ? why : "");
        }
        if (r < 0)
                return error_set(err, SBX_EREFUSED, "cancelled");
        return error_set(err, SBX_ESYSTEM, "the proxy did not start");
}

int gateway_open(const char *program, const struct strlist *places, int cancel_fd,
                 struct gateway *ret_gateway, struct error *err)
{
        int r;

        *ret_gateway = (struct gateway){ .pid = -1, .control = -1, .lines = -1, .socket = -1 };
        r = start(program, places, ret_gateway, err);
        if (r == 0)
                r = hear_places(ret_gateway, places, cancel_fd, err);
        if (r < 0)
                gateway_close(ret_gateway, NULL);
        return r;
}

static void tell_refusal(const char *line, struct result *result)
{
        char *what = NULL;
        uint64_t count = strtoull(line, &what, 10);

        if (*what == ' ')
                result_add_violation(result, "network", what + 1,
                                     "only the package registry may be reached", count);
}

void gateway_close(struct gateway *gateway, struct result *result)
{
        uint64_t deadline_ns = clock_now_ns() + UINT64_C(1000000) * CLOSE_MS;
        char line[512];

        fd_close(fd_take(&gateway->socket));
        fd_close(fd_take(&gateway->control));
        while (result && read_line(gateway, deadline_ns, -1, line, sizeof(line)) > 0)
                if (str_has_prefix(line, "refused "))
                        tell_refusal(line + strlen("refused "), result);
        if (gateway->pid > 0) {
                spawn_end(gateway->pid);
                gateway->pid = -1;
        }
        fd_close(fd_take(&gateway->lines));
}
