/* Requests: files beside the code. */
#include "api/api.h"

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
