#include "api/api.h"

static int give(int r, const struct error *error, sbx_error **err)
{
        return r < 0 ? api_fail(error, err) : 0;
}

int sbx_request_set_template(sbx_request *req, const char *name, sbx_error **err)
{
        struct error error;

        if (!req || !name)
                return api_fail_null("sbx_request_set_template", err);
        return give(template_use_name(&req->template, name, &error), &error, err);
}

int sbx_request_set_template_text(sbx_request *req, const char *text, size_t length,
                                  const char *name, sbx_error **err)
{
        struct error error;

        if (!req || !text || !name)
                return api_fail_null("sbx_request_set_template_text", err);
        return give(template_use_text(&req->template, text, length, name, &error), &error, err);
}

int sbx_request_set_placeholder(sbx_request *req, const char *name, const void *value,
                                size_t length, sbx_error **err)
{
        struct error error;

        if (!req || !name || !value)
                return api_fail_null("sbx_request_set_placeholder", err);
        return give(template_use_set(&req->template, name, value, length, &error), &error, err);
}

char *sbx_templates_json(sbx_error **err)
{
        struct error error;
        char *text = templates_json(&error);

        if (!text)
                (void)api_fail(&error, err);
        return text;
}
