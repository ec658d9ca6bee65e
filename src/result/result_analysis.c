/* The one line about static analysis in the report for a person. */
#include "result/result.h"

#include <jansson.h>
#include <string.h>

void result_analysis_line(const struct result *result, struct strbuf *out)
{
        json_t *report = result->analysis ? json_loads(result->analysis, 0, NULL) : NULL, *reason;
        const char *risk = json_string_value(json_object_get(report, "risk"));
        const char *skipped = json_string_value(json_object_get(report, "reason"));
        size_t index;

        if (risk && strcmp(risk, "none") != 0) {
                strbuf_addf(out, "analysis: %s risk", risk);
                json_array_foreach(json_object_get(report, "reasons"), index, reason)
                {
                        strbuf_addf(out, "%s%s", index == 0 ? " (" : "; ",
                                    json_string_value(reason));
                }
                strbuf_adds(out, index > 0 ? ")\n" : "\n");
        } else if (report && skipped) {
                strbuf_addf(out, "analysis: none: %s\n", skipped);
        }
        json_decref(report);
}
