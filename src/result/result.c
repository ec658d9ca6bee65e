#include "result/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const outcome_names[OUTCOME_COUNT] = {
#define X(id, name) [OUTCOME_##id] = name,
#include "result/outcomes.def"
#undef X
};

const char *outcome_name(enum outcome outcome)
{
        return (unsigned)outcome < OUTCOME_COUNT ? outcome_names[outcome] : "internal_error";
}

struct result *result_new(void)
{
        struct result *result = mem_alloc(sizeof(*result));

        if (!result)
                return NULL;
        if (clock_ulid(result->id) < 0) {
                mem_free(result);
                return NULL;
        }
        (void)clock_stamp(result->started_at);
        result->run.exit_code = result->compile.exit_code = result->deps.exit_code = -1;
        return result;
}

void result_step_done(struct result_step *step)
{
        strbuf_done(&step->out.kept);
        strbuf_done(&step->err.kept);
}

void result_free(struct result *result)
{
        if (!result)
                return;
        mem_free(result->name);
        mem_free(result->language);
        mem_free(result->title);
        mem_free(result->version);
        mem_free(result->message);
        mem_free(result->analysis);
        mem_free(result->hint);
        mem_free(result->fallback);
        mem_free(result->template_name);
        result_cases_free(result->cases, result->case_count);
        result_step_done(&result->run);
        result_step_done(&result->deps);
        result_step_done(&result->compile);
        strlist_done(&result->created);
        strlist_done(&result->modified);
        strlist_done(&result->deleted);
        strlist_done(&result->collected);
        mem_free(result);
}

int result_set_message(struct result *result, const char *format, ...)
{
        va_list args;
        char *message;
        int length;

        va_start(args, format);
        length = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (length < 0)
                return SBX_EINVAL;
        message = mem_alloc((size_t)length + 1);
        if (!message)
                return SBX_ENOMEM;
        va_start(args, format);
        (void)vsnprintf(message, (size_t)length + 1, format, args); /* measured above */
        va_end(args);
        mem_free(result->message);
        result->message = message;
        return 0;
}

/* Fixed buffers cut what is too long, and never inside of a character. */
static void end_at_character(char *text)
{
        text[str_utf8_complete(text, strlen(text))] = '\0';
}

static void copy_cut(char *to, size_t size, const char *from)
{
        (void)snprintf(to, size, "%s", from ? from : "");
        end_at_character(to);
}

void result_set_protection(struct result *result, enum protection id, enum protection_state state,
                           const char *by, const char *detail_format, ...)
{
        struct result_protection *protection = &result->protections[id];
        va_list args;

        protection->state = state;
        protection->by = by;
        protection->detail[0] = '\0';
        if (!detail_format)
                return;
        va_start(args, detail_format);
        (void)vsnprintf(protection->detail, sizeof(protection->detail), detail_format, args);
        va_end(args);
        end_at_character(protection->detail);
}

/* What a program can do in many ways leaves room for the limit that ends it. */
static size_t violations_max(const char *kind)
{
        enum { ATTEMPTS_MAX = 16 };

        return str_equal(kind, "network") || str_equal(kind, "analysis") ? ATTEMPTS_MAX
                                                                         : RESULT_VIOLATIONS_MAX;
}

void result_add_violation(struct result *result, const char *kind, const char *what,
                          const char *why, uint64_t count)
{
        struct result_violation added = { .count = count };

        copy_cut(added.kind, sizeof(added.kind), kind);
        copy_cut(added.what, sizeof(added.what), what);
        copy_cut(added.why, sizeof(added.why), why);
        for (size_t i = 0; i < result->violation_count; i++) {
                struct result_violation *known = &result->violations[i];

                if (str_equal(known->kind, added.kind) && str_equal(known->what, added.what)) {
                        known->count += count;
                        return;
                }
        }
        if (result->violation_count < violations_max(kind))
                result->violations[result->violation_count++] = added;
}

/* ---- exit code ---- */

enum { EXIT_OWN = -1, EXIT_COMPILER = -2 };

static const int exit_codes[OUTCOME_COUNT] = {
        [OUTCOME_OK] = EXIT_OWN,
        [OUTCOME_FAILED] = EXIT_OWN,
        [OUTCOME_SIGNALED] = EXIT_OWN,
        [OUTCOME_TIMEOUT] = 124,
        [OUTCOME_CPU_LIMIT] = 124,
        [OUTCOME_MEMORY_LIMIT] = 137,
        [OUTCOME_PROCESS_LIMIT] = EXIT_OWN,
        [OUTCOME_DISK_LIMIT] = EXIT_OWN,
        [OUTCOME_OUTPUT_LIMIT] = EXIT_OWN,
        [OUTCOME_FUEL_EXHAUSTED] = 124,
        [OUTCOME_COMPILE_ERROR] = EXIT_COMPILER,
        [OUTCOME_BLOCKED] = 126,
        [OUTCOME_REFUSED] = 125,
        [OUTCOME_CANCELLED] = 130,
        [OUTCOME_INTERNAL_ERROR] = 125,
};

/* As a shell tells it. `otherwise` stands for a step that neither exited nor died of a signal. */
static int step_exit_code(const struct result_step *step, int otherwise)
{
        if (step->signal > 0)
                return (128 + step->signal) & 255;
        return step->exit_code >= 0 ? step->exit_code & 255 : otherwise;
}

int result_process_exit_code(const struct result *result)
{
        enum { KILLED = 128 + 9, COMPILER_FAILED = 1 };
        int code;

        if ((unsigned)result->run.outcome >= OUTCOME_COUNT)
                return exit_codes[OUTCOME_INTERNAL_ERROR];
        code = exit_codes[result->run.outcome];
        if (code >= 0)
                return code;
        if (result->case_count) /* whatever the single programs gave */
                return result->run.outcome == OUTCOME_OK ? 0 : 1;
        if (code == EXIT_OWN)
                return step_exit_code(&result->run, result->run.outcome == OUTCOME_OK ? 0 : KILLED);
        /* A failed compilation, or installation, is never told as a success, whatever the compiler
         * says. */
        code = step_exit_code(result->compiled ? &result->compile : &result->deps, COMPILER_FAILED);
        return code ? code : COMPILER_FAILED;
}
