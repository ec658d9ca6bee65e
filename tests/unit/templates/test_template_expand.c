#include "template_bench.h"

static void code_is_put_in_and_lines_are_counted(void **state)
{
        struct template *t = load_good("first\n{{code}}\nlast\n", "t.py");
        struct expansion e = expand_good(t, NULL, "a\nb\n", "python");

        assert_string_equal(e.text.data, "first\na\nb\nlast\n");
        assert_int_equal(expansion_code_line(&e), 2);
        assert_int_equal(expansion_origin(&e, 1).source, -1);
        assert_int_equal(expansion_origin(&e, 2).source, 0);
        assert_int_equal(expansion_origin(&e, 2).line, 1);
        assert_int_equal(expansion_origin(&e, 3).line, 2);
        assert_int_equal(expansion_origin(&e, 4).source, -1);
        assert_int_equal(expansion_origin(&e, 4).line, 3);
        expansion_done(&e);
        template_free(t);
}

static void indentation_goes_before_every_line_but_empty_ones(void **state)
{
        struct template *t = load_good("def f():\n    {{code}}\nf()\n", "t.py");
        struct expansion e = expand_good(t, NULL, "if x:\n\n  y\n", "python");

        assert_string_equal(e.text.data, "def f():\n    if x:\n\n      y\nf()\n");
        assert_int_equal(expansion_origin(&e, 4).line, 3);
        assert_int_equal(expansion_origin(&e, 4).indent, 4);
        assert_int_equal(expansion_origin(&e, 5).source, -1);
        assert_int_equal(expansion_origin(&e, 5).line, 3);
        expansion_done(&e);
        template_free(t);
}

static void a_placeholder_within_a_line_is_put_in_as_it_is(void **state)
{
        struct template *t = load_good("  x = [{{ code }}];\ny\n", "t.js");
        struct expansion e = expand_good(t, NULL, "1,\n2\n", "javascript");

        assert_string_equal(e.text.data, "  x = [1,\n2\n];\ny\n");
        assert_int_equal(expansion_origin(&e, 1).source, 0);
        assert_int_equal(expansion_origin(&e, 2).line, 2);
        assert_int_equal(expansion_origin(&e, 4).source, -1);
        assert_int_equal(expansion_origin(&e, 4).line, 2);
        expansion_done(&e);
        template_free(t);
}

static void an_empty_value_leaves_its_line_to_the_template(void **state)
{
        struct template *t = load_good("a\n{{code}}\nb\n", "t.py");
        struct expansion e = expand_good(t, NULL, "", "python");

        assert_string_equal(e.text.data, "a\n\nb\n");
        assert_int_equal(expansion_origin(&e, 2).source, -1);
        assert_int_equal(expansion_origin(&e, 3).line, 3);
        assert_int_equal(expansion_code_line(&e), 0);
        expansion_done(&e);
        template_free(t);
}

static void what_only_looks_like_a_placeholder_is_text(void **state)
{
        struct template *t = load_good(
                "{{code}} {{}} {{ 1 }} {{-x}} {{a b}} { {code} } {{{{code}} {{code", "t.py");
        struct expansion e = expand_good(t, NULL, "C", "python");

        assert_int_equal(t->count, 1);
        assert_string_equal(e.text.data,
                            "C {{}} {{ 1 }} {{-x}} {{a b}} { {code} } {{code}} {{code");
        expansion_done(&e);
        template_free(t);
}

static void values_defaults_and_repeated_placeholders(void **state)
{
        struct template *t = load_good("placeholders:\n"
                                       "  who: { as: string, default: world }\n"
                                       "  n: 3\n"
                                       "  opt: { required: false }\n"
                                       "program: |\n"
                                       "  {{code}}\n"
                                       "  f({{who}}, {{who}}, {{n}}){{opt}}\n",
                                       "t.yaml");
        struct template_use use = { 0 };
        struct expansion e = expand_good(t, &use, "c", "python");

        assert_string_equal(e.text.data, "c\nf(\"world\", \"world\", 3)\n");
        expansion_done(&e);
        set_good(&use, "who", "a\"b");
        set_good(&use, "opt", "# end");
        e = expand_good(t, &use, "c", "python");
        assert_string_equal(e.text.data, "c\nf(\"a\\\"b\", \"a\\\"b\", 3)# end\n");
        expansion_done(&e);
        template_use_done(&use);
        template_free(t);
}

static void missing_and_unknown_values_are_named(void **state)
{
        struct template *t = load_good("{{code}} {{one}} {{two}} {{one}}", "t.py");
        struct template_use use = { 0 };
        struct expansion e = { 0 };
        struct error err = { 0 };

        assert_int_equal(template_expand(t, &use, "", 0, "python", &e, &err), SBX_EINVAL);
        assert_has(err.message, "template 't': no value for 'one', 'two'");
        assert_has(err.hint, "--set one=");
        set_good(&use, "three", "x");
        assert_int_equal(template_expand(t, &use, "", 0, "python", &e, &err), SBX_EINVAL);
        assert_has(err.message, "no placeholder 'three'");
        assert_has(err.hint, "one, two");
        template_use_done(&use);
        template_free(t);
}

static void bad_values_cannot_be_set(void **state)
{
        struct template_use use = { 0 };
        struct error err = { 0 };

        set_good(&use, "a", "1");
        assert_int_equal(template_use_set(&use, "a", "2", 1, &err), SBX_EINVAL);
        assert_has(err.message, "given twice");
        assert_int_equal(template_use_set(&use, "code", "2", 1, &err), SBX_EINVAL);
        assert_int_equal(template_use_set(&use, "", "2", 1, &err), SBX_EINVAL);
        assert_int_equal(template_use_set(&use, "1a", "2", 1, &err), SBX_EINVAL);
        assert_int_equal(template_use_set(&use, "a-b", "2", 1, &err), SBX_EINVAL);
        assert_int_equal(template_use_name(&use, "no-such", &err), SBX_EINVAL);
        assert_has(err.hint, "unittest (python)");
        template_use_done(&use);
}

static void a_broken_template_is_refused(void **state)
{
        static const struct {
                const char *text, *message;
        } refused[] = {
                { "name: x\n", "the key 'program' is missing" },
                { "program: no place\n", "t.yaml: the program has no place for the code" },
                { "program: '{{code}}'\nextra: 1\n", "t.yaml:2:" },
                { "program: '{{code}}'\ncode: '{{code}}'\n", "twice" },
                { "program: [a]\n", "must be a text, not a list" },
                { "program:\n", "must be a text, not null" },
                { "program: \"{{code}}\\0\"\n", "NUL" },
                { "- a\n", "must be a mapping, not a list" },
                { "program: '{{code}}'\nname: 'A b'\n", "'name' must be" },
                { "program: '{{code}}'\nplaceholders: [code]\n", "must be a mapping" },
                { "program: '{{code}}'\nplaceholders: {x: 1}\n", "'x' is described and not in" },
                { "program: '{{code}}'\nplaceholders: {1x: 1}\n", "cannot be a placeholder" },
                { "program: '{{code}}{{x}}'\nplaceholders: {x: {as: sql}}\n", "'as' is none" },
                { "program: '{{code}}{{x}}'\nplaceholders: {x: {is: sql}}\n", "unknown key 'is'" },
                { "program: '{{code}}{{x}}'\nplaceholders: {x: {required: 7}}\n", "true or false" },
                { "program: '{{code}}{{x}}'\nplaceholders: {x: {required: true, default: a}}\n",
                  "required and has a default" },
                { "program: '{{code}}{{x}}'\nplaceholders: {x: [a]}\n", "must be a mapping" },
                { "program: '{{code}}{{x}}'\nplaceholders: {x: {default: [a]}}\n", "not a list" },
                { "program: '{{code}}'\nplaceholders: {code: {as: json}}\n", "always put in" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                struct template *t = NULL;
                struct error err = { 0 };

                assert_int_equal(
                        template_load(refused[i].text, strlen(refused[i].text), "t.yaml", &t, &err),
                        SBX_EINVAL);
                assert_has(err.message, refused[i].message);
                assert_has(err.message, "t.yaml");
        }
}

static void every_builtin_template_loads_and_takes_code(void **state)
{
        size_t count = 0;

        for (const struct template_builtin *known = templates_builtin; known->name; known++) {
                struct template *t = load_good(known->text, "b.yaml");

                assert_string_equal(t->name, known->name);
                assert_string_equal(t->language, known->language);
                assert_non_null(t->description);
                assert_true(template_find(t, "code", 4) >= 0);
                template_free(t);
                count++;
        }
        assert_true(count >= 6);
}

static void strings_are_quoted_for_the_language(void **state)
{
        static const struct {
                const char *language, *value, *quoted;
        } table[] = {
                { "python",
                  "a\"b\\c\n\x01\x7f"
                  "0",
                  "\"a\\\"b\\\\c\\n\\x01\\x7f0\"" },
                { "javascript", "${x}`\xc3\xa9", "\"${x}`\xc3\xa9\"" },
                { "c", "?\?=\t8\"", "\"\\?\\?=\\0118\\\"\"" },
                { "java", "\\u0022", "\"\\\\u0022\"" },
                { "go", "\x01", "\"\\001\"" },
                { "ruby", "#{x}", "\"\\#{x}\"" },
                { "perl", "$x@y", "\"\\$x\\@y\"" },
                { "php", "{$x}", "\"{\\$x}\"" },
                { "lua",
                  "\x01"
                  "2",
                  "\"\\0012\"" },
                { "shell", "it's $x\n", "'it'\\''s $x\n'" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                AUTO_STRBUF struct strbuf out = { 0 };
                struct error err = { 0 };

                assert_int_equal(template_quote(TEMPLATE_STRING, table[i].language, table[i].value,
                                                strlen(table[i].value), &out, &err),
                                 0);
                assert_string_equal(out.data, table[i].quoted);
        }
}

static void json_is_read_and_written_anew(void **state)
{
        static const char value[] = " [1, \"\xe2\x80\xa8\\\"\", null,\n {\"a\": true}] ";
        AUTO_STRBUF struct strbuf plain = { 0 }, string = { 0 };
        struct error err = { 0 };

        assert_int_equal(
                template_quote(TEMPLATE_JSON, "python", value, strlen(value), &plain, &err), 0);
        assert_string_equal(plain.data, "[1,\"\\u2028\\\"\",null,{\"a\":true}]");
        assert_int_equal(
                template_quote(TEMPLATE_JSON_STRING, "python", value, strlen(value), &string, &err),
                0);
        assert_string_equal(string.data, "\"[1,\\\"\\\\u2028\\\\\\\"\\\",null,{\\\"a\\\":true}]\"");
}

static void a_value_of_another_kind_is_refused(void **state)
{
        static const struct {
                enum template_kind kind;
                const char *language, *value;
        } refused[] = {
                { TEMPLATE_JSON, "python", "[1" },
                { TEMPLATE_JSON, "python", "" },
                { TEMPLATE_JSON, "python", "[1] + [2]" },
                { TEMPLATE_JSON_STRING, "python", "os.system('x')" },
                { TEMPLATE_NAME, "python", "" },
                { TEMPLATE_NAME, "python", "a b" },
                { TEMPLATE_NAME, "python", "a()" },
                { TEMPLATE_NAME, "python", "1a" },
                { TEMPLATE_NAME, "python", "a..b" },
                { TEMPLATE_NAME, "python", "a." },
                { TEMPLATE_NUMBER, "python", "" },
                { TEMPLATE_NUMBER, "python", "1e5" },
                { TEMPLATE_NUMBER, "python", "1." },
                { TEMPLATE_NUMBER, "python", "-" },
                { TEMPLATE_NUMBER, "python", "1;x" },
                { TEMPLATE_STRING, "python", "\xff" },
                { TEMPLATE_STRING, "brainfuck", "x" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                AUTO_STRBUF struct strbuf out = { 0 };
                struct error err = { 0 };

                assert_int_equal(template_quote(refused[i].kind, refused[i].language,
                                                refused[i].value, strlen(refused[i].value), &out,
                                                &err),
                                 SBX_EINVAL);
                assert_int_equal(out.length, 0);
        }
}

static void every_allocation_can_fail(void **state)
{
        static const char text[] = "placeholders: {a: {as: json, default: '1', description: d}}\n"
                                   "program: '{{code}} {{a}} {{b}}'\n";

        for (uint64_t n = 0;; n++) {
                struct template_use use = { 0 };
                struct expansion e = { 0 };
                struct error err = { 0 };
                int r;

                mem_fail_after(n);
                r = template_use_text(&use, text, strlen(text), "t.yaml", &err);
                if (r == 0)
                        r = template_use_set(&use, "b", "x", 1, &err);
                if (r == 0)
                        r = template_expand(use.template, &use, "c", 1, "python", &e, &err);
                mem_fail_after(UINT64_MAX);
                expansion_done(&e);
                template_use_done(&use);
                if (r == 0) {
                        assert_true(n > 10);
                        return;
                }
                assert_int_equal(r, SBX_ENOMEM);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(code_is_put_in_and_lines_are_counted),
                cmocka_unit_test(indentation_goes_before_every_line_but_empty_ones),
                cmocka_unit_test(a_placeholder_within_a_line_is_put_in_as_it_is),
                cmocka_unit_test(an_empty_value_leaves_its_line_to_the_template),
                cmocka_unit_test(what_only_looks_like_a_placeholder_is_text),
                cmocka_unit_test(values_defaults_and_repeated_placeholders),
                cmocka_unit_test(missing_and_unknown_values_are_named),
                cmocka_unit_test(bad_values_cannot_be_set),
                cmocka_unit_test(a_broken_template_is_refused),
                cmocka_unit_test(every_builtin_template_loads_and_takes_code),
                cmocka_unit_test(strings_are_quoted_for_the_language),
                cmocka_unit_test(json_is_read_and_written_anew),
                cmocka_unit_test(a_value_of_another_kind_is_refused),
                cmocka_unit_test(every_allocation_can_fail),
        };

        return RUN(tests);
}
