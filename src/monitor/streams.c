/* The program's streams: input fed as it is taken, output kept, passed on or dropped as it comes.
 */
#include "monitor/watch.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
        CHUNK = 65536,
        SPLICE_CHUNK = 1 << 20,
        SMALL_CHUNK = 4096, /* what a writable pipe or terminal takes without blocking */
        ROUNDS = 16,        /* then the clock is looked at again */
        PIPE_BYTES = 1 << 20,
        TAIL_BYTES = 16384, /* at the least, of a stream that has as much */
};

static void close_stream(struct watch *watch, int stream)
{
        fd_close(watch->run->streams[stream]);
        watch->run->streams[stream] = -1;
}

static struct result_stream *kept_stream(struct watch *watch, int stream)
{
        return stream == 1 ? &watch->step->out : &watch->step->err;
}

static uint64_t room_left(struct watch *watch, int stream)
{
        uint64_t cap = watch->order->output_caps[stream], bytes = kept_stream(watch, stream)->bytes;

        return cap > bytes ? cap - bytes : 0;
}

/* What of a stream may still be taken: all that comes, until the run is over. */
static uint64_t stream_left(struct watch *watch, int stream)
{
        return watch->output_is_last
                       ? watch_less(watch->output_end[stream], kept_stream(watch, stream)->bytes)
                       : UINT64_MAX;
}

bool streams_are_done(const struct watch *watch)
{
        /* Nobody waits for the rest of a run that was called off or whose reader is gone. */
        if (run_is_over(watch->run) && (watch->cancelled || watch->output_failed))
                return true;
        return watch->run->streams[1] < 0 && watch->run->streams[2] < 0;
}

static void fail_output(struct watch *watch, int stream)
{
        watch->output_failed = true;
        watch->output_errno = errno;
        watch->output_blocked[stream] = false;
        watch_end(watch, OUTCOME_CANCELLED, false);
}

static void overflow(struct watch *watch, int stream)
{
        kept_stream(watch, stream)->truncated = true;
        if (watch->order->output_kill)
                watch_end(watch, OUTCOME_OUTPUT_LIMIT, false);
}

/* Bytes of what comes next that are kept where they are passed on as well. */
static uint64_t passed_room(struct watch *watch, int stream)
{
        size_t length = kept_stream(watch, stream)->kept.length;

        return length < watch->order->keep_passed ? watch->order->keep_passed - length : 0;
}

static void keep(struct watch *watch, int stream, const char *data, size_t length)
{
        uint64_t room =
                watch->order->output_fds[stream] < 0 ? UINT64_MAX : passed_room(watch, stream);

        if (watch->order->keep_output)
                strbuf_add(&kept_stream(watch, stream)->kept, data,
                           length < room ? length : (size_t)room);
}

static bool has_tail(const struct watch *watch, int stream)
{
        return stream == 2 && watch->order->error_tail;
}

/* What is cut off at the front is cut seldom: it has grown to twice the size by then. */
static void keep_tail(struct strbuf *tail, const char *data, size_t length)
{
        size_t skip = length > TAIL_BYTES ? length - TAIL_BYTES : 0;

        strbuf_add(tail, data + skip, length - skip);
        if (tail->failed || tail->length < 2 * TAIL_BYTES)
                return;
        memmove(tail->data, tail->data + tail->length - TAIL_BYTES, TAIL_BYTES + 1);
        tail->length = TAIL_BYTES;
}

/* Reads and uses one chunk. 1: go on, 0: nothing there now, -1: the stream has ended. */
static int take_by_reading(struct watch *watch, int stream, int target)
{
        struct result_stream *kept = kept_stream(watch, stream);
        char chunk[CHUNK];
        uint64_t room = room_left(watch, stream), left = stream_left(watch, stream);
        size_t most =
                target >= 0 && room > 0 && !watch->output_is_file[stream] ? SMALL_CHUNK : CHUNK;
        ssize_t n = read(watch->run->streams[stream], chunk, left < most ? (size_t)left : most);
        size_t use;

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -1;
        if (n == 0)
                return -1;
        use = (uint64_t)n < room ? (size_t)n : (size_t)room;
        kept->bytes += (uint64_t)n;
        if (has_tail(watch, stream))
                keep_tail(watch->order->error_tail, chunk, (size_t)n);
        if (use < (size_t)n)
                overflow(watch, stream);
        if (use == 0)
                return 1;
        if (target >= 0 && !watch->output_failed && fd_write_all(target, chunk, use) < 0)
                fail_output(watch, stream);
        keep(watch, stream, chunk, use);
        if (watch->order->listener.output)
                watch->order->listener.output(watch->order->listener.context, stream, chunk, use);
        return 1;
}

/* Moves pages instead of bytes where the target takes them. As above; -2: it does not. */
static int take_by_splicing(struct watch *watch, int stream, int target)
{
        uint64_t room = room_left(watch, stream), left = stream_left(watch, stream);
        uint64_t most = room < left ? room : left;
        ssize_t n = splice(watch->run->streams[stream], NULL, target, NULL,
                           most < SPLICE_CHUNK ? (size_t)most : SPLICE_CHUNK,
                           SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

        if (n > 0) {
                kept_stream(watch, stream)->bytes += (uint64_t)n;
                return 1;
        }
        if (n == 0)
                return -1;
        if (errno == EINVAL || errno == EBADF)
                return -2;
        if (errno == EINTR)
                return 1;
        if (errno != EAGAIN) {
                fail_output(watch, stream);
                return 1;
        }
        return 0;
}

/* Whether the caller's descriptor takes something now; if not, the loop waits for that. */
static bool target_is_writable(struct watch *watch, int stream, int target)
{
        struct pollfd slot = { .fd = target, .events = POLLOUT };

        watch->output_blocked[stream] = poll(&slot, 1, 0) == 0;
        return !watch->output_blocked[stream];
}

/* A program that writes much gets a larger pipe; most write little, and a user's quota may forbid
 * it. */
static void grow_pipe(struct watch *watch, int stream)
{
        if (!watch->pipe_has_grown[stream] && kept_stream(watch, stream)->bytes >= CHUNK) {
                watch->pipe_has_grown[stream] = true;
                (void)fcntl(watch->run->streams[stream], F_SETPIPE_SZ, PIPE_BYTES);
        }
}

void streams_begin(struct watch *watch)
{
        for (int stream = 1; stream <= 2; stream++)
                watch->output_is_file[stream] =
                        lseek(watch->order->output_fds[stream], 0, SEEK_CUR) >= 0;
}

void streams_take_output(struct watch *watch, int stream)
{
        int target = watch->order->output_fds[stream];

        watch->output_blocked[stream] = false;
        for (int round = 0; round < ROUNDS && watch->run->streams[stream] >= 0; round++) {
                bool passes = target >= 0 && !watch->output_failed && room_left(watch, stream) > 0;
                int r;

                if (stream_left(watch, stream) == 0) {
                        close_stream(watch, stream);
                        return;
                }
                if (passes && !target_is_writable(watch, stream, target))
                        return;
                if (passes && !watch->output_unspliceable[stream] &&
                    passed_room(watch, stream) == 0 && !has_tail(watch, stream)) {
                        r = take_by_splicing(watch, stream, target);
                        if (r == -2) {
                                watch->output_unspliceable[stream] = true;
                                continue;
                        }
                } else {
                        r = take_by_reading(watch, stream, target);
                }
                if (r < 0)
                        close_stream(watch, stream);
                if (r <= 0)
                        return;
                grow_pipe(watch, stream);
        }
}

/* Notes what the streams hold now that the run is over: what comes later is somebody else's. */
static void end_streams(struct watch *watch)
{
        watch->output_is_last = true;
        for (int stream = 1; stream <= 2; stream++) {
                int held = 0;

                if (ioctl(watch->run->streams[stream], FIONREAD, &held) < 0)
                        held = 0; /* closed already */
                watch->output_end[stream] = kept_stream(watch, stream)->bytes + (uint64_t)held;
        }
}

void streams_empty(struct watch *watch)
{
        if (!watch->output_is_last)
                end_streams(watch);
        for (int stream = 1; stream <= 2; stream++) {
                struct pollfd slot = { .fd = watch->run->streams[stream], .events = POLLIN };

                while (slot.fd >= 0 && watch->run->streams[stream] >= 0 &&
                       !watch->output_blocked[stream] && poll(&slot, 1, 0) > 0 &&
                       (slot.revents & POLLIN))
                        streams_take_output(watch, stream);
                if (watch->run->streams[stream] >= 0 && !watch->output_blocked[stream])
                        close_stream(watch, stream);
        }
}

static void end_input(struct watch *watch)
{
        watch->stdin_done = true;
        watch->stdin_start = watch->stdin_end = 0;
        close_stream(watch, 0);
}

/* Bytes that are to be written next. */
static size_t next_input(struct watch *watch, const char **ret_data)
{
        if (watch->order->stdin_fd < 0) {
                *ret_data = watch->order->stdin_data + watch->stdin_written;
                return watch->order->stdin_length - watch->stdin_written;
        }
        if (watch->stdin_start == watch->stdin_end && !watch->stdin_done) {
                ssize_t n = read(watch->order->stdin_fd, watch->stdin_buffer, MONITOR_STDIN_BYTES);

                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        watch->stdin_done = true;
                watch->stdin_start = 0;
                watch->stdin_end = n > 0 ? (size_t)n : 0;
        }
        *ret_data = watch->stdin_buffer + watch->stdin_start;
        return watch->stdin_end - watch->stdin_start;
}

void streams_feed_input(struct watch *watch)
{
        const char *data;
        size_t length = next_input(watch, &data);
        ssize_t n;

        if (length == 0) {
                if (watch->stdin_done || watch->order->stdin_fd < 0)
                        end_input(watch);
                return;
        }
        n = write(watch->run->streams[0], data, length);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
                end_input(watch); /* the program does not read any more */
                return;
        }
        if (n > 0 && watch->order->stdin_fd < 0)
                watch->stdin_written += (size_t)n;
        else if (n > 0)
                watch->stdin_start += (size_t)n;
        if (watch->order->stdin_fd < 0 && watch->stdin_written == watch->order->stdin_length)
                end_input(watch);
}
