#include "network/agent.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/spawn.h"
#include "base/str.h"
#include "kernel/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Messages heard in one go: then the supervisor looks at its clock again. */
enum { HEARD_AT_ONCE = 16, FINISH_MS = 1000 };

struct agent {
        pid_t pid;
        int socket;
        bool becomes_guest;
        uint64_t started_us; /* CPU time until it had a guest: ours, not the guest's */
        struct agent_guest guest;
        struct network_usage usage;
};

static int add_rules(struct strlist *arguments, const char *word, const struct strlist *rules)
{
        for (size_t i = 0; rules && i < rules->count; i++) {
                AUTO_STRBUF struct strbuf text = { 0 };

                strbuf_addf(&text, "%s=%s", word, rules->items[i]);
                if (text.failed || strlist_add(arguments, text.data) < 0)
                        return -1;
        }
        return 0;
}

static int write_arguments(struct strlist *arguments, const struct network_order *order)
{
        const struct {
                const char *word;
                uint64_t value;
        } numbers[] = { { "connections", order->connections_max },
                        { "bytes", order->bytes_max },
                        { "rate", order->rate_max } };
        char text[48];

        (void)snprintf(text, sizeof(text), "%d", (int)getpid());
        if (strlist_add(arguments, "sandbox-network") < 0 || strlist_add(arguments, text) < 0 ||
            (order->resolve_all && strlist_add(arguments, "all-names") < 0) ||
            (order->connects && strlist_add(arguments, "connects") < 0))
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                (void)snprintf(text, sizeof(text), "%s=%" PRIu64, numbers[i].word,
                               numbers[i].value);
                if (strlist_add(arguments, text) < 0)
                        return -1;
        }
        return add_rules(arguments, "allow", order->allow) < 0 ||
                               add_rules(arguments, "deny", order->deny) < 0
                       ? -1
                       : 0;
}

static int start(const char *program, char *const *arguments, struct agent *agent,
                 struct error *err)
{
        int pair[2] = { -1, -1 }, r;
        struct spawn_fd end = { -1, NETWORK_SOCKET };

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        agent->socket = pair[0];
        end.fd = spawn_move_up(pair[1]);
        r = end.fd < 0 ? errno : spawn_helper(program, arguments, &end, 1, &agent->pid);
        fd_close(end.fd);
        if (r == 0)
                return 0;
        agent->pid = -1;
        errno = r;
        r = error_set_errno(err, "start '%s'", program);
        error_hint(err, "install it beside sandbox-init");
        return r;
}

int agent_start(const char *program, const struct network_order *order, struct agent **ret_agent,
                struct error *err)
{
        struct agent *agent = mem_alloc(sizeof(*agent));
        struct strlist arguments = { 0 };
        int r;

        if (!agent)
                return error_set_nomem(err);
        agent->pid = agent->socket = -1;
        agent->becomes_guest = order->becomes_guest;
        r = write_arguments(&arguments, order) < 0 ? error_set_nomem(err)
                                                   : start(program, arguments.items, agent, err);
        strlist_done(&arguments);
        if (r < 0) {
                agent_free(agent);
                return r;
        }
        *ret_agent = agent;
        return 0;
}

void agent_free(struct agent *agent)
{
        if (!agent)
                return;
        fd_close(agent->socket);
        if (agent->pid > 0)
                spawn_end(agent->pid);
        mem_free(agent);
}

/* Since it was started. */
static uint64_t cpu_us(const struct agent *agent)
{
        struct timespec used;
        clockid_t clock;

        if (clock_getcpuclockid(agent->pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
                return 0;
        return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

uint64_t agent_cpu_us(const struct agent *agent)
{
        uint64_t us = cpu_us(agent);

        return us > agent->started_us ? us - agent->started_us : 0;
}

int agent_attach(struct agent *agent, const struct agent_guest *guest)
{
        const struct network_begin begin = { guest->denies_tcp, guest->may_fork != NULL,
                                             agent->becomes_guest ? guest->uid : 0 };
        int fds[3 + NETWORK_RELAYS] = { guest->listener, guest->resolver_fds[0],
                                        guest->resolver_fds[1] };
        size_t count = 3;

        agent->guest = *guest;
        agent->started_us = cpu_us(agent);
        for (size_t i = 0; i < NETWORK_RELAYS; i++)
                if (guest->relay_fds[i] >= 0)
                        fds[count++] = guest->relay_fds[i];
        return message_send(agent->socket, &begin, sizeof(begin), fds, count);
}

int agent_fd(const struct agent *agent)
{
        return agent->socket;
}

static void answer_fork(const struct agent *agent, uint64_t id)
{
        const struct agent_guest *guest = &agent->guest;

        /* A caller that is gone needs no answer. */
        if (guest->may_fork && guest->may_fork(guest->context))
                (void)notify_go_on(guest->listener, id);
        else
                (void)notify_answer(guest->listener, id, EAGAIN);
}

static void take(struct agent *agent, struct network_said *said)
{
        const struct agent_guest *guest = &agent->guest;

        said->what[sizeof(said->what) - 1] = said->why[sizeof(said->why) - 1] = '\0';
        switch ((enum network_word)said->word) {
        case NETWORK_REFUSED:
                guest->refused(guest->context, said->what, said->why);
                break;
        case NETWORK_USED:
                agent->usage = said->usage;
                break;
        case NETWORK_EXCEEDED:
                guest->exceeded(guest->context);
                break;
        case NETWORK_FORK:
                answer_fork(agent, said->id);
                break;
        }
}

bool agent_hear(struct agent *agent)
{
        for (int i = 0; i < HEARD_AT_ONCE; i++) {
                struct network_said said;
                size_t count;
                int none[1], r = message_receive(agent->socket, MSG_DONTWAIT, &said, sizeof(said),
                                                 none, 0, &count);

                if (r < 0 && (errno == EAGAIN || errno == EINTR))
                        return true;
                if (r <= 0)
                        return false;
                take(agent, &said);
        }
        return true;
}

struct network_usage agent_usage(const struct agent *agent)
{
        return agent->usage;
}

void agent_finish(struct agent *agent)
{
        uint64_t now = clock_now_ns(), end = now + FINISH_MS * UINT64_C(1000000);
        struct pollfd item = { .fd = agent->socket, .events = POLLIN };

        if (shutdown(agent->socket, SHUT_WR) < 0)
                return;
        for (; now < end; now = clock_now_ns()) {
                int left_ms = (int)((end - now) / 1000000) + 1;

                if (poll(&item, 1, left_ms) > 0 && !agent_hear(agent))
                        return;
        }
}
