/* Programs that live on between several tasks, and the folder that they work in. */
#include "api/api.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/turn.h"

#include <fcntl.h>
#include <unistd.h>

int sbx_request_set_turns(sbx_request *req, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null("sbx_request_set_turns", err);
        if (req->request.turn_fd >= 0)
                return 0;
        if (pipe2(req->turn_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                req->turn_fds[0] = req->turn_fds[1] = -1;
                (void)error_set_errno(&error, "make a pipe");
                return api_fail(&error, err);
        }
        req->request.turn_fd = req->turn_fds[0];
        return 0;
}

static int tell(const sbx_request *req, const char *function, uint64_t word, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null(function, err);
        if (req->turn_fds[1] < 0) {
                (void)error_set(&error, SBX_EINVAL, "%s: the request takes no turns", function);
                return api_fail(&error, err);
        }
        if (write(req->turn_fds[1], &word, sizeof(word)) != sizeof(word)) {
                (void)error_set_errno(&error, "%s", function);
                return api_fail(&error, err);
        }
        return 0;
}

int sbx_turn_begin(sbx_request *req, uint64_t timeout_ms, sbx_error **err)
{
        return tell(req, "sbx_turn_begin", timeout_ms == TURN_ENDS ? 0 : timeout_ms, err);
}

int sbx_turn_end(sbx_request *req, sbx_error **err)
{
        return tell(req, "sbx_turn_end", TURN_ENDS, err);
}

static struct engine_turn_stream stream_of(const sbx_turn *turn, int number)
{
        return (struct engine_turn_stream){
                .data = turn->output[number],
                .length = turn->output_length[number],
                .bytes = turn->output_bytes[number],
                .truncated = turn->output_bytes[number] > turn->output_length[number],
        };
}

char *sbx_turn_record(sbx_engine *engine, sbx_request *told, const sbx_turn *turn, sbx_error **err)
{
        struct engine_order order;
        struct engine_turn inner;
        struct error error = { 0 };
        char id[CLOCK_ULID_MAX], *copy = NULL;

        if (!engine || !told || !turn || turn->size < sizeof(*turn) || !turn->status ||
            !(turn->execution_time >= 0 && turn->execution_time < 1e9)) {
                (void)api_fail_null("sbx_turn_record", err);
                return NULL;
        }
        inner = (struct engine_turn){
                .turn_of = turn->turn_of,
                .status = turn->status,
                .message = turn->message,
                .exit_code = turn->exit_code,
                .signal = turn->signal,
                .wall_ns = (uint64_t)(turn->execution_time * 1e9),
                .memory_peak = turn->memory_used,
                .out = stream_of(turn, 1),
                .err = stream_of(turn, 2),
        };
        if (api_order(engine, told, &order, &error) == 0 &&
            engine_record_turn(&engine->engine, &order, &inner, id, &error) == 0) {
                copy = mem_strdup(id);
                if (!copy)
                        (void)error_set_nomem(&error);
        }
        if (!copy)
                (void)api_fail(&error, err);
        return copy;
}

int sbx_request_set_workspace(sbx_request *req, const char *path, sbx_error **err)
{
        struct error error;
        char *copy;

        if (!req || !path)
                return api_fail_null("sbx_request_set_workspace", err);
        copy = mem_strdup(path);
        if (!copy) {
                (void)error_set_nomem(&error);
                return api_fail(&error, err);
        }
        mem_free(req->request.workspace);
        req->request.workspace = copy;
        return 0;
}
