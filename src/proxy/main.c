#include "proxy/proxy.h"
#include "base/clock.h"
#include "base/fd.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PROBE_MS = 5000 };

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
        char line[256];
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(line, sizeof(line), format, arguments);
        va_end(arguments);
        /* Nobody listens any more: the end of the control pipe says so too. */
        if (n > 0)
                (void)fd_write_all(PROXY_LINES, line,
                                   (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

void refusals_add(struct refusals *refusals, const char *what)
{
        for (size_t i = 0; i < refusals->count; i++)
                if (strcmp(refusals->items[i].what, what) == 0) {
                        refusals->items[i].count++;
                        return;
                }
        if (refusals->count == PROXY_REFUSALS_MAX)
                return;
        (void)snprintf(refusals->items[refusals->count].what, PROXY_WHAT_MAX, "%s", what);
        refusals->items[refusals->count++].count = 1;
}

/* Waits for a connection in the making; 0, or its errno. */
static int finish_connecting(int fd, uint64_t deadline_ns)
{
        struct pollfd item = { .fd = fd, .events = POLLOUT };
        int failure = 0;
        socklen_t size = sizeof(failure);

        for (;;) {
                uint64_t now = clock_now_ns();
                int n;

                if (now >= deadline_ns)
                        return ETIMEDOUT;
                n = poll(&item, 1, (int)((deadline_ns - now) / 1000000 + 1));
                if (n < 0 && errno != EINTR)
                        return errno;
                if (n > 0)
                        break;
        }
        return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 ? errno : failure;
}

/* Whether anybody answers at the place; NULL, or why not. */
static const char *probe(struct allow_place *place)
{
        uint64_t deadline_ns = clock_now_ns() + UINT64_C(1000000) * PROBE_MS;
        const char *why = allow_resolve(place);
        int failure = EHOSTUNREACH;

        if (why)
                return why;
        for (size_t i = 0; i < place->address_count && failure != 0; i++) {
                const union allow_address *address = &place->addresses[i];
                AUTO_CLOSE int fd = socket(address->any.sa_family,
                                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

                if (fd < 0)
                        failure = errno;
                else if (connect(fd, &address->any,
                                 address->any.sa_family == AF_INET ? sizeof(address->v4)
                                                                   : sizeof(address->v6)) == 0)
                        failure = 0;
                else
                        failure = errno == EINPROGRESS ? finish_connecting(fd, deadline_ns) : errno;
        }
        return failure ? strerror(failure) : NULL;
}

static int read_arguments(int argc, char **argv, struct allow_list *list)
{
        for (int i = 2; i < argc; i++) {
                bool is_near = strncmp(argv[i], "near=", 5) == 0;

                if ((!is_near && strncmp(argv[i], "far=", 4) != 0) ||
                    !allow_add(list, strchr(argv[i], '=') + 1, is_near)) {
                        fprintf(stderr, "sandbox-proxy: '%s': not a place\n", argv[i]);
                        return -1;
                }
        }
        return 0;
}

/* The supervisor may have died before the death signal was set. */
static bool is_orphan(const char *supervisor)
{
        return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
               getppid() != (pid_t)strtol(supervisor, NULL, 10);
}

int main(int argc, char **argv)
{
        static struct allow_list list;
        static struct refusals refusals;
        uint64_t bytes;

        if (argc < 2 || read_arguments(argc, argv, &list) < 0) {
                fputs("usage: sandbox-proxy SUPERVISOR (near|far)=HOST:PORT...\n", stderr);
                return 2;
        }
        (void)signal(SIGPIPE, SIG_IGN); /* cannot fail for this signal */
        if (sys_close_range(PROXY_SOCKET + 1, ~0u) < 0 || confine_identity() < 0 ||
            is_orphan(argv[1])) /* after the change of id, which clears the death signal */
                return 1;
        for (size_t i = 0; i < list.count; i++) {
                const char *why = probe(&list.places[i]);

                if (why)
                        say("unreachable %zu %s\n", i, why);
                else
                        say("reachable %zu\n", i);
        }
        if (confine_rest() < 0) {
                say("failed %s\n", strerror(errno));
                return 1;
        }
        say("ready\n");
        bytes = relay_run(&list, &refusals);
        for (size_t i = 0; i < refusals.count; i++)
                say("refused %llu %s\n", (unsigned long long)refusals.items[i].count,
                    refusals.items[i].what);
        say("bytes %llu\nend\n", (unsigned long long)bytes);
        return 0;
}
