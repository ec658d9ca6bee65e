/*
 * The lines of `--output jsonl`, written from the event handler while the run goes on.
 *
 * The handler runs on the thread that watches the program and must not wait for a slow reader, or
 * the program would outlive its time limit. So lines are queued and as much is written as the
 * reader takes; the output caps of the policy bound the queue, and beyond QUEUE_MAX we wait after
 * all. The descriptor is not made non-blocking, because others may share it: a pipe that polls
 * writable takes PIPE_BUF bytes without waiting.
 */
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUEUE_MAX = 64 << 20 };

void run_events_init(struct run_events *events, sbx_request *req)
{
        struct stat st;

        *events = (struct run_events){ .req = req };
        events->is_file = fstat(1, &st) == 0 && S_ISREG(st.st_mode);
}

void run_events_done(struct run_events *events)
{
        strbuf_done(&events->queue);
}

/* A reader that is gone ends the run: nobody would see the rest. */
static void fail(struct run_events *events, int number)
{
        if (events->failure)
                return;
        events->failure = number;
        sbx_request_cancel(events->req);
}

static bool can_write(const struct run_events *events, bool wait)
{
        struct pollfd stdout_poll = { .fd = 1, .events = POLLOUT };

        return events->is_file || poll(&stdout_poll, 1, wait ? -1 : 0) > 0;
}

/* Drops what has been written from the front, once it is worth the move. */
static void compact(struct run_events *events)
{
        struct strbuf *queue = &events->queue;

        if (events->queue_start < queue->length / 2)
                return;
        queue->length -= events->queue_start;
        memmove(queue->data, queue->data + events->queue_start, queue->length);
        events->queue_start = 0;
}

/* Writes what is queued; with `wait` all of it, unless a signal asks us to leave. */
static void flush(struct run_events *events, bool wait)
{
        struct strbuf *queue = &events->queue;

        while (!events->failure && events->queue_start < queue->length) {
                size_t left = queue->length - events->queue_start;
                ssize_t n;

                if (!can_write(events, wait)) {
                        if (!wait) {
                                compact(events);
                                return;
                        }
                        if (errno != EINTR || run_signals_caught())
                                fail(events, errno);
                        continue;
                }
                if (!events->is_file && left > PIPE_BUF)
                        left = PIPE_BUF;
                n = write(1, queue->data + events->queue_start, left);
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        fail(events, errno);
                else if (n > 0)
                        events->queue_start += (size_t)n;
        }
        queue->length = 0;
        events->queue_start = 0;
}

static void add_text(struct run_events *events, const char *text)
{
        if (events->failure)
                return;
        strbuf_adds(&events->queue, text);
        strbuf_adds(&events->queue, "\n");
        if (events->queue.failed) {
                fail(events, ENOMEM);
                return;
        }
        flush(events, events->queue.length - events->queue_start > QUEUE_MAX);
}

/* Takes `line`, which may be NULL when there was no memory for it. */
static void add_line(struct run_events *events, json_t *line)
{
        char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

        json_decref(line);
        if (text)
                add_text(events, text);
        else
                fail(events, ENOMEM);
        free(text); /* jansson's own allocation */
}

static void add_bytes(struct run_events *events, int stream, const char *data, size_t length)
{
        const char *name = stream ? "stderr" : "stdout";
        AUTO_FREE char *encoded = NULL;

        if (length == 0)
                return;
        if (str_is_utf8(data, length)) {
                add_line(events, json_pack("{s:s, s:s%, s:s, s:f}", "event", name, "data", data,
                                           length, "encoding", "utf-8", "time", events->time));
                return;
        }
        encoded = str_base64(data, length);
        if (!encoded) {
                fail(events, ENOMEM);
                return;
        }
        add_line(events, json_pack("{s:s, s:s, s:s, s:f}", "event", name, "data", encoded,
                                   "encoding", "base64", "time", events->time));
}

/* Holds back the beginning of a character that the chunk cuts, until the rest of it comes. */
static void handle_output(struct run_events *events, int stream, const sbx_event *event)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        size_t whole, left;

        strbuf_add(&bytes, events->held[stream].bytes, events->held[stream].length);
        strbuf_add(&bytes, event->data, event->length);
        if (bytes.failed) {
                fail(events, ENOMEM);
                return;
        }
        whole = str_utf8_complete(bytes.data, bytes.length);
        left = bytes.length - whole;
        memcpy(events->held[stream].bytes, bytes.data + whole, left);
        events->held[stream].length = left;
        add_bytes(events, stream, bytes.data, whole);
}

static void handle_start(struct run_events *events, const sbx_event *event)
{
        add_line(events, json_pack("{s:s, s:s?, s:s?, s:f}", "event", "start", "id", event->id,
                                   "language", event->text, "time", event->time));
}

static void handle_stdout(struct run_events *events, const sbx_event *event)
{
        handle_output(events, 0, event);
}

static void handle_stderr(struct run_events *events, const sbx_event *event)
{
        handle_output(events, 1, event);
}

/* null where it is not known; a line that could not be made is noticed later. */
static void put_known(json_t *line, const char *key, uint64_t value)
{
        (void)json_object_set_new(
                line, key, value == UINT64_MAX ? json_null() : json_integer((json_int_t)value));
}

static void handle_usage(struct run_events *events, const sbx_event *event)
{
        json_t *line =
                json_pack("{s:s, s:I, s:f, s:I, s:f, s:f, s:I}", "event", "usage", "memory",
                          (json_int_t)event->memory, "cpu_time", event->cpu_time, "processes",
                          (json_int_t)event->processes, "time", event->time, "cpu_percent",
                          event->cpu_percent, "memory_peak", (json_int_t)event->memory_peak);

        put_known(line, "disk", event->disk);
        put_known(line, "io_read", event->io_read);
        put_known(line, "io_write", event->io_write);
        put_known(line, "network_in", event->network_in);
        put_known(line, "network_out", event->network_out);
        add_line(events, line);
}

static void handle_warning(struct run_events *events, const sbx_event *event)
{
        add_line(events, json_pack("{s:s, s:s?, s:I, s:I, s:f}", "event", "warning", "limit",
                                   event->text, "used", (json_int_t)event->used, "allowed",
                                   (json_int_t)event->allowed, "time", event->time));
}

static void handle_violation(struct run_events *events, const sbx_event *event)
{
        add_line(events, json_pack("{s:s, s:s?, s:f}", "event", "violation", "what", event->text,
                                   "time", event->time));
}

/* The verdict stands in the line as the library wrote it. */
static void handle_case(struct run_events *events, const sbx_event *event)
{
        AUTO_STRBUF struct strbuf line = { 0 };
        const char *json = event->data;

        strbuf_addf(&line, "{\"event\":\"case\",\"time\":%.6f,", event->time);
        strbuf_add(&line, json + 1, event->length - 1); /* without its opening brace */
        if (line.failed)
                fail(events, ENOMEM);
        else
                add_text(events, line.data);
}

static void handle_bypass(struct run_events *events, const sbx_event *event)
{
        add_line(events, json_pack("{s:s, s:s?, s:f}", "event", "bypass", "what", event->text,
                                   "time", event->time));
}

void run_events_handle(const sbx_event *event, void *userdata)
{
        static const struct {
                const char *kind;
                void (*handle)(struct run_events *events, const sbx_event *event);
        } handlers[] = {
                { "stdout", handle_stdout },
                { "stderr", handle_stderr },
                { "usage", handle_usage },
                { "execution.start", handle_start },
                { "security.violation", handle_violation },
                { "limit.warning", handle_warning },
                { "case", handle_case },
                { "security.bypass", handle_bypass },
        };
        struct run_events *events = userdata;

        events->time = event->time;
        for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
                if (strcmp(event->kind, handlers[i].kind) == 0)
                        handlers[i].handle(events, event);
}

int run_events_complete(struct run_events *events, const char *result_line, struct error *err)
{
        AUTO_STRBUF struct strbuf line = { 0 };

        for (int stream = 0; stream < 2; stream++)
                add_bytes(events, stream, events->held[stream].bytes, events->held[stream].length);
        /* The result stands in the line as the library wrote it, in its order. */
        strbuf_addf(&line, "{\"event\":\"complete\",\"time\":%.6f,\"result\":", events->time);
        strbuf_add(&line, result_line, strcspn(result_line, "\n"));
        strbuf_adds(&line, "}");
        if (line.failed)
                return error_set_nomem(err);
        add_text(events, line.data);
        flush(events, true);
        if (events->failure)
                return error_set(err, SBX_EOUTPUT, "write standard output: %s",
                                 strerror(events->failure));
        return 0;
}
