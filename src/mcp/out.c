/*
 * Theory of operation: one thread writes; everybody else puts lines into a queue. Who answers waits
 * while too much is unread; who tells of progress, on a thread that watches a guest, never waits.
 * Nor does the thread that reads requests, and hears signals: it reads no more instead.
 * Lines are ASCII: whatever a guest printed is escaped, so none of its bytes reaches the channel.
 */
#include "mcp/mcp.h"
#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE_BYTES = 64 << 20 };

struct line {
        struct line *next;
        char *text; /* jansson's allocation */
        size_t length;
};

struct out {
        int fd;
        int wake_fd;
        pthread_t reader; /* who made it */
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct line *first, *last; /* guarded by lock */
        size_t bytes;              /* guarded by lock: of all that is not written yet */
        bool writing;              /* guarded by lock */
        bool closed;               /* guarded by lock */
};

/* The reader is gone: there is nobody left to work for. */
static void fail(struct out *out)
{
        uint64_t one = 1;

        (void)pthread_mutex_lock(&out->lock);
        out->closed = true;
        (void)pthread_cond_broadcast(&out->changed);
        (void)pthread_mutex_unlock(&out->lock);
        if (write(out->wake_fd, &one, sizeof(one)) < 0)
                return; /* it is awake already */
}

static struct line *next_line(struct out *out)
{
        struct line *line;

        (void)pthread_mutex_lock(&out->lock);
        out->writing = false;
        (void)pthread_cond_broadcast(&out->changed);
        while (!out->first)
                (void)pthread_cond_wait(&out->changed, &out->lock);
        line = out->first;
        out->first = line->next;
        out->writing = true;
        (void)pthread_mutex_unlock(&out->lock);
        return line;
}

static void *write_lines(void *argument)
{
        struct out *out = argument;

        for (;;) {
                struct line *line = next_line(out);

                if (fd_write_all(out->fd, line->text, line->length) < 0)
                        fail(out);
                (void)pthread_mutex_lock(&out->lock);
                out->bytes -= line->length;
                (void)pthread_mutex_unlock(&out->lock);
                free(line->text);
                mem_free(line);
        }
        return NULL;
}

struct out *out_new(int fd, int wake_fd)
{
        struct out *out = mem_alloc(sizeof(*out));

        if (!out)
                return NULL;
        out->fd = fd;
        out->wake_fd = wake_fd;
        out->reader = pthread_self();
        (void)pthread_mutex_init(&out->lock, NULL);
        (void)pthread_cond_init(&out->changed, NULL);
        if (pthread_create(&out->thread, NULL, write_lines, out) != 0) {
                mem_free(out);
                return NULL;
        }
        return out;
}

void out_close(struct out *out, uint64_t wait_ms)
{
        struct timespec until;

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)(wait_ms / 1000);
        (void)pthread_mutex_lock(&out->lock);
        while ((out->first || out->writing) && !out->closed &&
               pthread_cond_timedwait(&out->changed, &out->lock, &until) != ETIMEDOUT)
                ;
        out->closed = true;
        (void)pthread_mutex_unlock(&out->lock);
}

/* jansson keeps one byte more than it says, for the NUL that becomes the newline. */
static struct line *make_line(json_t *message)
{
        struct line *line = message ? mem_alloc(sizeof(*line)) : NULL;
        char *text = line ? json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

        json_decref(message);
        if (!text) {
                mem_free(line);
                return NULL;
        }
        line->text = text;
        line->length = strlen(text) + 1;
        text[line->length - 1] = '\n';
        return line;
}

static void append(struct out *out, struct line *line)
{
        if (out->first)
                out->last->next = line;
        else
                out->first = line;
        out->last = line;
        out->bytes += line->length;
        (void)pthread_cond_broadcast(&out->changed);
}

static void drop(struct line *line)
{
        if (line)
                free(line->text);
        mem_free(line);
}

bool out_has_room(struct out *out)
{
        bool has_room;

        (void)pthread_mutex_lock(&out->lock);
        has_room = out->bytes <= QUEUE_BYTES;
        (void)pthread_mutex_unlock(&out->lock);
        return has_room;
}

void out_send(struct out *out, json_t *message)
{
        struct line *line = make_line(message);
        bool may_wait = !pthread_equal(pthread_self(), out->reader);

        if (!line)
                return; /* out of memory: the caller waits in vain, as it would without us */
        (void)pthread_mutex_lock(&out->lock);
        while (may_wait && out->bytes > QUEUE_BYTES && !out->closed)
                (void)pthread_cond_wait(&out->changed, &out->lock);
        if (!out->closed)
                append(out, TAKE(line));
        (void)pthread_mutex_unlock(&out->lock);
        drop(line);
}

bool out_is_idle(struct out *out)
{
        bool idle;

        (void)pthread_mutex_lock(&out->lock);
        idle = !out->first && !out->writing && !out->closed;
        (void)pthread_mutex_unlock(&out->lock);
        return idle;
}

void out_send_if_idle(struct out *out, json_t *message)
{
        struct line *line = make_line(message);

        (void)pthread_mutex_lock(&out->lock);
        if (line && !out->first && !out->closed)
                append(out, TAKE(line));
        (void)pthread_mutex_unlock(&out->lock);
        drop(line);
}
