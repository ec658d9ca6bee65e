/*
 * Ends interpreters that nobody used for too long, on a thread of its own: everything of one must
 * be gone before its session is used again, and nobody else waits for that.
 */
#include "mcp/session.h"

#include <time.h>

enum { THREAD_STACK = 256 << 10 };

/* The next one that is due is taken; else NULL, and how long there is until then. The lock is held.
 */
static struct session *take_idle(struct server *server, uint64_t *ret_wait_ns)
{
        uint64_t now = clock_now_ns(), allowed_ns = server->idle_ms * 1000000;

        *ret_wait_ns = UINT64_MAX;
        for (struct session *one = server->sessions; one; one = one->next) {
                uint64_t idle_ns = now - one->last_used_ns;

                if (one->busy || !one->live)
                        continue;
                if (idle_ns >= allowed_ns) {
                        one->busy = true;
                        return one;
                }
                if (allowed_ns - idle_ns < *ret_wait_ns)
                        *ret_wait_ns = allowed_ns - idle_ns;
        }
        return NULL;
}

/* The condition counts by the wall clock, which may be set: then it is looked once too often, or
 * later than it could be. The lock is held. */
static void wait_for_change(struct server *server, uint64_t wait_ns)
{
        struct timespec until;
        uint64_t second = 1000000000, ns;

        if (wait_ns == UINT64_MAX) {
                (void)pthread_cond_wait(&server->changed, &server->lock);
                return;
        }
        (void)clock_gettime(CLOCK_REALTIME, &until);
        ns = (uint64_t)until.tv_nsec + wait_ns % second;
        until.tv_sec += (time_t)(wait_ns / second + ns / second);
        until.tv_nsec = (long)(ns % second);
        (void)pthread_cond_timedwait(&server->changed, &server->lock, &until);
}

static void *watch(void *argument)
{
        struct server *server = argument;
        uint64_t wait_ns;

        (void)pthread_mutex_lock(&server->lock);
        while (!server->closing) {
                struct session *session = take_idle(server, &wait_ns);

                if (!session) {
                        wait_for_change(server, wait_ns);
                        continue;
                }
                (void)pthread_mutex_unlock(&server->lock);
                session_stop(server, session);
                session->state_was_lost = true;
                session_give(server, session);
                (void)pthread_mutex_lock(&server->lock);
        }
        (void)pthread_mutex_unlock(&server->lock);
        return NULL;
}

int sessions_watch_idle(struct server *server, struct error *err)
{
        pthread_attr_t attributes;
        int r = pthread_attr_init(&attributes);

        if (r == 0) {
                (void)pthread_attr_setstacksize(&attributes, THREAD_STACK); /* else: the default */
                r = pthread_create(&server->idle_thread, &attributes, watch, server);
                (void)pthread_attr_destroy(&attributes);
        }
        server->has_idle_thread = r == 0;
        return r == 0 ? 0 : error_set(err, SBX_ESYSTEM, "start a thread");
}
