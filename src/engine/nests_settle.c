/*
 * Runs that are over, in nests that are not quite: the keeper of such a run has said how it ended,
 * and no process of the program's is left, but the kernel still takes the keeper's namespaces and
 * mounts down. Nobody waits for that who has a result to give back. The nest tells when it is done;
 * a thread hears it, looks whether the nest is as it was, and puts it back.
 *
 * A run adds its socket to what the thread polls, without waking it: most runs wake it once, by
 * what the nest has to tell. A nest that tells nothing for too long is given up by the builder.
 */
#include "engine/nests_stock.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define SETTLE_MOST (UINT64_C(10) * 1000000000)

struct settling {
        struct settling *next;
        uint64_t since_ns;
        struct lodging lodging;
        struct run run;
};

static void link_in(struct nests *nests, struct settling *settling)
{
        (void)pthread_mutex_lock(&nests->lock);
        settling->next = nests->settling;
        nests->settling = settling;
        nests_stock_of(&settling->lodging)->settling++;
        (void)pthread_mutex_unlock(&nests->lock);
}

/* What is in the list can be looked at by the builder: out of it first, closed then. */
static void link_out(struct nests *nests, const struct settling *settling)
{
        struct settling **place = &nests->settling;

        (void)pthread_mutex_lock(&nests->lock);
        while (*place != settling)
                place = &(*place)->next;
        *place = settling->next;
        (void)pthread_mutex_unlock(&nests->lock);
}

/* With the nest's word or, where it gives none any more, without. */
static void finish(struct nests *nests, struct settling *settling)
{
        bool clean;

        link_out(nests, settling);
        /* By hand: to close it would not do where a child of the caller's has it, too. */
        (void)epoll_ctl(nests->settler_epoll, EPOLL_CTL_DEL, settling->run.socket, NULL);
        (void)run_finish(&settling->run);
        run_close(&settling->run); /* what it pins must be gone before the nest is looked at */
        clean = nest_renew(settling->lodging.nest, &settling->run);
        nests_give(nests, &settling->lodging, clean);
        mem_free(settling);
}

/* Until the nest has said its last word. */
static void hear(struct nests *nests, struct settling *settling)
{
        int r;

        do
                r = run_receive(&settling->run);
        while (r > 0 && !settling->run.is_gone);
        if (settling->run.is_gone || r == 0 || (errno != EAGAIN && errno != EINTR))
                finish(nests, settling);
}

static void *settler_main(void *argument)
{
        struct nests *nests = argument;
        struct epoll_event event;

        for (;;) {
                int count = epoll_wait(nests->settler_epoll, &event, 1, -1);

                if (count < 0 && errno != EINTR)
                        return NULL;
                if (count > 0 && !event.data.ptr)
                        return NULL; /* the engine ends */
                if (count > 0)
                        hear(nests, event.data.ptr);
        }
}

/* At the first run; whether there is one. */
static bool start_settler(struct nests *nests)
{
        struct epoll_event end = { .events = EPOLLIN };
        bool is_there;

        (void)pthread_mutex_lock(&nests->lock);
        if (!nests->has_settler && nests->settler_epoll < 0) {
                nests->settler_epoll = epoll_create1(EPOLL_CLOEXEC);
                nests->settler_end = eventfd(0, EFD_CLOEXEC);
                nests->has_settler =
                        nests->settler_epoll >= 0 && nests->settler_end >= 0 &&
                        epoll_ctl(nests->settler_epoll, EPOLL_CTL_ADD, nests->settler_end, &end) ==
                                0 &&
                        pthread_create(&nests->settler, NULL, settler_main, nests) == 0;
        }
        is_there = nests->has_settler;
        (void)pthread_mutex_unlock(&nests->lock);
        return is_there;
}

bool nests_settle(struct nests *nests, struct lodging *lodging, struct run *run)
{
        struct epoll_event event = { .events = EPOLLIN };
        struct settling *settling;

        if (!run->has_exited || run->is_gone || run->socket < 0 || !start_settler(nests))
                return false;
        settling = mem_alloc(sizeof(*settling));
        if (!settling)
                return false;
        settling->since_ns = clock_now_ns();
        settling->lodging = *lodging;
        settling->lodging.is_settling = true;
        run_move(&settling->run, run);
        event.data.ptr = settling;
        link_in(nests, settling);
        /* From here on it may be gone any moment. */
        if (epoll_ctl(nests->settler_epoll, EPOLL_CTL_ADD, settling->run.socket, &event) < 0)
                finish(nests, settling);
        lodging->nest = NULL;
        return true;
}

void nests_give_up_unsettled(struct nests *nests)
{
        uint64_t now = clock_now_ns();

        for (struct settling *at = nests->settling; at; at = at->next)
                if (now - at->since_ns > SETTLE_MOST)
                        (void)shutdown(at->run.socket, SHUT_RDWR); /* which the settler hears */
}

void nests_settle_all(struct nests *nests)
{
        if (nests->has_settler) {
                (void)eventfd_write(nests->settler_end, 1);
                (void)pthread_join(nests->settler, NULL);
        }
        while (nests->settling)
                finish(nests, nests->settling);
        fd_close(nests->settler_epoll);
        fd_close(nests->settler_end);
}
