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
