#include "engine/case_verdict.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *verdict_of(enum outcome outcome)
{
        static const char *const verdicts[OUTCOME_COUNT] = {
                [OUTCOME_OK] = "accepted",
                [OUTCOME_FAILED] = "runtime_error",
                [OUTCOME_SIGNALED] = "runtime_error",
                [OUTCOME_TIMEOUT] = "timeout",
                [OUTCOME_CPU_LIMIT] = "timeout",
                [OUTCOME_FUEL_EXHAUSTED] = "timeout",
        };

        return verdicts[outcome] ? verdicts[outcome] : outcome_name(outcome);
}

/* Sets the words of a verdict. */
static int say(struct result_case *verdict, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static int say(struct result_case *verdict, const char *format, ...)
{
        char text[640];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args); /* cut is fine */
        va_end(args);
        text[str_utf8_complete(text, strlen(text))] = '\0';
        mem_free(verdict->message);
        verdict->message = mem_strdup(text);
        return verdict->message ? 0 : SBX_ENOMEM;
}

static int tell_difference(struct result_case *verdict, const struct difference *difference)
{
        verdict->verdict = "wrong_answer";
        verdict->difference_line = difference->line;
        verdict->expected = difference->expected_ended ? NULL : mem_strdup(difference->expected);
        verdict->got = difference->got_ended ? NULL : mem_strdup(difference->got);
        if ((!verdict->expected && !difference->expected_ended) ||
            (!verdict->got && !difference->got_ended))
                return SBX_ENOMEM;
        if (difference->expected_ended)
                return say(verdict, "line %zu: expected no more output, got '%s'", difference->line,
                           difference->got);
        if (difference->got_ended)
                return say(verdict, "line %zu: expected '%s', the output ended", difference->line,
                           difference->expected);
        return say(verdict, "line %zu: expected '%s', got '%s'", difference->line,
                   difference->expected, difference->got);
}

/* The program has exited by itself: was it right? */
static int judge(struct result_case *verdict, const struct test_case *one,
                 const struct result *result)
{
        const struct result_stream *out = &result->run.out;
        struct difference difference;

        if (result->run.exit_code != one->exit_code) {
                verdict->verdict = result->run.exit_code ? "runtime_error" : "wrong_answer";
                return one->exit_code ? say(verdict, "exit code %d, expected %d",
                                            result->run.exit_code, one->exit_code)
                                      : 0;
        }
        verdict->verdict = "accepted";
        mem_free(TAKE(verdict->message)); /* "exited with code 3" is what was wanted */
        if (!one->expected.data)
                return 0;
        if (out->truncated) {
                verdict->verdict = "output_limit";
                return say(verdict, "The output is larger than its limit and was not compared");
        }
        if (compare_output(one->mode, one->tolerance, one->expected.data, one->expected.length,
                           out->kept.data ? out->kept.data : "", out->kept.length, &difference))
                return 0;
        return tell_difference(verdict, &difference);
}

/* The beginning of what a stream kept. */
static int take_excerpt(struct result_stream *to, const struct result_stream *from)
{
        size_t length = from->kept.length;

        if (length > RESULT_CASE_EXCERPT)
                length = RESULT_CASE_EXCERPT;
        strbuf_add(&to->kept, from->kept.data ? from->kept.data : "", length);
        to->bytes = from->bytes;
        to->truncated = from->truncated || length < from->kept.length;
        return to->kept.failed ? SBX_ENOMEM : 0;
}

int verdict_fill(struct result_case *verdict, const struct test_case *one,
                 const struct result *result, struct error *err)
{
        int r;

        verdict->outcome = result->run.outcome;
        verdict->verdict = verdict_of(verdict->outcome);
        verdict->exit_code = result->run.exit_code;
        verdict->signal = result->run.signal;
        verdict->usage = result->run.usage;
        verdict->message = mem_strdup(result->message);
        r = result->message && !verdict->message ? SBX_ENOMEM : 0;
        if (r == 0)
                r = take_excerpt(&verdict->out, &result->run.out);
        if (r == 0)
                r = take_excerpt(&verdict->err, &result->run.err);
        if (r == 0 && (verdict->outcome == OUTCOME_OK || verdict->outcome == OUTCOME_FAILED))
                r = judge(verdict, one, result);
        return r < 0 ? error_set_nomem(err) : 0;
}

int verdict_not_run(struct result_case *verdict, enum outcome fate, const char *message,
                    struct error *err)
{
        verdict->outcome = fate;
        verdict->verdict = verdict_of(fate);
        verdict->message = mem_strdup(message);
        return message && !verdict->message ? error_set_nomem(err) : 0;
}
