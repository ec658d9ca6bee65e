#include "api/api.h"
#include "base/mem.h"
#include "base/str.h"
#include "result/result.h"

/* A handle is the result itself under its public name. */
static const struct result *inner(const sbx_result *result)
{
        return (const struct result *)result;
}

void sbx_result_free(sbx_result *result)
{
        result_free((struct result *)result);
}

const char *sbx_result_id(const sbx_result *result)
{
        return inner(result)->id;
}

const char *sbx_result_status(const sbx_result *result)
{
        return outcome_name(inner(result)->run.outcome);
}

bool sbx_result_success(const sbx_result *result)
{
        return inner(result)->run.outcome == OUTCOME_OK;
}

int sbx_result_exit_code(const sbx_result *result)
{
        return inner(result)->run.exit_code;
}

int sbx_result_signal(const sbx_result *result)
{
        return inner(result)->run.signal;
}

const char *sbx_result_message(const sbx_result *result)
{
        return inner(result)->message;
}

const char *sbx_result_hint(const sbx_result *result)
{
        return inner(result)->hint;
}

static const char *stream(const struct result_stream *out, size_t *length)
{
        if (length)
                *length = out->kept.length;
        return out->kept.data ? out->kept.data : "";
}

const char *sbx_result_stdout(const sbx_result *result, size_t *length)
{
        return stream(&inner(result)->run.out, length);
}

const char *sbx_result_stderr(const sbx_result *result, size_t *length)
{
        return stream(&inner(result)->run.err, length);
}

bool sbx_result_truncated(const sbx_result *result, int stream_number)
{
        return stream_number == 1 ? inner(result)->run.out.truncated
                                  : inner(result)->run.err.truncated;
}

double sbx_result_execution_time(const sbx_result *result)
{
        return (double)inner(result)->run.usage.wall_ns / 1e9;
}

double sbx_result_cpu_time(const sbx_result *result)
{
        return (double)inner(result)->run.usage.cpu_us / 1e6;
}

uint64_t sbx_result_memory_used(const sbx_result *result)
{
        return inner(result)->run.usage.memory_peak;
}

const char *sbx_result_analysis(const sbx_result *result)
{
        return inner(result)->analysis;
}

int sbx_result_process_exit_code(const sbx_result *result)
{
        return result_process_exit_code(inner(result));
}

bool sbx_result_enforced(const sbx_result *result, const char *protection, const char **ret_by)
{
        for (int id = 0; id < PROTECTION_COUNT; id++) {
                const struct result_protection *found = &inner(result)->protections[id];

                if (!str_equal(protection_name((enum protection)id), protection))
                        continue;
                if (ret_by)
                        *ret_by = found->by;
                return found->state == STATE_ENFORCED;
        }
        return false;
}

char *sbx_result_missing(const sbx_result *result)
{
        AUTO_STRBUF struct strbuf names = { 0 };

        for (int id = 0; id < PROTECTION_COUNT; id++)
                if (inner(result)->protections[id].state == STATE_MISSING)
                        strbuf_addf(&names, "%s%s", names.length ? ", " : "",
                                    protection_name((enum protection)id));
        return names.length && !names.failed ? strbuf_take(&names) : NULL;
}

char *sbx_result_format(const sbx_result *result, const char *form, bool color, sbx_error **err)
{
        struct error error;
        char *text = NULL;

        if (str_equal(form, "json") || str_equal(form, "jsonline")) {
                text = result_to_json(inner(result), str_equal(form, "jsonline"));
        } else if (str_equal(form, "text")) {
                text = result_to_text(inner(result), color);
        } else {
                (void)error_set(&error, SBX_EINVAL, "no such form of a result: '%s'",
                                form ? form : "NULL");
                (void)api_fail(&error, err);
                return NULL;
        }
        if (!text) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
        }
        return text;
}
