/* The keeper's side: a thread per command that asks, each with one nest at a time. */
#include "engine/keeper.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
        BORROWERS_MAX = 128,
        THREAD_STACK = 256 << 10,
        PLANS_MAX = 1 << 20,
        LOOK_MS = 1000,
        CROWDED_MS = 100
};

struct service {
        struct engine *engine;
        uint64_t started_ns, idle_ms;
        int end_fd; /* owned: readable when a command has asked us to end */
        pthread_mutex_t lock;
        pthread_cond_t left;
        unsigned borrowers;             /* guarded, as is what follows */
        int connections[BORROWERS_MAX]; /* borrowed from the threads; -1: none */
        unsigned lent;                  /* nests, or looked for */
        uint64_t used_ns;               /* when that was last asked for, or came back */
};

struct borrower {
        struct service *service;
        unsigned seat;  /* among the service's connections */
        int connection; /* owned */
};

/* ---- one borrower ---- */

static bool is_own(int connection)
{
        struct ucred peer;
        socklen_t length = sizeof(peer);

        return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
               peer.uid == geteuid();
}

/* Whether the bytes are a plan at all; what it says is the asking user's own affair. */
static bool is_plan(const char *bytes, size_t length, bool *ret_waits)
{
        size_t size = plan_arena_size(length);
        AUTO_FREE void *arena = mem_alloc(size);
        struct plan plan;

        if (!arena || plan_decode(bytes, length, arena, size, &plan) != NULL)
                return false;
        *ret_waits = plan.waits;
        return plan.kind == PLAN_CONTAINER;
}

static bool read_kind(const struct keeper_wish *wish, int fd, struct nest_kind *ret_kind)
{
        uint64_t length = wish->nest_length + wish->park_length;
        AUTO_FREE char *bytes = NULL;

        *ret_kind = (struct nest_kind){ .limits = wish->limits };
        if (wish->nest_length == 0 || wish->nest_length > PLANS_MAX ||
            wish->park_length > PLANS_MAX)
                return false;
        bytes = mem_alloc(length);
        if (!bytes || pread(fd, bytes, length, 0) != (ssize_t)length)
                return false;
        memcpy(ret_kind->name, wish->name, sizeof(ret_kind->name));
        ret_kind->name[sizeof(ret_kind->name) - 1] = '\0';
        keeper_copy_language(wish->language, ret_kind->language);
        strbuf_add(&ret_kind->nest_plan, bytes, wish->nest_length);
        strbuf_add(&ret_kind->park_plan, bytes + wish->nest_length, wish->park_length);
        return !ret_kind->nest_plan.failed && !ret_kind->park_plan.failed &&
               is_plan(ret_kind->nest_plan.data, ret_kind->nest_plan.length, &ret_kind->is_once) &&
               (wish->park_length == 0 ||
                is_plan(ret_kind->park_plan.data, ret_kind->park_plan.length, &ret_kind->is_once));
}

static size_t add_guest(struct run *guest, struct keeper_answer *word, int *ret_fds)
{
        int *places[KEEPER_GUEST_FDS];
        size_t count = 0;

        keeper_guest_fds(guest, places);
        for (size_t i = 0; i < KEEPER_GUEST_FDS; i++)
                if (*places[i] >= 0) {
                        word->guest_fds |= 1u << i;
                        ret_fds[count++] = *places[i];
                }
        word->ready = guest->ready;
        return count;
}

static int answer(int connection, const struct lodging *lodging)
{
        const struct cgroup *group = &lodging->nest->run.group;
        struct keeper_answer word = { .magic = KEEPER_MAGIC,
                                      .found = 1,
                                      .has_park = lodging->park != NULL,
                                      .park = lodging->park ? lodging->park->number : 0,
                                      .has_ahead = lodging->nest->ahead_fd >= 0,
                                      .ahead_park = lodging->nest->ahead_park,
                                      .has_event = group->event_fd >= 0,
                                      .group_version = group->version };
        int fds[KEEPER_FDS_MAX];
        size_t count = 0;

        memcpy(word.group_name, group->name, sizeof(word.group_name));
        fds[count++] = lodging->nest->run.socket;
        if (lodging->park)
                fds[count++] = lodging->park->socket;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (group->dir_fds[i] >= 0) {
                        word.controllers |= 1u << i;
                        fds[count++] = group->dir_fds[i];
                }
        if (word.has_event)
                fds[count++] = group->event_fd;
        if (word.has_ahead)
                fds[count++] = lodging->nest->ahead_fd;
        if (lodging->nest->guest)
                count += add_guest(lodging->nest->guest, &word, fds + count);
        return message_send(connection, &word, sizeof(word), fds, count);
}

/* They are the borrower's alone, and end with theirs. */
static void forget_guest(struct nest *nest)
{
        nest_forget_ahead(nest);
        if (nest->guest)
                run_close(nest->guest);
        mem_free(nest->guest);
        nest->guest = NULL;
}

/* Lends a nest and waits until it is back, or its borrower gone. */
static bool lend(struct service *service, int connection, struct nest_kind *kind)
{
        const struct keeper_answer none = { .magic = KEEPER_MAGIC };
        struct keeper_return word = { 0 };
        struct lodging lodging;
        size_t count = 0;
        bool told, clean;

        if (!nests_take(service->engine->nests, kind, &lodging))
                return message_send(connection, &none, sizeof(none), NULL, 0) == 0;
        nests_tell(service->engine->nests, "slot.used", lodging_slot(&lodging));
        told = answer(connection, &lodging) == 0;
        forget_guest(lodging.nest);
        clean = told && message_receive(connection, 0, &word, sizeof(word), NULL, 0, &count) > 0 &&
                word.magic == KEEPER_MAGIC && word.clean;
        lodging.is_unanswered = word.magic == KEEPER_MAGIC && word.is_unanswered;
        nests_give(service->engine->nests, &lodging, clean && nest_is_empty(lodging.nest));
        return clean;
}

static bool tell(struct service *service, int connection)
{
        struct keeper_state state = { .magic = KEEPER_MAGIC,
                                      .pid = getpid(),
                                      .idle_ms = service->idle_ms,
                                      .serves_alone = service->engine->serves_alone,
                                      .stats = engine_stats(service->engine) };
        AUTO_CLOSE int pidfd = sys_pidfd_open(getpid());
        uint64_t now = clock_now_ns(), unused_ms;

        state.row_count = nests_rows(service->engine->nests, state.rows);
        (void)pthread_mutex_lock(&service->lock);
        state.connections = service->borrowers - 1;
        unused_ms = (now - service->used_ns) / 1000000;
        (void)pthread_mutex_unlock(&service->lock);
        state.up_ms = (now - service->started_ns) / 1000000;
        if (state.idle_ms > unused_ms)
                state.left_ms = state.idle_ms - unused_ms;
        return pidfd >= 0 && message_send(connection, &state, sizeof(state), &pidfd, 1) == 0;
}

/* While something is lent, the keeper does not end by itself. */
static void note_use(struct service *service, int lent)
{
        (void)pthread_mutex_lock(&service->lock);
        service->lent += (unsigned)lent;
        service->used_ns = clock_now_ns();
        (void)pthread_mutex_unlock(&service->lock);
}

static bool lend_as_wished(struct borrower *borrower, const struct keeper_wish *wish, int fd)
{
        struct nest_kind kind = { 0 };
        bool more;

        note_use(borrower->service, 1);
        more = fd >= 0 && read_kind(wish, fd, &kind) &&
               lend(borrower->service, borrower->connection, &kind);
        nest_kind_done(&kind);
        note_use(borrower->service, -1);
        return more;
}

/* Whether the command may ask for more. */
static bool fulfil(struct borrower *borrower, const struct keeper_wish *wish, int fd)
{
        struct service *service = borrower->service;

        if (wish->magic != KEEPER_MAGIC || wish->version != KEEPER_VERSION)
                return false;
        switch ((enum keeper_want)wish->want) {
        case KEEPER_LEND:
                return lend_as_wished(borrower, wish, fd);
        case KEEPER_TELL:
                return tell(service, borrower->connection);
        case KEEPER_END:
                return tell(service, borrower->connection) &&
                       eventfd_write(service->end_fd, 1) == 0;
        }
        return false;
}

static void *borrower_main(void *argument)
{
        struct borrower *borrower = argument;
        struct service *service = borrower->service;
        struct keeper_wish wish;
        bool more = is_own(borrower->connection);

        while (more) {
                int fd = -1;
                size_t count = 0;

                more = message_receive(borrower->connection, 0, &wish, sizeof(wish), &fd, 1,
                                       &count) > 0 &&
                       fulfil(borrower, &wish, fd);
                fd_close(fd);
        }
        (void)pthread_mutex_lock(&service->lock);
        service->connections[borrower->seat] = -1;
        fd_close(borrower->connection);
        mem_free(borrower);
        service->borrowers--;
        (void)pthread_cond_signal(&service->left);
        (void)pthread_mutex_unlock(&service->lock);
        return NULL;
}

/* ---- all of them ---- */

/* There is one: fewer borrowers than seats are admitted. */
static unsigned free_seat(const struct service *service)
{
        unsigned seat = 0;

        while (service->connections[seat] >= 0)
                seat++;
        return seat;
}

/* Ends what runs, and waits until every thread has left. */
static void see_off(struct service *service)
{
        (void)pthread_mutex_lock(&service->lock);
        for (unsigned i = 0; i < BORROWERS_MAX; i++)
                if (service->connections[i] >= 0)
                        (void)shutdown(service->connections[i], SHUT_RDWR);
        while (service->borrowers > 0)
                (void)pthread_cond_wait(&service->left, &service->lock);
        (void)pthread_mutex_unlock(&service->lock);
}

static void admit(struct service *service, int connection)
{
        struct borrower *borrower = mem_alloc(sizeof(*borrower));
        pthread_attr_t attributes;
        pthread_t thread;
        bool started;

        (void)pthread_attr_init(&attributes);
        (void)pthread_attr_setstacksize(&attributes, THREAD_STACK);
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_mutex_lock(&service->lock);
        started = borrower && service->borrowers < BORROWERS_MAX;
        if (started) {
                *borrower = (struct borrower){ service, free_seat(service), connection };
                started = pthread_create(&thread, &attributes, borrower_main, borrower) == 0;
                service->borrowers += started;
                service->connections[borrower->seat] = started ? connection : -1;
        }
        (void)pthread_mutex_unlock(&service->lock);
        (void)pthread_attr_destroy(&attributes);
        if (!started) {
                mem_free(borrower);
                fd_close(connection); /* it runs by itself then */
        }
}

static bool is_idle(struct service *service)
{
        bool idle;

        (void)pthread_mutex_lock(&service->lock);
        idle = service->idle_ms > 0 && service->lent == 0 &&
               clock_now_ns() - service->used_ns > service->idle_ms * 1000000;
        (void)pthread_mutex_unlock(&service->lock);
        return idle;
}

/* Until one of the others than the first is readable, or nobody comes any more. */
static int serve_all(struct service *service, struct pollfd watched[3], struct error *err)
{
        while (!watched[1].revents && !watched[2].revents) {
                int connection;

                if (is_idle(service))
                        return 1;
                if (poll(watched, 3, LOOK_MS) < 0 && errno != EINTR)
                        return error_set_errno(err, "wait for commands");
                if (!watched[0].revents)
                        continue;
                watched[0].revents = 0;
                connection = accept4(watched[0].fd, NULL, NULL, SOCK_CLOEXEC);
                if (connection >= 0)
                        admit(service, connection);
                else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                        (void)poll(&watched[1], 2, CROWDED_MS); /* it waits on; so do we */
        }
        return 0;
}

int keeper_serve(struct engine *engine, int listen_fd, int stop_fd, uint64_t idle_ms,
                 struct error *err)
{
        struct service service = { .engine = engine,
                                   .idle_ms = idle_ms,
                                   .started_ns = clock_now_ns(),
                                   .used_ns = clock_now_ns() };
        struct pollfd watched[] = {
                { .fd = listen_fd, .events = POLLIN },
                { .fd = stop_fd, .events = POLLIN },
                { .fd = -1, .events = POLLIN },
        };
        int r;

        if (!engine->nests)
                return error_set(err, SBX_EINVAL, "the engine keeps nothing warm");
        watched[2].fd = service.end_fd = eventfd(0, EFD_CLOEXEC);
        if (service.end_fd < 0)
                return error_set_errno(err, "make an event descriptor");
        for (unsigned i = 0; i < BORROWERS_MAX; i++)
                service.connections[i] = -1;
        (void)pthread_mutex_init(&service.lock, NULL);
        (void)pthread_cond_init(&service.left, NULL);
        r = serve_all(&service, watched, err);
        see_off(&service);
        fd_close(service.end_fd);
        (void)pthread_cond_destroy(&service.left);
        (void)pthread_mutex_destroy(&service.lock);
        return r;
}
