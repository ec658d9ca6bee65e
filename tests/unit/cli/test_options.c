/* The parser of the command line, over a table of each kind of option. */
#include "unit.h"
#include "base/mem.h"
#include "cli/options.h"

static int note_value(const struct option *option, const char *value, void *target,
                      struct error *err)
{
        struct strbuf *seen = target;

        if (strcmp(value, "bad") == 0)
                return error_set(err, SBX_EINVAL, "it is bad");
        strbuf_addf(seen, "%s=%s;", option->key, value);
        return 0;
}

static const struct option table[] = {
        OPTION_HEADING("First things"),
        { "lang", 'l', "NAME", false, false, "the language", note_value, "language" },
        { "code", 'c', "TEXT", false, true, "the code", NULL, NULL },
        { "env", 'e', "K=V", true, false, "a variable", note_value, "env" },
        { "json", 0, NULL, false, false, "as JSON", NULL, NULL },
        { "quiet", 'q', NULL, false, false, "say less", NULL, NULL },
        { "timeout", 't', "T", false, false, "the time", note_value, "timeout" },
        OPTION_HELP,
        OPTION_END,
};

enum { WORDS_MAX = 16 };

/* Parses NULL-terminated words. */
static int parse(struct options *options, const char *const *words, struct error *err)
{
        static char *argv[WORDS_MAX];
        int argc = 0;

        *options = (struct options){ 0 };
        for (; words[argc]; argc++)
                argv[argc] = (char *)(uintptr_t)words[argc];
        return options_parse(options, table, argc, argv, err);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void refuses(const char *const *words, const char *message, const char *hint)
{
        AUTO_OPTIONS struct options options = { 0 };
        struct error err = { 0 };

        assert_int_equal(parse(&options, words, &err), SBX_EINVAL);
        assert_has(err.message, message);
        assert_lacks(err.message, "\n");
        if (hint)
                assert_has(err.hint, hint);
}

static void values_come_in_every_usual_spelling(void **state)
{
        const char *const *const spellings[] = {
                WORDS("--lang", "python"),
                WORDS("--lang=python"),
                WORDS("-l", "python"),
                WORDS("-lpython"),
        };

        for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
                AUTO_OPTIONS struct options options = { 0 };

                assert_int_equal(parse(&options, spellings[i], NULL), 0);
                assert_int_equal(options.use_count, 1);
                assert_string_equal(options_value(&options, "lang"), "python");
                assert_int_equal(options.word_count, 0);
        }
}

static void a_value_may_hold_what_looks_like_syntax(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };

        assert_int_equal(
                parse(&options, WORDS("--env=A=b=c", "-e", "-x", "-c-l", "--lang", "--json"), NULL),
                0);
        assert_string_equal(options.uses[0].value, "A=b=c");
        assert_string_equal(options.uses[1].value, "-x");
        assert_string_equal(options_value(&options, "code"), "-l");
        assert_string_equal(options_value(&options, "lang"), "--json");
        assert_false(options_given(&options, "json"));
}

static void words_and_options_may_be_mixed(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };

        assert_int_equal(parse(&options, WORDS("one", "-q", "-", "", "--json", "two"), NULL), 0);
        assert_int_equal(options.word_count, 4);
        assert_string_equal(options.words[0], "one");
        assert_string_equal(options.words[1], "-");
        assert_string_equal(options.words[2], "");
        assert_string_equal(options.words[3], "two");
        assert_true(options_given(&options, "quiet"));
        assert_true(options_given(&options, "json"));
        assert_false(options.rest_given);
}

static void all_after_two_dashes_is_the_programs(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };

        assert_int_equal(parse(&options, WORDS("-q", "--", "--json", "--", "-x", ""), NULL), 0);
        assert_true(options.rest_given);
        assert_int_equal(options.rest_count, 4);
        assert_string_equal(options.rest[0], "--json");
        assert_string_equal(options.rest[1], "--");
        assert_string_equal(options.rest[3], "");
        assert_false(options_given(&options, "json"));
        options_done(&options);
        assert_int_equal(parse(&options, WORDS("--"), NULL), 0);
        assert_true(options.rest_given);
        assert_int_equal(options.rest_count, 0);
}

static void unknown_options_are_refused_with_the_nearest(void **state)
{
        refuses(WORDS("--timeot", "2"), "unknown option '--timeot'", "--timeout");
        refuses(WORDS("--timeou=2"), "unknown option '--timeou'", "--timeout");
        refuses(WORDS("--jso"), "'--jso'", "--json");
        refuses(WORDS("--xyzzy"), "'--xyzzy'", "--help lists");
        refuses(WORDS("-x"), "'-x'", "--help lists");
        refuses(WORDS("-Q"), "'-Q'", NULL);
        refuses(WORDS("---json"), "'---json'", NULL);
        refuses(WORDS("--=x"), "'--'", NULL);
        refuses(WORDS("--\x1b[31m\n"), "unknown option", NULL);
        refuses(WORDS("--First things"), "unknown option", NULL);
}

static void names_are_not_abbreviated(void **state)
{
        refuses(WORDS("--time", "2"), "unknown option '--time'", "--timeout");
        refuses(WORDS("--lan=c"), "unknown option '--lan'", "--lang");
}

static void a_long_unknown_name_is_cut_short(void **state)
{
        char word[5000] = "--";

        memset(word + 2, 'x', sizeof(word) - 3);
        word[sizeof(word) - 1] = '\0';
        refuses(WORDS(word), "unknown option '--xxx", "--help");
}

static void once_is_enough(void **state)
{
        refuses(WORDS("-l", "c", "--lang", "python"), "option '--lang': given twice", NULL);
        refuses(WORDS("--json", "--json"), "option '--json': given twice", NULL);
        refuses(WORDS("-q", "--quiet"), "option '--quiet': given twice", NULL);
}

static void what_may_be_repeated_keeps_its_order(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };

        assert_int_equal(parse(&options, WORDS("-e", "A=1", "--env=B=2", "-eA=3"), NULL), 0);
        assert_int_equal(options.use_count, 3);
        assert_string_equal(options.uses[0].value, "A=1");
        assert_string_equal(options.uses[2].value, "A=3");
        assert_string_equal(options_value(&options, "env"), "A=3");
}

static void a_forgotten_value_is_refused(void **state)
{
        refuses(WORDS("--lang"), "option '--lang': needs a value", "--lang NAME");
        refuses(WORDS("-t"), "option '--timeout': needs a value", "--timeout T");
        refuses(WORDS("-t", "--", "x"), "option '--timeout': needs a value", NULL);
}

static void an_empty_value_is_refused_unless_it_means_something(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };

        refuses(WORDS("--lang", ""), "option '--lang': the value is empty", "--lang NAME");
        refuses(WORDS("--lang="), "option '--lang': the value is empty", NULL);
        refuses(WORDS("-t", ""), "option '--timeout': the value is empty", NULL);
        assert_int_equal(parse(&options, WORDS("--code="), NULL), 0);
        assert_string_equal(options_value(&options, "code"), "");
}

static void a_flag_takes_no_value(void **state)
{
        refuses(WORDS("--json=yes"), "option '--json': takes no value", NULL);
        refuses(WORDS("--json="), "option '--json': takes no value", NULL);
        refuses(WORDS("-qx"), "option '--quiet': takes no value", NULL);
}

static void help_is_had_with_anything_after_it(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };

        assert_int_equal(parse(&options, WORDS("-q", "--help", "--no-such", "-t"), NULL), 0);
        assert_true(options_given(&options, "help"));
        options_done(&options);
        refuses(WORDS("--no-such", "--help"), "unknown option", NULL);
}

static void applying_goes_in_order_and_names_what_failed(void **state)
{
        AUTO_OPTIONS struct options options = { 0 };
        AUTO_STRBUF struct strbuf seen = { 0 };
        struct error err = { 0 };

        assert_int_equal(parse(&options, WORDS("-e", "A=1", "-q", "-lc", "-e", "B=2"), NULL), 0);
        assert_int_equal(options_apply(&options, &seen, &err), 0);
        assert_string_equal(seen.data, "env=A=1;language=c;env=B=2;");
        options_done(&options);
        assert_int_equal(parse(&options, WORDS("-t", "bad"), NULL), 0);
        assert_int_equal(options_apply(&options, &seen, &err), SBX_EINVAL);
        assert_string_equal(err.message, "option '--timeout': it is bad");
}

static void the_help_lists_every_option(void **state)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        options_help(table, &out);
        for (const struct option *option = table; option->help; option++) {
                assert_has(out.data, option->help);
                if (option->name)
                        assert_has(out.data, option->name);
        }
}

static void parsing_survives_every_failing_allocation(void **state)
{
        int r = SBX_ENOMEM, n = 0;

        for (; r != 0 && n < 100; n++) {
                AUTO_OPTIONS struct options options = { 0 };

                mem_fail_after((uint64_t)n);
                r = parse(&options, WORDS("-q", "word", "-e", "A=1", "--", "rest"), NULL);
                mem_fail_after(UINT64_MAX);
                assert_true(r == 0 || r == SBX_ENOMEM);
        }
        assert_int_equal(r, 0);
        assert_true(n > 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_come_in_every_usual_spelling),
                cmocka_unit_test(a_value_may_hold_what_looks_like_syntax),
                cmocka_unit_test(words_and_options_may_be_mixed),
                cmocka_unit_test(all_after_two_dashes_is_the_programs),
                cmocka_unit_test(unknown_options_are_refused_with_the_nearest),
                cmocka_unit_test(names_are_not_abbreviated),
                cmocka_unit_test(a_long_unknown_name_is_cut_short),
                cmocka_unit_test(once_is_enough),
                cmocka_unit_test(what_may_be_repeated_keeps_its_order),
                cmocka_unit_test(a_forgotten_value_is_refused),
                cmocka_unit_test(an_empty_value_is_refused_unless_it_means_something),
                cmocka_unit_test(a_flag_takes_no_value),
                cmocka_unit_test(help_is_had_with_anything_after_it),
                cmocka_unit_test(applying_goes_in_order_and_names_what_failed),
                cmocka_unit_test(the_help_lists_every_option),
                cmocka_unit_test(parsing_survives_every_failing_allocation),
        };

        return RUN(tests);
}
