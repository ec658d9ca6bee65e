/* The sentence of the result, for a person or a model: what happened, in its words. */
#include "engine/passage.h"
#include "base/str.h"
#include "base/units.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *signal_name(int signal)
{
        static const struct {
                int signal;
                const char *name;
        } names[] = {
                { SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },
                { SIGILL, "SIGILL" },   { SIGKILL, "SIGKILL" }, { SIGPIPE, "SIGPIPE" },
                { SIGSEGV, "SIGSEGV" }, { SIGSYS, "SIGSYS" },   { SIGTERM, "SIGTERM" },
                { SIGTRAP, "SIGTRAP" }, { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" },
                { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGALRM, "SIGALRM" },
                { SIGQUIT, "SIGQUIT" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (names[i].signal == signal)
                        return names[i].name;
        return strsignal(signal);
}

/* The compiler's first line that speaks of an error, without the path of the file inside. */
static void compile_message(struct result *result)
{
        const char *text = result->compile.err.kept.data;
        const char *line = text ? strstr(text, "error:") : NULL;

        if (result->compile.outcome == OUTCOME_TIMEOUT ||
            result->compile.outcome == OUTCOME_MEMORY_LIMIT) {
                (void)result_set_message(
                        result, "%s compile error: the compiler reached its %s limit",
                        result->title,
                        result->compile.outcome == OUTCOME_TIMEOUT ? "time" : "memory");
                return;
        }
        if (!line) {
                (void)result_set_message(result, "%s compile error: the compiler failed",
                                         result->title);
                return;
        }
        while (line > text && line[-1] != '\n')
                line--;
        (void)result_set_message(
                result, "%s compile error: %.*s", result->title,
                (int)strcspn(str_has_prefix(line, "/code/") ? line + 6 : line, "\n"),
                str_has_prefix(line, "/code/") ? line + 6 : line);
}

/* The last mark of a syntax error on standard error, by what the language says it begins with. */
static const char *find_syntax_error(const struct language *language, const char *text,
                                     const char **ret_reason)
{
        const char *found = NULL;

        for (const char *const *mark = language->syntax_errors; *mark; mark++)
                for (const char *at = strstr(text, *mark); at; at = strstr(at + 1, *mark))
                        if (at > found || !found) {
                                found = at;
                                *ret_reason = at + strlen(*mark);
                        }
        return found;
}

/* The length of "12", or of "12 of tests" where a template was used. */
static size_t line_words(const char *line)
{
        size_t digits = strspn(line, "0123456789");

        return str_has_prefix(line + digits, " of ") ? strcspn(line, ",)\n") : digits;
}

/* "Python syntax error: invalid syntax (line 2)"; the line is the nearest one named before. */
static bool syntax_message(struct passage *passage)
{
        const char *text = passage->result->run.err.kept.data, *reason = NULL, *line = NULL;
        const char *found = text ? find_syntax_error(passage->language, text, &reason) : NULL;

        if (!found)
                return false;
        for (const char *at = strstr(text, "line "); at && at < found; at = strstr(at + 1, "line "))
                if (at[5] >= '0' && at[5] <= '9')
                        line = at + 5;
        reason += strspn(reason, ": ");
        if (line)
                (void)result_set_message(passage->result, "%s syntax error: %.*s (line %.*s)",
                                         passage->result->title, (int)strcspn(reason, "\n"), reason,
                                         (int)line_words(line), line);
        else
                (void)result_set_message(passage->result, "%s syntax error: %.*s",
                                         passage->result->title, (int)strcspn(reason, "\n"),
                                         reason);
        return true;
}

void message_compose(struct passage *passage)
{
        struct result *result = passage->result;
        const struct limits *limits = &passage->policy.limits;
        char text[UNITS_TEXT_MAX];

        if (deps_compose(result))
                return;
        switch (result->run.outcome) {
        case OUTCOME_TIMEOUT:
                (void)result_set_message(result, "Code execution timed out after %s",
                                         units_format_duration(limits->timeout_ms, text));
                break;
        case OUTCOME_CPU_LIMIT:
                (void)result_set_message(result, "CPU time limit of %s exceeded",
                                         units_format_duration(limits->cpu_time_ms, text));
                break;
        case OUTCOME_MEMORY_LIMIT:
                (void)result_set_message(result, "Memory limit of %s exceeded",
                                         units_format_size(limits->memory_bytes, text));
                break;
        case OUTCOME_PROCESS_LIMIT:
                (void)result_set_message(result, "Process limit of %llu exceeded",
                                         (unsigned long long)limits->processes);
                break;
        case OUTCOME_DISK_LIMIT:
                (void)result_set_message(result, "Disk limit of %s exceeded",
                                         units_format_size(limits->disk_bytes, text));
                break;
        case OUTCOME_OUTPUT_LIMIT:
                (void)result_set_message(result, "Output limit of %s exceeded",
                                         units_format_size(result->run.out.truncated
                                                                   ? limits->stdout_bytes
                                                                   : limits->stderr_bytes,
                                                           text));
                break;
        case OUTCOME_SIGNALED:
                (void)result_set_message(result, "The program was ended by signal %d (%s)",
                                         result->run.signal, signal_name(result->run.signal));
                break;
        case OUTCOME_FAILED:
                if (!syntax_message(passage))
                        (void)result_set_message(result, "The program exited with code %d",
                                                 result->run.exit_code);
                break;
        case OUTCOME_CANCELLED:
                (void)result_set_message(result, "The run was cancelled");
                break;
        case OUTCOME_COMPILE_ERROR:
                compile_message(result);
                break;
        default:
                break; /* well, or said where it was found */
        }
}
