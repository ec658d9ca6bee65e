/* The sentence of a result whose dependencies could not be installed. */
#include "engine/deps.h"
#include "base/str.h"

#include <string.h>

static const struct {
        enum outcome outcome;
        const char *words;
} limits[] = {
        { OUTCOME_TIMEOUT, "the installer reached its time limit" },
        { OUTCOME_CPU_LIMIT, "the installer reached its CPU time limit" },
        { OUTCOME_MEMORY_LIMIT, "the installer reached its memory limit" },
        { OUTCOME_PROCESS_LIMIT, "the installer reached its process limit" },
        { OUTCOME_DISK_LIMIT, "the installer reached its disk limit" },
};

/* The line in which it says what is wrong: one that begins with it, else one that speaks of an
 * error, else the last. */
static const char *find_line(const struct strbuf *text)
{
        const char *speaks = NULL, *last = NULL;
        const char *word = text->length ? strcasestr(text->data, "error") : NULL;

        for (const char *line = text->length ? text->data : ""; *line;) {
                size_t length = strcspn(line, "\n");

                if (word && word < line)
                        word = strcasestr(line, "error");
                if (word == line)
                        return line;
                if (!speaks && word && word < line + length)
                        speaks = line;
                if (length > 0)
                        last = line;
                line += length + (line[length] == '\n');
        }
        return speaks ? speaks : last;
}

bool deps_compose(struct result *result)
{
        const char *line = NULL;

        if (result->run.outcome != OUTCOME_COMPILE_ERROR || result->compiled)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                if (limits[i].outcome == result->deps.outcome)
                        line = limits[i].words;
        if (!line)
                line = find_line(&result->deps.err.kept);
        if (!line)
                line = find_line(&result->deps.out.kept);
        if (!line)
                line = "the installer failed";
        (void)result_set_message(result, "Dependencies could not be installed: %.*s",
                                 (int)strcspn(line, "\n"), line);
        return true;
}
