/* Requests: dependencies. */
#include "api/api.h"

int sbx_request_set_deps(sbx_request *req, const char *path, sbx_error **err)
{
        struct error error;

        if (!req || !path)
                return api_fail_null("sbx_request_set_deps", err);
        return request_set_deps(&req->request, path, &error) < 0 ? api_fail(&error, err) : 0;
}

int sbx_request_add_registry(sbx_request *req, const char *place, sbx_error **err)
{
        struct error error;

        if (!req || !place)
                return api_fail_null("sbx_request_add_registry", err);
        return request_add_registry(&req->request, place, &error) < 0 ? api_fail(&error, err) : 0;
}
