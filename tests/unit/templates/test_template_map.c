#include "template_bench.h"

/* A program of eight lines: 1 template, 2 to 4 code, 5 template, 6 and 7 tests (indented), 8
 * template. */
struct bench {
        struct template *template;
        struct template_use use;
        struct expansion expansion;
};

static const char *const syntax_errors[] = { "SyntaxError", NULL };

static int set_up(void **state)
{
        struct bench *bench = mem_alloc(sizeof(*bench));

        bench->template = load_good("one\n{{code}}\nfive\n    {{tests}}\neight\n", "unit.py");
        set_good(&bench->use, "tests", "t1\nt2\n");
        bench->expansion = expand_good(bench->template, &bench->use, "c1\nc2\nc3\n", "python");
        assert_int_equal(bench->expansion.lines, 9);
        *state = bench;
        return 0;
}

static int tear_down(void **state)
{
        struct bench *bench = *state;

        expansion_done(&bench->expansion);
        template_use_done(&bench->use);
        template_free(bench->template);
        mem_free(bench);
        return 0;
}

/* Feeds the text in pieces of `piece` bytes. */
static char *map_in_pieces(const struct bench *bench, const char *file, const char *text,
                           size_t piece)
{
        struct strbuf out = { 0 };
        struct line_mapper mapper;
        size_t length = strlen(text);

        mapper_init(&mapper, &bench->expansion, file, syntax_errors);
        for (size_t at = 0; at < length; at += piece)
                mapper_feed(&mapper, text + at, length - at < piece ? length - at : piece, &out);
        mapper_end(&mapper, &out);
        mapper_done(&mapper);
        return strbuf_take(&out);
}

static void check(const struct bench *bench, const char *file, const char *text,
                  const char *expected)
{
        static const size_t pieces[] = { 1, 7, 1000 };

        for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
                AUTO_FREE char *mapped = map_in_pieces(bench, file, text, pieces[i]);

                assert_string_equal(mapped, expected);
        }
}

static void a_line_of_the_code_gets_its_number(void **state)
{
        static const struct {
                const char *file, *text, *expected;
        } table[] = {
                { "main.py", "  File \"/code/main.py\", line 3, in f\n",
                  "  File \"/code/main.py\", line 2, in f\n" },
                { "main.py", "bad (main.py, line 4)", "bad (main.py, line 3)" },
                { "main.js", "/code/main.js:2:9\n", "/code/main.js:1:9\n" },
                { "main.js", "  at f (/code/main.js:2:9) at file:///code/main.js:3:1\n",
                  "  at f (/code/main.js:1:9) at file:///code/main.js:2:1\n" },
                { "main.c", "main.c:4:1: error: main.c:3\n", "main.c:3:1: error: main.c:2\n" },
                { "main.go", "./main.go:2:1: x\n", "./main.go:1:1: x\n" },
                { "main.sh", "/code/main.sh: line 2: x\n", "/code/main.sh: line 1: x\n" },
                { "main.sh", "/code/main.sh: 2: x\n", "/code/main.sh: 1: x\n" },
                { "main.pl", "died at /code/main.pl line 3.\n", "died at /code/main.pl line 2.\n" },
                { "main.php", "in /code/main.php on line 2\n", "in /code/main.php on line 1\n" },
                { "main.ts", "main.ts(2,5): error\n", "main.ts(1,5): error\n" },
                { "Main.java", "\tat Main.main(Main.java:3)\n", "\tat Main.main(Main.java:2)\n" },
                { "main.py", "/tmp/sandbox-x/code/main.py:2\n", "/tmp/sandbox-x/code/main.py:1\n" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                check(*state, table[i].file, table[i].text, table[i].expected);
}

static void a_line_of_the_template_or_of_a_value_is_said_to_be_one(void **state)
{
        static const struct {
                const char *text, *expected;
        } table[] = {
                { "File \"/code/main.py\", line 8, in x\n",
                  "File \"/code/main.py\", line 5 of template unit, in x\n" },
                { "File \"/code/main.py\", line 7, in x\n",
                  "File \"/code/main.py\", line 2 of tests, in x\n" },
                { "at (/code/main.py:1:2)\n", "at (template unit:1:2)\n" },
                { "/code/main.py:7:9: x\n", "tests:2:5: x\n" },
                { "/code/main.py:7:3: x\n", "tests:2:3: x\n" }, /* within the indentation */
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                check(*state, "main.py", table[i].text, table[i].expected);
}

static void what_is_no_place_stays_as_it_is(void **state)
{
        static const char *const same[] = {
                "",
                "\n",
                "main.py\n",
                "main.py:\n",
                "main.py: 3 apples\n",
                "main.py:0\n",
                "main.py:10\n",
                "main.py:99999999999999999999\n",
                "main.py:4294967299:1\n",
                "domain.py:3\n",
                "main.pyx:3\n",
                "/usr/lib/main.py:3\n",
                "../main.py:3\n",
                "File \"/code/other.py\", line 3\n",
                "error on line 3\n",
                " 3 | x\n",
                "\xff\xfe main.p\n",
        };

        for (size_t i = 0; i < ARRAY_SIZE(same); i++)
                check(*state, "main.py", same[i], same[i]);
}

static void quoted_lines_after_a_place_are_numbered_anew(void **state)
{
        check(*state, "main.c",
              "main.c:3:1: error\n    3 | int x;\n      | ^\n    4 | y\nnote\n    3 | z\n",
              "main.c:2:1: error\n    2 | int x;\n      | ^\n    3 | y\nnote\n    3 | z\n");
}

static void a_message_about_syntax_may_speak_of_lines_alone(void **state)
{
        check(*state, "main.py", "SyntaxError: '(' was opened on line 3\n",
              "SyntaxError: '(' was opened on line 2\n");
        check(*state, "main.py", "SyntaxError: block after 'if' on line 8\n",
              "SyntaxError: block after 'if' on line 5 of template unit\n");
        check(*state, "main.py", "ValueError: bad data on line 3\n",
              "ValueError: bad data on line 3\n");
}

static void a_line_without_end_passes_and_is_bounded(void **state)
{
        const struct bench *bench = *state;
        size_t length = 3 * MAPPER_LINE_MAX;
        AUTO_FREE char *text = mem_alloc(length + 64);
        AUTO_STRBUF struct strbuf out = { 0 };
        struct line_mapper mapper;

        memset(text, 'x', length);
        mapper_init(&mapper, &bench->expansion, "main.py", syntax_errors);
        for (size_t i = 0; i < length; i += 1000) {
                mapper_feed(&mapper, text + i, length - i < 1000 ? length - i : 1000, &out);
                assert_true(mapper.held.length <= MAPPER_LINE_MAX + 1000);
        }
        assert_int_equal(out.length, length);
        mapper_feed(&mapper, "main.py:3\nmain.py:3\n", 20, &out);
        assert_string_equal(out.data + length, "main.py:3\nmain.py:2\n");
        mapper_end(&mapper, &out);
        mapper_done(&mapper);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_line_of_the_code_gets_its_number),
                cmocka_unit_test(a_line_of_the_template_or_of_a_value_is_said_to_be_one),
                cmocka_unit_test(what_is_no_place_stays_as_it_is),
                cmocka_unit_test(quoted_lines_after_a_place_are_numbered_anew),
                cmocka_unit_test(a_message_about_syntax_may_speak_of_lines_alone),
                cmocka_unit_test(a_line_without_end_passes_and_is_bounded),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
