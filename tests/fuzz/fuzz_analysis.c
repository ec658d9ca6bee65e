/*
 * Static analysis of foreign source. The first line names the language, the rest is the source; a
 * target for one language (FUZZ_LANGUAGE) takes the rest for its own whatever the line says. All
 * kinds of lists are in force, so that every comparison is made.
 */
#include "analysis/analysis.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LANGUAGE_MAX = 32 };

static const char *const imports[] = { "os", "a.b", "x*", NULL };
static const char *const functions[] = { "eval", "f.*", "*.g", "*", NULL };
static const char *const commands[] = { "rm", "l*", NULL };
static const char *const patterns[] = { "a(", "x . y", ">/dev/", "text:a", NULL };

static void check_report(const json_t *report)
{
        const char *state = json_string_value(json_object_get(report, "state"));
        char *text = json_dumps(report, JSON_COMPACT);

        if (!state || !text) {
                (void)fprintf(stderr, "not a report\n");
                abort();
        }
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct analysis_rules rules = { .lists = { imports, functions, commands, patterns } };
        const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
        size_t skipped = line ? (size_t)(line - data) + 1 : 0;
        char language[LANGUAGE_MAX] = "python";
        struct error err = { 0 };
        json_t *report;
        char *source;

        if (line && skipped <= LANGUAGE_MAX) {
                memcpy(language, data, skipped - 1);
                language[skipped - 1] = '\0';
        }
#ifdef FUZZ_LANGUAGE
        (void)snprintf(language, sizeof(language), "%s", FUZZ_LANGUAGE);
#endif
        source = mem_alloc(size - skipped + 1);
        if (!source)
                return 0;
        memcpy(source, data + skipped, size - skipped);
        report = analysis_run(language, source, size - skipped, &rules, &err);
        if (report)
                check_report(report);
        json_decref(report);
        mem_free(source);
        return 0;
}
