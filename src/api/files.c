/* Requests: files beside the code. */
#include "api/api.h"
#include "engine/handed_in.h"

#include <errno.h>

static int give(int r, const struct error *error, sbx_error **err)
{
        return r < 0 ? api_fail(error, err) : 0;
}

int sbx_request_add_source(sbx_request *req, const char *path, const void *data, size_t length,
                           sbx_error **err)
{
        struct error error;

        if (!req || !path || !data)
                return api_fail_null("sbx_request_add_source", err);
        return give(request_add_file(&req->request.sources, path, data, length, &error), &error,
                    err);
}

int sbx_request_add_source_fd(sbx_request *req, const char *path, int fd, sbx_error **err)
{
        struct error error;

        if (!req || !path)
                return api_fail_null("sbx_request_add_source_fd", err);
        if (!path[0] && request_name_folder(&req->request, fd, &error) < 0)
                return api_fail(&error, err);
        return give(request_add_file_fd(&req->request.sources, path, fd, &error), &error, err);
}

int sbx_request_set_entry(sbx_request *req, const char *path, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null("sbx_request_set_entry", err);
        return give(request_set_entry(&req->request, path, &error), &error, err);
}

int sbx_request_add_input(sbx_request *req, const char *path, const void *data, size_t length,
                          sbx_error **err)
{
        struct error error;

        if (!req || !path || !data)
                return api_fail_null("sbx_request_add_input", err);
        return give(request_add_file(&req->request.inputs, path, data, length, &error), &error,
                    err);
}

int sbx_request_add_input_fd(sbx_request *req, const char *path, int fd, sbx_error **err)
{
        struct error error;

        if (!req || !path)
                return api_fail_null("sbx_request_add_input_fd", err);
        return give(request_add_file_fd(&req->request.inputs, path, fd, &error), &error, err);
}

int sbx_request_add_collect(sbx_request *req, const char *pattern, sbx_error **err)
{
        struct error error;

        if (!req || !pattern)
                return api_fail_null("sbx_request_add_collect", err);
        return give(request_add_collect(&req->request, pattern, &error), &error, err);
}

int sbx_request_set_collect_all(sbx_request *req, bool all, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_collect_all", err);
        req->request.collect_all = all;
        return 0;
}

int sbx_request_set_collect_fd(sbx_request *req, int fd, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null("sbx_request_set_collect_fd", err);
        return give(request_set_collect_fd(&req->request, fd, &error), &error, err);
}

/* The layers are not put together: which language it is, and what that may do, is found later. */
static int open_path(const sbx_request *req, const char *path, int flags, unsigned mode,
                     int *ret_fd, struct error *err)
{
        const struct policy *layers[ENGINE_LAYERS_MAX];
        size_t count = api_policy_layers(&req->policy, layers);
        struct strlist writable = { 0 };
        int r;

        layers[count++] = &req->settings;
        r = handed_in_writable(layers, count, req->request.workspace, &writable, err);
        if (r == 0)
                r = handed_in_open("the path", path, flags, mode, &writable, ret_fd, err);
        strlist_done(&writable);
        return r;
}

int sbx_request_open(sbx_request *req, const char *path, int flags, unsigned mode, int *ret_fd,
                     sbx_error **err)
{
        struct error error;
        int r;

        if (!req || !path || !ret_fd)
                return api_fail_null("sbx_request_open", err);
        r = open_path(req, path, flags, mode, ret_fd, &error);
        if (r < 0) {
                (void)api_fail(&error, err);
                errno = error.sys_errno;
        }
        return r;
}
