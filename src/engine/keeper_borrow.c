/* The borrower's side of the keeper. */
#include "engine/keeper.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* What was borrowed, as the engine's own would look. */
struct loan {
        struct nest nest;
        struct park park;
};

void keeper_guest_fds(struct run *guest, int *ret_fds[KEEPER_GUEST_FDS])
{
        int *const fds[KEEPER_GUEST_FDS] = {
                &guest->socket,  &guest->keeper_pidfd, &guest->workspace_fd, &guest->proc_fd,
                &guest->fork_fd, &guest->streams[0],   &guest->streams[1],   &guest->streams[2],
        };

        memcpy(ret_fds, fds, sizeof(fds));
}

void keeper_copy_language(const char from[NEST_LANGUAGE_MAX], char to[NEST_LANGUAGE_MAX])
{
        size_t i = 0;

        for (; i < NEST_LANGUAGE_MAX - 1 && from[i]; i++)
                to[i] = from[i];
        for (to[i] = '\0'; i > 0; i--)
                if (to[i - 1] <= ' ' || to[i - 1] > '~')
                        to[i - 1] = '?';
}

/* The guest that waits, of `count` descriptors from `next` on; how many were its. */
static size_t unpack_guest(const struct keeper_answer *answer, const int *fds, size_t count,
                           struct nest *nest)
{
        int *places[KEEPER_GUEST_FDS];
        size_t next = 0;

        nest->guest = mem_alloc(sizeof(*nest->guest));
        if (!nest->guest)
                return 0;
        run_init(nest->guest);
        nest->guest->kill_signal = SIGKILL;
        nest->guest->own_processes = 2; /* the nest and the keeper */
        nest->guest->nest = nest;
        nest->guest->ready = answer->ready;
        keeper_guest_fds(nest->guest, places);
        for (size_t i = 0; i < KEEPER_GUEST_FDS; i++)
                if (answer->guest_fds & (1u << i) && next < count)
                        *places[i] = fds[next++];
        nest->guest->asks_forks = nest->guest->fork_fd >= 0;
        return next;
}

int keeper_connect(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const struct timeval patience = { .tv_usec = 500000 };
        AUTO_CLOSE int fd = -1;
        struct ucred peer;
        socklen_t length = sizeof(peer);

        if (!path || strlen(path) >= sizeof(address.sun_path))
                return -1;
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (access(path, F_OK) < 0) /* most have none, and this is the cheaper question */
                return -1;
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd >= 0) { /* a keeper that does not answer is none */
                (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
                (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        }
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid != geteuid())
                return -1;
        return fd_take(&fd);
}

static int send_wish(int connection, const struct nest_kind *kind)
{
        struct keeper_wish wish = { .magic = KEEPER_MAGIC,
                                    .version = KEEPER_VERSION,
                                    .nest_length = kind->nest_plan.length,
                                    .park_length = kind->park_plan.length,
                                    .limits = kind->limits };
        AUTO_STRBUF struct strbuf plans = { 0 };
        AUTO_CLOSE int fd = -1;

        memcpy(wish.name, kind->name, sizeof(wish.name));
        memcpy(wish.language, kind->language, sizeof(wish.language));
        strbuf_add(&plans, kind->nest_plan.data, kind->nest_plan.length);
        strbuf_add(&plans, kind->park_plan.data ? kind->park_plan.data : "",
                   kind->park_plan.length);
        fd = plans.failed ? -1 : fd_memfile("plans", plans.data, plans.length);
        return fd < 0 ? -1 : message_send(connection, &wish, sizeof(wish), &fd, 1);
}

/* Deals the descriptors out; whether as many came as the answer says. */
static bool unpack(const struct keeper_answer *answer, const int *fds, size_t count,
                   struct loan *loan)
{
        struct cgroup *group = &loan->nest.run.group;
        size_t next = 0;

        run_init(&loan->nest.run);
        loan->nest.guest = NULL;
        loan->nest.ahead_fd = -1;
        loan->nest.ahead_park = answer->ahead_park;
        loan->park.socket = -1;
        loan->park.number = answer->park;
        if (next < count)
                loan->nest.run.socket = fds[next++];
        if (answer->has_park && next < count)
                loan->park.socket = fds[next++];
        group->version = (enum cgroup_version)answer->group_version;
        memcpy(group->name, answer->group_name, sizeof(group->name));
        group->name[sizeof(group->name) - 1] = '\0';
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (answer->controllers & (1u << i) && next < count)
                        group->dir_fds[i] = fds[next++];
        if (answer->has_event && next < count)
                group->event_fd = fds[next++];
        if (answer->has_ahead && next < count)
                loan->nest.ahead_fd = fds[next++];
        if (answer->guest_fds)
                next += unpack_guest(answer, fds + next, count - next, &loan->nest);
        while (next < count)
                fd_close(fds[next++]);
        return loan->nest.run.socket >= 0 && (!answer->has_park || loan->park.socket >= 0) &&
               (!answer->guest_fds || (loan->nest.guest && loan->nest.guest->socket >= 0));
}

static void free_loan(struct loan *loan)
{
        fd_close(loan->park.socket);
        if (loan->nest.guest)
                run_close(loan->nest.guest);
        mem_free(loan->nest.guest);
        nest_call_off(&loan->nest);
        run_close(&loan->nest.run);
        mem_free(loan);
}

bool keeper_borrow(int connection, const struct nest_kind *kind, struct lodging *ret_lodging)
{
        struct keeper_answer answer = { 0 };
        struct loan *loan = mem_alloc(sizeof(*loan));
        int fds[KEEPER_FDS_MAX];
        size_t count = 0;

        if (!loan)
                return false;
        if (send_wish(connection, kind) < 0 ||
            message_receive(connection, 0, &answer, sizeof(answer), fds, KEEPER_FDS_MAX, &count) <=
                    0) {
                mem_free(loan);
                return false;
        }
        if (!unpack(&answer, fds, count, loan) || answer.magic != KEEPER_MAGIC || !answer.found ||
            answer.group_version > CGROUP_V2) {
                free_loan(loan);
                return false;
        }
        *ret_lodging = (struct lodging){ .nest = &loan->nest,
                                         .park = answer.has_park ? &loan->park : NULL,
                                         .place = loan,
                                         .connection = connection,
                                         .is_once = loan->nest.guest != NULL };
        return true;
}

void keeper_give_back(struct lodging *lodging, bool clean)
{
        const struct keeper_return word = { KEEPER_MAGIC, clean, lodging->is_unanswered };

        /* A keeper that is gone has ended the nest already. */
        (void)message_send(lodging->connection, &word, sizeof(word), NULL, 0);
        fd_close(lodging->connection);
        free_loan(lodging->place);
        lodging->nest = NULL;
}
