#include "api/api.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/cases.h"

struct sbx_cases {
        struct cases *cases; /* owned */
};

sbx_cases *sbx_cases_load(const char *text, size_t length, const char *name, sbx_error **err)
{
        sbx_cases *handle;
        struct error error;
        int r;

        if (!text || !name) {
                (void)api_fail_null("sbx_cases_load", err);
                return NULL;
        }
        handle = mem_alloc(sizeof(*handle));
        r = handle ? cases_load(text, length, name, &handle->cases, &error)
                   : error_set_nomem(&error);
        if (r == 0)
                return handle;
        mem_free(handle);
        (void)api_fail(&error, err);
        return NULL;
}

void sbx_cases_free(sbx_cases *handle)
{
        if (!handle)
                return;
        cases_free(handle->cases);
        mem_free(handle);
}

size_t sbx_cases_count(const sbx_cases *handle)
{
        return handle ? handle->cases->count : 0;
}

static struct case_part *find_part(const sbx_cases *handle, size_t index, const char *part)
{
        if (!handle || index >= handle->cases->count)
                return NULL;
        if (str_equal(part, "stdin"))
                return &handle->cases->items[index].stdin_part;
        return str_equal(part, "expected") ? &handle->cases->items[index].expected : NULL;
}

const char *sbx_cases_file(const sbx_cases *handle, size_t index, const char *part)
{
        const struct case_part *found = find_part(handle, index, part);

        return found ? found->path : NULL;
}

int sbx_cases_set_file(sbx_cases *handle, size_t index, const char *part, const void *data,
                       size_t length, sbx_error **err)
{
        struct case_part *found = find_part(handle, index, part);
        struct error error;
        int r;

        if (!handle || !part || !data)
                return api_fail_null("sbx_cases_set_file", err);
        r = found && found->path
                    ? cases_set_part(handle->cases, found, data, length, &error)
                    : error_set(&error, SBX_EINVAL, "case %zu names no such file", index + 1);
        return r < 0 ? api_fail(&error, err) : 0;
}

sbx_result *sbx_run_cases(sbx_engine *engine, sbx_request *req, const sbx_cases *cases,
                          unsigned jobs, sbx_error **err)
{
        struct engine_order order;
        struct result *result = NULL;
        struct error error = { 0 };

        if (!engine || !req || !cases) {
                (void)api_fail_null("sbx_run_cases", err);
                return NULL;
        }
        if (api_order(engine, req, &order, &error) < 0 ||
            engine_run_cases(&engine->engine, &order, cases->cases, jobs, &result, &error) < 0) {
                (void)api_fail(&error, err);
                return NULL;
        }
        return (sbx_result *)result;
}
