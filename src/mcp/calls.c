/* Requests in flight: the queue, its workers, cancellation, batches. See mcp.h for who runs what.
 */
#include "mcp/session.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORKER_STACK = 2 << 20 };

struct batch {
        struct out *out;
        pthread_mutex_t lock;
        unsigned references; /* guarded by lock */
        json_t *answers;     /* guarded by lock */
};

struct batch *batch_new(struct out *out)
{
        struct batch *batch = mem_alloc(sizeof(*batch));

        if (!batch)
                return NULL;
        (void)pthread_mutex_init(&batch->lock, NULL);
        batch->out = out;
        batch->references = 1;
        batch->answers = json_array();
        return batch;
}

struct batch *batch_ref(struct batch *batch)
{
        if (!batch)
                return NULL;
        (void)pthread_mutex_lock(&batch->lock);
        batch->references++;
        (void)pthread_mutex_unlock(&batch->lock);
        return batch;
}

void batch_unref(struct batch *batch)
{
        bool last;

        if (!batch)
                return;
        (void)pthread_mutex_lock(&batch->lock);
        last = --batch->references == 0;
        (void)pthread_mutex_unlock(&batch->lock);
        if (!last)
                return;
        if (json_array_size(batch->answers) > 0)
                out_send(batch->out, json_incref(batch->answers));
        json_decref(batch->answers);
        (void)pthread_mutex_destroy(&batch->lock);
        mem_free(batch);
}

void answer_send(struct server *server, struct batch *batch, json_t *answer)
{
        if (!batch) {
                out_send(server->out, answer);
                return;
        }
        (void)pthread_mutex_lock(&batch->lock);
        (void)json_array_append_new(batch->answers, answer); /* out of memory: it is missing */
        (void)pthread_mutex_unlock(&batch->lock);
}

int call_fail(struct call *call, int code, const char *format, ...)
{
        va_list arguments;

        call->error_code = code;
        va_start(arguments, format);
        (void)vsnprintf(call->error_text, sizeof(call->error_text), format, arguments);
        va_end(arguments);
        return -1;
}

bool call_runs(struct call *call, sbx_request *req)
{
        bool may;

        (void)pthread_mutex_lock(&call->server->lock);
        may = !call->cancelled;
        call->running = may ? req : NULL;
        (void)pthread_mutex_unlock(&call->server->lock);
        return may;
}

bool call_is_cancelled(struct call *call)
{
        bool cancelled;

        (void)pthread_mutex_lock(&call->server->lock);
        cancelled = call->cancelled;
        (void)pthread_mutex_unlock(&call->server->lock);
        return cancelled;
}

bool call_settle(struct call *call)
{
        bool may;

        (void)pthread_mutex_lock(&call->server->lock);
        may = !call->cancelled;
        call->settled = may;
        call->running = NULL;
        (void)pthread_mutex_unlock(&call->server->lock);
        return may;
}

/* The lock is held. */
static void cancel(struct call *call)
{
        if (call->settled)
                return;
        call->cancelled = true;
        sbx_request_cancel(call->running);
}

static struct call *find(struct server *server, const json_t *id)
{
        struct call *call = server->calls;

        while (call && !json_equal(call->id, id))
                call = call->next;
        return call;
}

void calls_cancel(struct server *server, const json_t *id)
{
        struct call *call;

        (void)pthread_mutex_lock(&server->lock);
        call = find(server, id);
        if (call)
                cancel(call);
        (void)pthread_cond_broadcast(&server->changed);
        (void)pthread_mutex_unlock(&server->lock);
}

bool calls_has(struct server *server, const json_t *id)
{
        bool has;

        (void)pthread_mutex_lock(&server->lock);
        has = find(server, id) != NULL;
        (void)pthread_mutex_unlock(&server->lock);
        return has;
}

void calls_end(struct server *server)
{
        (void)pthread_mutex_lock(&server->lock);
        server->closing = true;
        for (struct call *call = server->calls; call; call = call->next)
                cancel(call);
        (void)pthread_cond_broadcast(&server->changed);
        while (server->calls)
                (void)pthread_cond_wait(&server->changed, &server->lock);
        (void)pthread_mutex_unlock(&server->lock);
}

static void call_free(struct call *call)
{
        json_decref(call->id);
        json_decref(call->params);
        strbuf_done(&call->unheard);
        mem_free(call);
}

/* Nothing of the call runs any more: it is in flight no longer, and only its answer is left. */
static bool retire(struct call *call)
{
        struct server *server = call->server;
        struct call **link = &server->calls;
        bool wanted;

        (void)pthread_mutex_lock(&server->lock);
        while (*link != call)
                link = &(*link)->next;
        *link = call->next;
        server->call_count--;
        server->call_bytes -= call->bytes;
        wanted = !call->cancelled;
        (void)pthread_cond_broadcast(&server->changed);
        (void)pthread_mutex_unlock(&server->lock);
        return wanted;
}

static void work(struct call *call)
{
        json_t *result = NULL;
        struct batch *batch = call->batch;
        int r = call_is_cancelled(call) ? -1 : call->method->run(call, &result);

        session_release(call);
        /* Who cancels a request does not want to hear of it again. */
        if (!retire(call))
                json_decref(result);
        else if (r == 0 && result)
                answer_send(call->server, batch,
                            rpc_result(json_incref(call->id),
                                       dispatch_result(result, call->version,
                                                       call->method->is_cacheable)));
        else
                answer_send(call->server, batch,
                            rpc_error(json_incref(call->id),
                                      call->error_code ? call->error_code : RPC_INTERNAL_ERROR,
                                      call->error_code ? call->error_text : "out of memory", NULL));
        batch_unref(batch);
        call_free(call);
}

/* The first that need not wait for its session, out of the queue; or NULL. The lock is held. */
static struct call *take_next(struct server *server)
{
        struct call **link = &server->queue, *call;

        while (*link && !session_reserve(*link))
                link = &(*link)->next_waiting;
        call = *link;
        if (call)
                *link = call->next_waiting;
        return call;
}

static void *serve_calls(void *argument)
{
        struct server *server = argument;

        for (;;) {
                struct call *call;

                (void)pthread_mutex_lock(&server->lock);
                server->idle_workers++;
                while (!(call = take_next(server)))
                        (void)pthread_cond_wait(&server->changed, &server->lock);
                server->idle_workers--;
                (void)pthread_mutex_unlock(&server->lock);
                work(call);
        }
        return NULL;
}

/* The lock is held. */
static int start_worker(struct server *server)
{
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        if (pthread_attr_init(&attributes) != 0)
                return -1;
        (void)pthread_attr_setstacksize(&attributes, WORKER_STACK); /* else: the default */
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        r = pthread_create(&thread, &attributes, serve_calls, server);
        (void)pthread_attr_destroy(&attributes);
        if (r != 0)
                return -1;
        server->workers++;
        return 0;
}

/* The lock is held. Takes the call where it returns 0. */
static int enqueue(struct server *server, struct call *call)
{
        struct call **link = &server->queue;
        unsigned waiting = 1;

        /* One that is alone may be as large as a message can be. */
        if (server->call_count >= MCP_CALLS_MAX ||
            (server->call_count > 0 && server->call_bytes + call->bytes > MCP_BYTES_MAX))
                return -1;
        for (; *link; link = &(*link)->next_waiting)
                waiting++;
        if (waiting > server->idle_workers && server->workers < MCP_WORKERS_MAX &&
            start_worker(server) < 0 && server->workers == 0)
                return -1;
        *link = call;
        call->next = server->calls;
        server->calls = call;
        server->call_count++;
        server->call_bytes += call->bytes;
        (void)pthread_cond_broadcast(&server->changed);
        return 0;
}

static json_t *find_progress_token(const json_t *params)
{
        json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");

        return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

void calls_add(struct server *server, const struct message *message, enum mcp_version version,
               const struct method *method, struct batch *batch)
{
        struct call *call = mem_alloc(sizeof(*call));
        int r = -1;

        if (call) {
                call->server = server;
                call->bytes = server->line_bytes;
                server->line_bytes = 0; /* the others of a batch came in the same */
                call->id = json_incref(message->id);
                call->params = json_incref(message->params);
                call->method = method;
                call->version = version;
                call->batch = batch;
                call->progress_token = find_progress_token(message->params);
                call->started_ns = clock_now_ns();
                (void)pthread_mutex_lock(&server->lock);
                r = enqueue(server, call);
                (void)pthread_mutex_unlock(&server->lock);
        }
        if (r == 0)
                return;
        answer_send(server, batch,
                    rpc_error(json_incref(message->id), RPC_INTERNAL_ERROR,
                              "too many requests at once: wait for some to be answered", NULL));
        batch_unref(batch);
        if (call)
                call_free(call);
}
