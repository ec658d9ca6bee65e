#include "api/api.h"
#include "base/mem.h"

/* What is handed out when there is no memory for an error. */
static const struct sbx_error out_of_memory = { .inner = { .code = SBX_ENOMEM,
                                                           .message = "out of memory" } };

int api_fail(const struct error *error, sbx_error **err)
{
        if (err) {
                *err = mem_alloc(sizeof(**err));
                if (*err)
                        (*err)->inner = *error;
                else
                        *err = (sbx_error
                                        *)(uintptr_t)&out_of_memory; /* sbx_error_free() knows it */
        }
        return error->code;
}

int api_fail_null(const char *function, sbx_error **err)
{
        struct error error;

        (void)error_set(&error, SBX_EINVAL, "%s: an argument is NULL", function);
        return api_fail(&error, err);
}

int sbx_error_code(const sbx_error *err)
{
        return err ? err->inner.code : SBX_OK;
}

const char *sbx_error_message(const sbx_error *err)
{
        return err ? err->inner.message : "";
}

const char *sbx_error_hint(const sbx_error *err)
{
        return err && err->inner.hint[0] ? err->inner.hint : NULL;
}

void sbx_error_free(sbx_error *err)
{
        if (err != &out_of_memory)
                mem_free(err);
}

void sbx_string_free(char *text)
{
        mem_free(text);
}

const char *sbx_version(void)
{
        return SBX_VERSION;
}
