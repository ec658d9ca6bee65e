/*
 * A cases file from foreign bytes, and, when it loads, every way of comparing each expected output
 * with the first input: a difference must have a line and be short, printable text, and an output
 * is always equal to itself.
 */
#include "base/str.h"
#include "cases/cases.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s\n", what);
        abort();
}

static void check_text(const char *text)
{
        size_t length = strlen(text);

        require(length < DIFFERENCE_TEXT_MAX, "a long difference");
        require(str_is_utf8(text, length), "a difference that is no text");
        for (size_t i = 0; i < length; i++)
                require((unsigned char)text[i] >= 0x20 && text[i] != 0x7f, "a control byte");
}

static void check_comparison(enum compare_mode mode, double tolerance, const struct case_part *a,
                             const struct case_part *b)
{
        const char *x = a->data ? a->data : "", *y = b->data ? b->data : "";
        struct difference difference = { 0 };

        require(compare_output(mode, tolerance, x, a->length, x, a->length, &difference),
                "it differs from itself");
        if (compare_output(mode, tolerance, x, a->length, y, b->length, &difference))
                return;
        require(difference.line >= 1, "a difference without line");
        require(!(difference.expected_ended && difference.got_ended), "nothing on either side");
        check_text(difference.expected);
        check_text(difference.got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cases *cases = NULL;
        struct error err = { 0 };
        int r = cases_load((const char *)data, size, "fuzz", &cases, &err);

        if (r < 0) {
                require(r == SBX_EINVAL && str_has_prefix(err.message, "fuzz") &&
                                !strchr(err.message, '\n'),
                        "an error of another kind");
                return 0;
        }
        for (size_t i = 0; i < cases->count; i++) {
                const struct test_case *one = &cases->items[i];

                require(one->tolerance >= 0 && one->exit_code >= 0, "a number out of range");
                for (int mode = 0; mode < COMPARE_COUNT; mode++)
                        check_comparison((enum compare_mode)mode, one->tolerance, &one->expected,
                                         &cases->items[0].stdin_part);
        }
        cases_free(cases);
        return 0;
}
