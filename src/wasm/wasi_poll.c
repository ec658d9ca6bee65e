/* Waiting: for a time, for a stream. A signal that wants the program's end ends the wait. */
#include "wasm/wasi.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

enum { SUBSCRIPTION_BYTES = 48, EVENT_BYTES = 32, SUBSCRIPTIONS_MAX = WASI_FILES_MAX };
enum { TAG_CLOCK, TAG_READ, TAG_WRITE, CLOCK_IS_ABSOLUTE = 1 };

static const uint64_t second_ns = 1000000000;

struct subscription {
        uint64_t userdata;
        uint8_t tag;
        uint32_t number; /* of the clock, or of the file */
        uint64_t timeout;
        uint16_t flags;
};

static struct subscription read_subscription(const uint8_t *at)
{
        struct subscription one;

        memcpy(&one.userdata, at, 8);
        one.tag = at[8];
        memcpy(&one.number, at + 16, 4);
        memcpy(&one.timeout, at + 24, 8);
        memcpy(&one.flags, at + 40, 2);
        return one;
}

static void put_event(uint8_t *at, const struct subscription *one, uint32_t error, uint64_t bytes,
                      bool is_hung_up)
{
        uint16_t error16 = (uint16_t)error, flags = is_hung_up;

        memset(at, 0, EVENT_BYTES);
        memcpy(at, &one->userdata, 8);
        memcpy(at + 8, &error16, 2);
        at[10] = one->tag;
        memcpy(at + 16, &bytes, 8);
        memcpy(at + 24, &flags, 2);
}

static uint64_t now_ns(uint32_t clock)
{
        struct timespec now = { 0 };

        (void)clock_gettime(clock == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

/* How long from now. */
static uint64_t left_of(const struct subscription *one)
{
        uint64_t now;

        if (!(one->flags & CLOCK_IS_ABSOLUTE))
                return one->timeout;
        now = now_ns(one->number);
        return one->timeout > now ? one->timeout - now : 0;
}

/* Waits; the number of streams that are ready, or -1 with errno. */
static int wait_for(struct wasi *wasi, struct pollfd *polled, nfds_t count, uint64_t timeout)
{
        uint64_t end = timeout == UINT64_MAX ? UINT64_MAX : now_ns(1) + timeout;

        if (end < timeout)
                end = UINT64_MAX;
        for (;;) {
                uint64_t now = now_ns(1), left = end > now ? end - now : 0;
                struct timespec time = { (time_t)(left / second_ns), (long)(left % second_ns) };
                int r = ppoll(polled, count, end == UINT64_MAX ? NULL : &time, NULL);

                if (r >= 0 || errno != EINTR || *wasi->stop)
                        return r;
        }
}

/* What is to be polled for one, or why it cannot be. A file of the host is always ready. */
static uint32_t prepare(struct wasi *wasi, const struct subscription *one, struct pollfd *polled,
                        uint64_t *timeout)
{
        const struct wasi_file *file;

        *polled = (struct pollfd){ .fd = -1 };
        if (one->tag == TAG_CLOCK) {
                uint64_t left = left_of(one);

                if (one->number > 1)
                        return WASI_ENOTSUP;
                if (left < *timeout)
                        *timeout = left;
                return WASI_OK;
        }
        file = wasi_file(wasi, one->number);
        if (!file || one->tag > TAG_WRITE)
                return file ? WASI_EINVAL : WASI_EBADF;
        polled->events = one->tag == TAG_READ ? POLLIN : POLLOUT;
        if (file->kind == WASI_STREAM)
                polled->fd = file->fd;
        else
                *timeout = 0;
        return WASI_OK;
}

uint32_t wasi_poll_oneoff(struct wasi *wasi, const union wasm_raw *in)
{
        uint32_t count = wasi_u32(in[2]), ready = 0;
        const uint8_t *from = wasi_at(wasi, wasi_u32(in[0]), (uint64_t)count * SUBSCRIPTION_BYTES);
        uint8_t *to = wasi_at(wasi, wasi_u32(in[1]), (uint64_t)count * EVENT_BYTES);
        AUTO_FREE struct subscription *all = NULL;
        AUTO_FREE struct pollfd *polled = NULL;
        AUTO_FREE uint32_t *errors = NULL;
        uint64_t timeout = UINT64_MAX;
        int woken;

        if (!from || !to)
                return WASI_EFAULT;
        if (count == 0 || count > SUBSCRIPTIONS_MAX)
                return WASI_EINVAL;
        all = mem_alloc(count * sizeof(*all));
        polled = mem_alloc(count * sizeof(*polled));
        errors = mem_alloc(count * sizeof(*errors));
        if (!all || !polled || !errors)
                return wasi_errno(ENOMEM);
        for (uint32_t i = 0; i < count; i++) {
                all[i] = read_subscription(from + (size_t)i * SUBSCRIPTION_BYTES);
                errors[i] = prepare(wasi, &all[i], &polled[i], &timeout);
                if (errors[i])
                        timeout = 0;
        }
        woken = wait_for(wasi, polled, count, timeout);
        if (woken < 0)
                return wasi_errno(errno);
        for (uint32_t i = 0; i < count; i++) {
                bool is_clock = all[i].tag == TAG_CLOCK;
                bool is_due = is_clock && (all[i].flags & CLOCK_IS_ABSOLUTE
                                                   ? left_of(&all[i]) == 0
                                                   : woken == 0 && all[i].timeout <= timeout);
                bool is_file = !is_clock && polled[i].fd < 0;

                if (errors[i] || is_due || is_file || polled[i].revents)
                        put_event(to + (size_t)ready++ * EVENT_BYTES, &all[i], errors[i],
                                  is_clock ? 0 : 1, polled[i].revents & POLLHUP);
        }
        return wasi_put32(wasi, wasi_u32(in[3]), ready) ? WASI_OK : WASI_EFAULT;
}
