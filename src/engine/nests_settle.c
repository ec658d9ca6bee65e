/*
 * Runs that are over, in nests that are not quite: the keeper of such a run has said how it ended,
 * and no process of the program's is left, but the kernel still takes the keeper's namespaces and
 * mounts down. Nobody waits for that who has a result to give back. The nest tells when it is done;
 * a thread hears it, looks whether the nest is as it was, and puts it back.
 *
 * A run adds its socket to what the thread polls, without waking it: most runs wake it once, by
 * what the nest has to tell. The thread never waits for one alone: a nest that is not as it was is
 * left to the builder to end, and one that tells nothing for too long is given up by it. What is
 * known not to come back does not get here: whoever had the run ends it.
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

/* Until the nest has said its last word. What it says after one that cannot be understood is not
 * waited for. */
static void hear(struct nests *nests, struct settling *settling)
{
        int r;

        do
                r = run_receive(&settling->run);
        while (r > 0 && !settling->run.is_gone);
        if (!settling->run.is_gone && r < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (!settling->run.is_gone)
                (void)shutdown(settling->run.socket, SHUT_RDWR);
        finish(nests, settling);
}

static void *settler_main(void *argument)
{
        struct nests *nests = argument;
        struct epoll_event event = { 0 };
        int count;

        do {
                count = epoll_wait(nests->settler_epoll, &event, 1, -1);
                if (count > 0 && event.data.ptr)
                        hear(nests, event.data.ptr);
        } while ((count > 0 && event.data.ptr) || (count < 0 && errno == EINTR));
        /* The engine ends, or somebody closed what is not theirs: runs wait themselves again. */
        (void)pthread_mutex_lock(&nests->lock);
        nests->settles = false;
        (void)pthread_mutex_unlock(&nests->lock);
        return NULL;
}

static bool make_settler(struct nests *nests)
{
        struct epoll_event end = { .events = EPOLLIN };

        nests->settler_epoll = epoll_create1(EPOLL_CLOEXEC);
        nests->settler_end = eventfd(0, EFD_CLOEXEC);
        nests->settles = true;
        if (nests->settler_epoll >= 0 && nests->settler_end >= 0 &&
            epoll_ctl(nests->settler_epoll, EPOLL_CTL_ADD, nests->settler_end, &end) == 0 &&
            nests_start_thread(nests, &nests->settler, settler_main))
                return true;
        fd_close(fd_take(&nests->settler_epoll));
        fd_close(fd_take(&nests->settler_end));
        nests->settles = false;
        return false;
}

/* Made at the first run, or the first that there is enough of everything for. */
static bool has_settler(struct nests *nests)
{
        bool settles;

        (void)pthread_mutex_lock(&nests->lock);
        if (!nests->has_settler)
                nests->has_settler = make_settler(nests);
        settles = nests->settles;
        (void)pthread_mutex_unlock(&nests->lock);
        return settles;
}

/* Whether the nest will be as it was, as far as can be told by now. */
static bool may_come_back(const struct lodging *lodging, const struct run *run)
{
        return !nests_stock_of(lodging)->kind.is_once && run->has_exited && !run->is_gone &&
               run->socket >= 0 && nest_may_renew(lodging->nest, run);
}

bool nests_settle(struct nests *nests, struct lodging *lodging, struct run *run)
{
        struct epoll_event event = { .events = EPOLLIN };
        struct settling *settling;

        if (!may_come_back(lodging, run) || !has_settler(nests))
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
