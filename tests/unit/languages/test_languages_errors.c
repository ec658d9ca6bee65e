/* What a tool said is wrong, found by patterns. */
#include "unit.h"
#include "base/mem.h"
#include "base/str.h"
#include "languages/languages_errors.h"

static const char *const nothing[] = { NULL };

struct patterns {
        const char *syntax[3], *compile[3], *lines[3];
};

static bool find(const struct patterns *patterns, const char *output, bool compiling,
                 struct language_error *error)
{
        struct language language = {
                .syntax_errors = patterns->syntax[0] ? patterns->syntax : nothing,
                .compile_errors = patterns->compile[0] ? patterns->compile : nothing,
                .error_lines = patterns->lines[0] ? patterns->lines : nothing,
        };

        return language_find_error(&language, output, compiling, error);
}

static void assert_sentence(const struct patterns *patterns, const char *output,
                            const char *sentence, const char *line)
{
        struct language_error error;

        assert_true(find(patterns, output, true, &error));
        assert_string_equal(error.sentence, sentence);
        assert_string_equal(error.line, line);
}

static void the_sentence_and_the_line_stand_in_one_line(void **state)
{
        static const struct patterns p = { .syntax = { "{*}:{line}:{#}: error: {text}" } };

        assert_sentence(&p, "main.c: In function 'f':\nmain.c:12:7: error: expected ';'.\nmore\n",
                        "expected ';'", "12");
}

static void a_line_of_a_template_says_so(void **state)
{
        static const struct patterns p = { .syntax = { "{*}:{line}:{#}: {text}" } };

        assert_sentence(&p, "# main\ntemplate wrap:5:2: wrong\n", "wrong", "5 of template wrap");
        assert_sentence(&p, "template.go:5:2: wrong\n", "wrong", "5");
        assert_sentence(&p, "template a\033b:5:2: wrong\n", "wrong", "5");
}

static void what_must_stand_in_the_sentence_is_part_of_it(void **state)
{
        static const struct patterns p = { .syntax = {
                                                   "{*}:{line}: {text}{*} expected{*}{/text}" } };
        struct language_error error;

        assert_sentence(&p, "A.java:3: ';' expected\n", "';' expected", "3");
        assert_sentence(&p, "A.java:3: ';' expected here", "';' expected here", "3");
        assert_false(find(&p, "A.java:3: cannot find symbol\n", true, &error));
}

static void the_line_before_is_nearer_than_the_line_after(void **state)
{
        static const struct patterns p = { .syntax = { "Error: {text}" },
                                           .lines = { "at {line}", "{*}--> {*}:{line}:{#}" } };

        assert_sentence(&p, "at 1\nat 2\ncode\nError: wrong\nat 9\n", "wrong", "2");
        assert_sentence(&p, "at 3 of tests, in f\nError: wrong\n", "wrong", "3 of tests");
        assert_sentence(&p, "Error: wrong\n  --> main.rs:7:1\n  --> main.rs:8:1\n", "wrong", "7");
}

static void a_syntax_error_without_a_line_is_none_of_the_codes(void **state)
{
        static const struct patterns p = { .syntax = { "SyntaxError: {text}" },
                                           .lines = { "/{*}:{line}" } };
        struct language_error error;

        assert_false(find(&p, "<anonymous>:1\n\nSyntaxError: in JSON\n", false, &error));
        assert_sentence(&p, "/code/main.js:4\n\nSyntaxError: odd\n", "odd", "4");
}

static void a_syntax_error_comes_before_other_errors(void **state)
{
        static const struct patterns p = { .syntax = { "{line}: syntax error: {text}" },
                                           .compile = { "{line}: {text}" } };
        struct language_error error;

        assert_true(find(&p, "1: odd\n2: syntax error: odder\n", true, &error));
        assert_true(error.is_syntax);
        assert_string_equal(error.sentence, "odder");
        assert_true(find(&p, "1: odd\n", true, &error));
        assert_false(error.is_syntax);
        assert_false(find(&p, "1: odd\n", false, &error)); /* a program's words are no compiler's */
}

static void an_earlier_pattern_wins_over_an_earlier_line(void **state)
{
        static const struct patterns p = { .compile = { "{line}: error: {text}",
                                                        "{line}: {text}" } };

        assert_sentence(&p, "1: note\n2: error: wrong\n", "wrong", "2");
}

static void a_sentence_is_bounded_and_clean(void **state)
{
        static const struct patterns p = { .compile = { "E {text}" } };
        AUTO_STRBUF struct strbuf output = { 0 };
        struct language_error error;

        strbuf_adds(&output, "E a\x1b[1m\t");
        for (int i = 0; i < 1000; i++)
                strbuf_adds(&output, "\xc3\xa4");
        assert_true(find(&p, output.data, true, &error));
        assert_true(strlen(error.sentence) < LANGUAGE_SENTENCE_MAX);
        assert_true(str_is_utf8(error.sentence, strlen(error.sentence)));
        assert_null(strchr(error.sentence, '\x1b'));
}

/* Would take longer than anybody waits if every way to fit were tried. */
static void a_line_made_to_fit_in_many_ways_ends(void **state)
{
        static const struct patterns p = { .syntax = { "{*}: {*}: {*}: {*}:{line}: {text}near!" } };
        AUTO_STRBUF struct strbuf output = { 0 };
        struct language_error error;

        for (int i = 0; i < 100000; i++)
                strbuf_adds(&output, i % 600 == 599 ? "\n" : ": ");
        assert_false(find(&p, output.data, false, &error));
}

/* Each could have its line anywhere in the output, which has none: looking through all of it for
 * each would take hours. */
static void many_sentences_without_a_line_end(void **state)
{
        static const struct patterns p = { .syntax = { "SyntaxError: {text}" },
                                           .lines = { "{*}, line {line}" } };
        AUTO_STRBUF struct strbuf output = { 0 };
        struct language_error error;

        for (int i = 0; i < 70000; i++)
                strbuf_adds(&output, "SyntaxError: x\n");
        assert_false(output.failed);
        assert_false(find(&p, output.data, false, &error));
}

static void patterns_that_are_none_are_refused(void **state)
{
        assert_null(language_refuse_pattern("{*}:{line}: {text}", "{text}"));
        assert_null(language_refuse_pattern("a { b {text}c{/text}", "{text}"));
        assert_string_equal(language_refuse_pattern("SyntaxError", "{text}"), "must hold {text}");
        assert_string_equal(language_refuse_pattern("{text}", "{line}"), "must hold {line}");
        assert_string_equal(language_refuse_pattern("{txt}{text}", "{text}"),
                            "holds a word in braces that is no part of a pattern");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_sentence_and_the_line_stand_in_one_line),
                cmocka_unit_test(a_line_of_a_template_says_so),
                cmocka_unit_test(what_must_stand_in_the_sentence_is_part_of_it),
                cmocka_unit_test(the_line_before_is_nearer_than_the_line_after),
                cmocka_unit_test(a_syntax_error_without_a_line_is_none_of_the_codes),
                cmocka_unit_test(a_syntax_error_comes_before_other_errors),
                cmocka_unit_test(an_earlier_pattern_wins_over_an_earlier_line),
                cmocka_unit_test(a_sentence_is_bounded_and_clean),
                cmocka_unit_test(a_line_made_to_fit_in_many_ways_ends),
                cmocka_unit_test(many_sentences_without_a_line_end),
                cmocka_unit_test(patterns_that_are_none_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
