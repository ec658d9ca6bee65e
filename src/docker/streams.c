#include "docker/streams.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_CHUNK = 32 << 10, OUTPUT_CHUNK = 64 << 10 };

void streams_init(struct streams *streams)
{
        memset(streams, 0, sizeof(*streams));
        streams->fd = -1;
        for (int i = 0; i < 3; i++)
                streams->pipes[i] = -1;
}

void streams_take(struct streams *streams, const int pipes[3])
{
        for (int i = 0; i < 3; i++) {
                fd_close(streams->pipes[i]);
                streams->pipes[i] = pipes[i];
                (void)fcntl(pipes[i], F_SETFL, O_NONBLOCK | (i == 0 ? O_RDONLY : O_WRONLY));
        }
}

void streams_done(struct streams *streams)
{
        if (streams->curl)
                curl_easy_cleanup(streams->curl);
        streams->curl = NULL;
        streams->fd = -1;
        strbuf_done(&streams->to_send);
        for (int i = 0; i < 3; i++) {
                strbuf_done(&streams->waiting[i]);
                fd_close(streams->pipes[i]);
                streams->pipes[i] = -1;
        }
}

void streams_send(struct streams *streams, const void *data, size_t length)
{
        strbuf_add(&streams->to_send, data, length);
        streams->is_broken |= streams->to_send.failed;
}

static void pass_output(struct streams *streams, unsigned stream)
{
        struct strbuf *waiting = &streams->waiting[stream];

        while (streams->taken[stream] < waiting->length) {
                ssize_t n = streams->pipes[stream] < 0
                                    ? (ssize_t)(waiting->length - streams->taken[stream])
                                    : write(streams->pipes[stream],
                                            waiting->data + streams->taken[stream],
                                            waiting->length - streams->taken[stream]);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN && !streams->drops)
                        return;
                if (n < 0 && errno != EAGAIN) {
                        /* The supervisor wants no more of it: that is as good as written. */
                        fd_close(streams->pipes[stream]);
                        streams->pipes[stream] = -1;
                        continue;
                }
                streams->taken[stream] +=
                        n > 0 ? (size_t)n : waiting->length - streams->taken[stream];
        }
        waiting->length = streams->taken[stream] = 0;
}

static void keep_output(void *context, unsigned stream, const void *data, size_t length)
{
        struct streams *streams = context;

        strbuf_add(&streams->waiting[stream], data, length);
        streams->is_broken |= streams->waiting[stream].failed;
}

void streams_feed(struct streams *streams, const void *data, size_t length)
{
        if (!demux_feed(&streams->demux, data, length, keep_output, streams))
                streams->is_broken = true;
        pass_output(streams, 1);
        pass_output(streams, 2);
}

uint64_t streams_hesitate(const struct streams *streams)
{
        return streams_are_empty(streams) ? demux_holds_few(&streams->demux) : 0;
}

void streams_release(struct streams *streams)
{
        demux_release(&streams->demux, keep_output, streams);
        pass_output(streams, 1);
        pass_output(streams, 2);
}

bool streams_are_empty(const struct streams *streams)
{
        return streams->waiting[1].length == 0 && streams->waiting[2].length == 0;
}

static void receive(struct streams *streams)
{
        char chunk[OUTPUT_CHUNK];

        while (!streams->is_broken && streams_are_empty(streams)) {
                size_t n = 0;
                CURLcode code = curl_easy_recv(streams->curl, chunk, sizeof(chunk), &n);

                if (code == CURLE_AGAIN)
                        return;
                if (code != CURLE_OK || n == 0) {
                        streams->is_broken = true;
                        demux_flush(&streams->demux, keep_output, streams);
                        pass_output(streams, 1);
                        pass_output(streams, 2);
                        return;
                }
                streams_feed(streams, chunk, n);
        }
}

static void send_waiting(struct streams *streams)
{
        while (streams->sent < streams->to_send.length) {
                size_t n = 0;
                CURLcode code = curl_easy_send(streams->curl, streams->to_send.data + streams->sent,
                                               streams->to_send.length - streams->sent, &n);

                if (code == CURLE_AGAIN)
                        return;
                if (code != CURLE_OK) {
                        streams->is_broken = true;
                        return;
                }
                streams->sent += n;
        }
        streams->to_send.length = streams->sent = 0;
}

static void take_input(struct streams *streams)
{
        char chunk[INPUT_CHUNK];
        ssize_t n = read(streams->pipes[0], chunk, sizeof(chunk));
        uint32_t length = n > 0 ? (uint32_t)n : 0;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        streams->input_has_ended = n <= 0;
        streams_send(streams, &length, sizeof(length));
        streams_send(streams, chunk, length);
        send_waiting(streams);
}

void streams_fill(const struct streams *streams, struct pollfd slots[STREAMS_SLOTS])
{
        bool sends = streams->to_send.length > streams->sent;

        slots[0] = (struct pollfd){ .fd = streams->is_broken ? -1 : streams->fd,
                                    .events = (short)((sends ? POLLOUT : 0) |
                                                      (streams_are_empty(streams) ? POLLIN : 0)) };
        slots[1] =
                (struct pollfd){ .fd = sends || streams->input_has_ended ? -1 : streams->pipes[0],
                                 .events = POLLIN };
        for (int i = 1; i <= 2; i++)
                slots[1 + i] =
                        (struct pollfd){ .fd = streams->waiting[i].length ? streams->pipes[i] : -1,
                                         .events = POLLOUT };
        if (slots[0].events == 0)
                slots[0].fd = -1; /* its end is heard of once there is room again */
}

void streams_serve(struct streams *streams, const struct pollfd slots[STREAMS_SLOTS])
{
        if (slots[2].revents || streams->drops)
                pass_output(streams, 1);
        if (slots[3].revents || streams->drops)
                pass_output(streams, 2);
        if (slots[0].revents & POLLOUT)
                send_waiting(streams);
        /* What TLS has read ahead wakes nobody, so after a pause it is asked for. */
        if (slots[0].revents & (POLLIN | POLLHUP | POLLERR) || slots[2].revents || slots[3].revents)
                receive(streams);
        if (slots[1].revents)
                take_input(streams);
}
