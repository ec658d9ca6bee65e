/* The sentence of the result, for a person or a model: what happened, in its words. */
#include "engine/passage.h"
#include "base/str.h"
#include "base/units.h"

#include <signal.h>
#include <string.h>

static const char *signal_name(int signal)
{
        static const struct {
                int signal;
                const char *name;
        } names[] = {
                { SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },   { SIGILL, "SIGILL" },
                { SIGKILL, "SIGKILL" }, { SIGPIPE, "SIGPIPE" }, { SIGSEGV, "SIGSEGV" }, { SIGSYS, "SIGSYS" },
                { SIGTERM, "SIGTERM" }, { SIGTRAP, "SIGTRAP" }, { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" },
                { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGALRM, "SIGALRM" }, { SIGQUIT, "SIGQUIT" },
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

        if (result->compile.outcome == OUTCOME_TIMEOUT || result->compile.outcome == OUTCOME_MEMORY_LIMIT) {
                (void)result_set_message(result, "%s compile error: the compiler reached its %s limit", result->title,
                                         result->compile.outcome == OUTCOME_TIMEOUT ? "time" : "memory");
                return;
        }
        if (!line) {
                (void)result_set_message(result, "%s compile error: the compiler failed", result->title);
                return;
        }
        while (line > text && line[-1] != '\n')
                line--;
        (void)result_set_message(result, "%s compile error: %.*s", result->title,
                                 (int)strcspn(str_has_prefix(line, "/code/") ? line + 6 : line, "\n"),
                                 str_has_prefix(line, "/code/") ? line + 6 : line);
}

void message_compose(struct passage *passage)
{
        struct result *result = passage->result;
        const struct limits *limits = &passage->policy.limits;
        char text[UNITS_TEXT_MAX];

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
                                         units_format_size(result->run.out.truncated ? limits->stdout_bytes :
                                                                                       limits->stderr_bytes, text));
                break;
        case OUTCOME_SIGNALED:
                (void)result_set_message(result, "The program was ended by signal %d (%s)", result->run.signal,
                                         signal_name(result->run.signal));
                break;
        case OUTCOME_FAILED:
                (void)result_set_message(result, "The program exited with code %d", result->run.exit_code);
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
