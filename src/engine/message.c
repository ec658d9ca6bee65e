/* The sentence of the result, for a person or a model: what happened, in its words. */
#include "engine/passage.h"
#include "base/str.h"
#include "base/units.h"
#include "languages/languages_errors.h"

#include <signal.h>
#include <stdio.h>
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

/* "Python syntax error: invalid syntax (line 2)", "C compile error: 'x' undeclared (line 1)": what
 * the tool said on standard error or, as some do, on standard output. */
static bool error_message(struct passage *passage, const struct result_step *step, bool compiling)
{
        const char *const outputs[] = { step->err.kept.data, step->out.kept.data };
        struct result *result = passage->result;
        struct language_error error;
        char line[LANGUAGE_LINE_MAX + 16] = "";

        for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
                if (!outputs[i] ||
                    !language_find_error(passage->language, outputs[i], compiling, &error))
                        continue;
                if (error.line[0])
                        (void)snprintf(line, sizeof(line), " (line %s)", error.line);
                (void)result_set_message(result, "%s %s error: %s%s", result->title,
                                         error.is_syntax ? "syntax" : "compile", error.sentence,
                                         line);
                return true;
        }
        return false;
}

static void compile_message(struct passage *passage)
{
        struct result *result = passage->result;

        if (result->compile.outcome == OUTCOME_TIMEOUT ||
            result->compile.outcome == OUTCOME_MEMORY_LIMIT)
                (void)result_set_message(
                        result, "%s compile error: the compiler reached its %s limit",
                        result->title,
                        result->compile.outcome == OUTCOME_TIMEOUT ? "time" : "memory");
        else if (!error_message(passage, &result->compile, true))
                (void)result_set_message(result, "%s compile error: the compiler failed",
                                         result->title);
}

/* What waits for a thread that could not be started waits until its time is up. */
static bool was_refused_processes(const struct result *result)
{
        for (size_t i = 0; i < result->violation_count; i++)
                if (str_equal(result->violations[i].kind, "processes"))
                        return true;
        return false;
}

static void timeout_message(struct result *result, const struct limits *limits)
{
        char text[UNITS_TEXT_MAX];
        const char *after = units_format_duration(limits->timeout_ms, text);

        if (was_refused_processes(result))
                (void)result_set_message(result,
                                         "Code execution timed out after %s; its limit of %llu "
                                         "processes and threads was reached meanwhile",
                                         after, (unsigned long long)limits->processes);
        else
                (void)result_set_message(result, "Code execution timed out after %s", after);
}

void message_compose(struct passage *passage)
{
        struct result *result = passage->result;
        const struct limits *limits = &passage->policy.limits;
        char text[UNITS_TEXT_MAX];

        if (result->fuel.is_used && result->run.outcome == OUTCOME_COMPILE_ERROR)
                return; /* a module: the engine said why */
        if (deps_compose(result))
                return;
        switch (result->run.outcome) {
        case OUTCOME_TIMEOUT:
                timeout_message(result, limits);
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
                if (!error_message(passage, &result->run, false))
                        (void)result_set_message(result, "The program exited with code %d",
                                                 result->run.exit_code);
                break;
        case OUTCOME_CANCELLED:
                (void)result_set_message(result, "The run was cancelled");
                break;
        case OUTCOME_FUEL_EXHAUSTED:
                (void)result_set_message(result, "Fuel of %llu instructions used up",
                                         (unsigned long long)limits->fuel);
                break;
        case OUTCOME_COMPILE_ERROR:
                compile_message(passage);
                break;
        default:
                break; /* well, or said where it was found */
        }
}
