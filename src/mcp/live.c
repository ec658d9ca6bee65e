#include "mcp/session.h"
#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { THREAD_STACK = 2 << 20 };

static const struct {
        const char *language, *driver;
} drivers[] = {
        { "python", mcp_session_py },
        { "javascript", mcp_session_js },
};

const char *live_driver(const char *language)
{
        for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
                if (strcmp(drivers[i].language, language) == 0)
                        return drivers[i].driver;
        return NULL;
}

/* The lock is held. */
static void keep(struct live *live, int number, const char *data, size_t length)
{
        struct live_stream *stream = &live->streams[number];
        uint64_t room = live->caps[number] > stream->bytes ? live->caps[number] - stream->bytes : 0;
        size_t use = length < room ? length : (size_t)room;

        stream->bytes += length;
        stream->truncated |= use < length;
        if (use == 0)
                return;
        strbuf_add(&stream->kept, data, use);
        if (live->call)
                call_progress(live->call, data, use);
}

/* "\x1e" nonce "\x1e" three digits "\x1e" at the beginning of the data? */
static bool is_mark(const struct live *live, const char *data)
{
        return data[0] == '\x1e' && memcmp(data + 1, live->nonce, LIVE_NONCE) == 0 &&
               data[LIVE_NONCE + 1] == '\x1e' && data[LIVE_MARK - 1] == '\x1e';
}

static int read_code(const char *digits)
{
        int code = 0;

        for (int i = 0; i < 3; i++)
                code = code * 10 + (digits[i] >= '0' && digits[i] <= '9' ? digits[i] - '0' : 1);
        return code & 255;
}

/* Uses what is certainly no mark; the rest is held until more comes. The lock is held. */
static void scan(struct live *live, int number, const char *data, size_t length)
{
        struct live_stream *stream = &live->streams[number];
        size_t start = 0;

        for (;;) {
                const char *found = memchr(data + start, '\x1e', length - start);
                size_t at = found ? (size_t)(found - data) : length;

                if (found && length - at >= LIVE_MARK && !is_mark(live, found)) {
                        keep(live, number, data + start, at + 1 - start);
                        start = at + 1;
                        continue;
                }
                keep(live, number, data + start, at - start);
                if (!found)
                        return;
                if (length - at < LIVE_MARK) {
                        stream->held_length = length - at;
                        memcpy(stream->held, found, stream->held_length);
                        return;
                }
                stream->ended = true;
                live->exit_code = read_code(found + LIVE_NONCE + 2);
                (void)pthread_cond_broadcast(&live->changed);
                return; /* what comes after the end of a task belongs to nobody */
        }
}

static void hear_output(struct live *live, int number, const char *data, size_t length)
{
        struct live_stream *stream = &live->streams[number];
        AUTO_STRBUF struct strbuf joined = { 0 };

        if (!live->nonce[0] || stream->ended)
                return;
        if (stream->held_length == 0) {
                scan(live, number, data, length);
                return;
        }
        strbuf_add(&joined, stream->held, stream->held_length);
        strbuf_add(&joined, data, length);
        stream->held_length = 0;
        if (!joined.failed)
                scan(live, number, joined.data, joined.length);
}

static void on_event(const sbx_event *event, void *userdata)
{
        struct live *live = userdata;

        (void)pthread_mutex_lock(&live->lock);
        if (!live->id[0] && event->id)
                (void)snprintf(live->id, sizeof(live->id), "%s", event->id);
        if (strcmp(event->kind, "stdout") == 0) {
                hear_output(live, 1, event->data, event->length);
        } else if (strcmp(event->kind, "stderr") == 0) {
                hear_output(live, 2, event->data, event->length);
        } else if (strcmp(event->kind, "usage") == 0) {
                __atomic_store_n(&live->memory, event->memory, __ATOMIC_RELAXED);
                if (event->memory > live->memory_peak)
                        live->memory_peak = event->memory;
                if (live->call)
                        call_progress(live->call, NULL, 0);
        }
        (void)pthread_mutex_unlock(&live->lock);
}

/* The end of the pipe that the run read is closed, so that nobody waits to write to it. */
static void *run_driver(void *argument)
{
        struct live *live = argument;
        sbx_error *err = NULL;
        sbx_result *result = sbx_run(live->engine, live->req, &err);

        (void)pthread_mutex_lock(&live->lock);
        live->result = result;
        live->err = err;
        live->over = true;
        fd_close(fd_take(&live->input_reader));
        (void)pthread_cond_broadcast(&live->changed);
        (void)pthread_mutex_unlock(&live->lock);
        return NULL;
}

static void release(struct live *live)
{
        sbx_request_free(live->req);
        sbx_result_free(live->result);
        sbx_error_free(live->err);
        fd_close(live->input);
        fd_close(live->input_reader);
        strbuf_done(&live->streams[1].kept);
        strbuf_done(&live->streams[2].kept);
        (void)pthread_mutex_destroy(&live->lock);
        (void)pthread_cond_destroy(&live->changed);
        mem_free(live);
}

static int prepare(struct live *live, const char *driver, sbx_error **err)
{
        int ends[2];

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -1;
        live->input_reader = ends[0];
        live->input = ends[1];
        if (sbx_request_set_code(live->req, driver, strlen(driver), err) < 0 ||
            sbx_request_set_trusted(live->req, true, err) < 0 ||
            sbx_request_set_turns(live->req, err) < 0 ||
            sbx_request_set_stdin_fd(live->req, live->input_reader, err) < 0 ||
            sbx_request_set_event_handler(live->req, on_event, live, err) < 0)
                return -1;
        return 0;
}

static int start_thread(struct live *live)
{
        pthread_attr_t attributes;
        int r = pthread_attr_init(&attributes);

        if (r != 0)
                return r;
        (void)pthread_attr_setstacksize(&attributes, THREAD_STACK); /* else: the default */
        r = pthread_create(&live->thread, &attributes, run_driver, live);
        (void)pthread_attr_destroy(&attributes);
        return r;
}

int live_new(struct server *server, sbx_request *req, const struct rules *rules,
             const char *language, struct live **ret_live, sbx_error **err)
{
        struct live *live = mem_alloc(sizeof(*live));

        if (!live) {
                sbx_request_free(req);
                return -1;
        }
        live->req = req;
        live->input = live->input_reader = -1;
        live->caps[1] = rules->caps[1];
        live->caps[2] = rules->caps[2];
        (void)pthread_mutex_init(&live->lock, NULL);
        (void)pthread_cond_init(&live->changed, NULL);
        live->engine = server->drivers;
        if (prepare(live, live_driver(language), err) < 0 || start_thread(live) != 0) {
                release(live);
                return -1;
        }
        *ret_live = live;
        return 0;
}

/* The thread of the run reads the pipe, and closes it when the program has ended. */
static void feed(const struct live *live, const char *data, size_t length)
{
        while (length > 0) {
                struct pollfd slot = { .fd = live->input, .events = POLLOUT };
                ssize_t n = poll(&slot, 1, -1) < 0 ? -1 : write(live->input, data, length);

                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return;
                if (n > 0) {
                        data += n;
                        length -= (size_t)n;
                }
        }
}

static int begin(struct live *live, struct call *call)
{
        unsigned char bytes[LIVE_NONCE / 2];

        if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
                return -1;
        (void)pthread_mutex_lock(&live->lock);
        for (size_t i = 0; i < sizeof(bytes); i++)
                (void)snprintf(live->nonce + 2 * i, 3, "%02x", bytes[i]);
        for (int i = 1; i <= 2; i++) {
                strbuf_done(&live->streams[i].kept);
                live->streams[i] = (struct live_stream){ 0 };
        }
        live->exit_code = 0;
        live->call = call;
        live->memory_peak = live->memory;
        (void)pthread_mutex_unlock(&live->lock);
        return 0;
}

static bool wait_for_end(struct live *live)
{
        bool over;

        (void)pthread_mutex_lock(&live->lock);
        while (!live->over && !(live->streams[1].ended && live->streams[2].ended))
                (void)pthread_cond_wait(&live->changed, &live->lock);
        over = !(live->streams[1].ended && live->streams[2].ended);
        /* What could have been the beginning of a mark was none. */
        for (int i = 1; i <= 2 && over; i++)
                if (!live->streams[i].ended) {
                        keep(live, i, live->streams[i].held, live->streams[i].held_length);
                        live->streams[i].held_length = 0;
                }
        live->nonce[0] = '\0';
        live->call = NULL;
        (void)pthread_mutex_unlock(&live->lock);
        return over;
}

/* The interpreter goes on, and is sampled; its streams are no longer written. */
static void tell(struct live *live, struct live_outcome *outcome)
{
        (void)pthread_mutex_lock(&live->lock);
        outcome->exit_code = live->exit_code;
        outcome->memory_peak = live->memory_peak;
        memcpy(outcome->id, live->id, sizeof(outcome->id));
        for (int i = 1; i <= 2; i++) {
                const struct live_stream *stream = &live->streams[i];

                outcome->streams[i] = (struct outcome_stream){
                        .data = stream->kept.data ? stream->kept.data : "",
                        .length = stream->kept.length,
                        .truncated = stream->truncated,
                };
                outcome->bytes[i] = stream->bytes;
        }
        (void)pthread_mutex_unlock(&live->lock);
}

int live_run(struct live *live, struct call *call, const char *task, uint64_t timeout_ms,
             struct live_outcome *ret_outcome)
{
        uint64_t started_ns = clock_now_ns();
        AUTO_STRBUF struct strbuf head = { 0 };

        *ret_outcome = (struct live_outcome){ 0 };
        if (begin(live, call) < 0)
                return -1;
        strbuf_addf(&head, "%s %zu\n", live->nonce, strlen(task));
        if (head.failed)
                return -1;
        (void)sbx_turn_begin(live->req, timeout_ms, NULL); /* its pipe is never full */
        feed(live, head.data, head.length);
        feed(live, task, strlen(task));
        ret_outcome->ended = wait_for_end(live);
        if (ret_outcome->ended) {
                ret_outcome->result = live->result;
                ret_outcome->err = live->err;
        } else {
                (void)sbx_turn_end(live->req, NULL);
        }
        tell(live, ret_outcome);
        ret_outcome->seconds = (double)(clock_now_ns() - started_ns) / 1e9;
        return 0;
}

bool live_is_over(struct live *live)
{
        bool over;

        (void)pthread_mutex_lock(&live->lock);
        over = live->over;
        (void)pthread_mutex_unlock(&live->lock);
        return over;
}

uint64_t live_memory(struct live *live)
{
        uint64_t memory = __atomic_load_n(&live->memory, __ATOMIC_RELAXED);

        return memory == UINT64_MAX ? 0 : memory;
}

void live_free(struct live *live)
{
        if (!live)
                return;
        sbx_request_cancel(live->req);
        (void)pthread_join(live->thread, NULL); /* ours, and joined once */
        release(live);
}
