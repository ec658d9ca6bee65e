/* The set of languages: lookup, replacement, detection. */
#include "unit.h"

#include "base/mem.h"
#include "base/str.h"
#include "languages/languages.h"

static int set_up(void **state)
{
        *state = languages_new();
        return *state ? 0 : -1;
}

static int tear_down(void **state)
{
        languages_free(*state);
        return 0;
}

static const char toy[] = "name: toy\n"
                          "title: Toy\n"
                          "aliases: [plaything]\n"
                          "extensions: [.toy, .PY]\n"
                          "shebangs: [toy]\n"
                          "file: main.toy\n"
                          "run: [\"{file}\"]\n";

static void add(struct languages *set, const char *yaml)
{
        struct error err = { 0 };

        if (languages_add_yaml(set, yaml, strlen(yaml), "toy.yaml", &err) < 0)
                fail_msg("%s", err.message);
}

static void assert_detects(const struct languages *set, const char *file_name, const char *code,
                           const char *expected)
{
        const struct language *language =
                languages_detect(set, file_name, code, code ? strlen(code) : 0);

        if (!expected)
                assert_null(language);
        else if (!language)
                fail_msg("'%s' '%s': nothing detected", file_name ? file_name : "",
                         code ? code : "");
        else
                assert_string_equal(language->name, expected);
}

static size_t count_builtin(void)
{
        size_t count = 0;

        while (languages_builtin[count])
                count++;
        return count;
}

/* ---- the built-in ones ---- */

static void the_builtin_languages_are_sorted_by_name(void **state)
{
        struct languages *set = *state;

        assert_int_equal(languages_count(set), count_builtin());
        for (size_t i = 1; i < languages_count(set); i++)
                assert_true(strcmp(languages_at(set, i - 1)->name, languages_at(set, i)->name) < 0);
        assert_null(languages_at(set, languages_count(set)));
}

static void every_builtin_language_has_what_a_run_needs(void **state)
{
        struct languages *set = *state;

        for (size_t i = 0; i < languages_count(set); i++) {
                const struct language *language = languages_at(set, i);

                assert_non_null(language->title);
                assert_non_null(language->file);
                assert_non_null(language->run[0]);
                assert_non_null(language->paths[0]);
                assert_non_null(language->aliases);
                assert_non_null(language->env);
                assert_non_null(language->compile.command);
                assert_non_null(language->compile.paths);
                /* What can be parked says how. */
                assert_true(!language->park.command[0] || strcmp(language->warm, "none") != 0);
                if (language->candidates[0]) {
                        assert_non_null(language->install);
                        assert_non_null(language->hello);
                        assert_non_null(language->failing);
                }
        }
}

static void the_list_names_all_of_them(void **state)
{
        AUTO_FREE char *list = languages_list(*state);

        assert_non_null(list);
        for (size_t i = 0; i < languages_count(*state); i++)
                assert_non_null(strstr(list, languages_at(*state, i)->name));
        assert_true(str_has_prefix(list, "awk, binary, c, c++, go, java, javascript"));
}

static void c_is_compiled_with_the_mathematics_library_last(void **state)
{
        const struct language *c = languages_by_name(*state, "c");
        const char *last = NULL;

        assert_non_null(c);
        for (const char *const *word = c->compile.command; *word; word++)
                last = *word;
        assert_string_equal(last, "-lm");
        assert_string_equal(c->compile.output, "main");
        assert_int_equal(c->compile.limits.timeout_ms, 30000);
        assert_int_equal(c->compile.limits.memory_bytes, UINT64_C(1) << 30);
}

/* ---- names ---- */

static void a_name_is_found_without_regard_to_case(void **state)
{
        assert_string_equal(languages_by_name(*state, "PyThOn")->name, "python");
}

static void an_alias_is_found_without_regard_to_case(void **state)
{
        assert_string_equal(languages_by_name(*state, "BASH")->name, "shell");
        assert_string_equal(languages_by_name(*state, "elf")->name, "binary");
}

static void unknown_names_are_not_found(void **state)
{
        static const char *const names[] = { "", "cobol", "py ", "../python", "python\n", "pyth" };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_null(languages_by_name(*state, names[i]));
}

/* ---- further languages ---- */

static void an_added_language_is_found_by_name_and_alias(void **state)
{
        add(*state, toy);
        assert_string_equal(languages_by_name(*state, "toy")->title, "Toy");
        assert_string_equal(languages_by_name(*state, "plaything")->name, "toy");
        assert_int_equal(languages_count(*state), count_builtin() + 1);
}

static void a_language_of_the_same_name_is_replaced(void **state)
{
        const struct language *old;

        add(*state, toy);
        old = languages_by_name(*state, "toy");
        add(*state, "{name: toy, title: Newer, file: a, run: [\"{file}\"]}");
        assert_int_equal(languages_count(*state), count_builtin() + 1);
        assert_string_equal(languages_by_name(*state, "toy")->title, "Newer");
        assert_string_equal(old->title, "Toy"); /* who holds the old one may go on */
}

static void a_builtin_language_can_be_replaced(void **state)
{
        add(*state, "{name: python, title: Mine, file: a, run: [\"{file}\"]}");
        assert_int_equal(languages_count(*state), count_builtin());
        assert_string_equal(languages_by_name(*state, "python")->title, "Mine");
        assert_null(languages_by_name(*state, "py"));
}

static void an_alias_of_another_language_is_refused(void **state)
{
        static const char yaml[] =
                "{name: toy, title: T, aliases: [BaSh], file: a, run: [\"{file}\"]}";
        static const char good[] =
                "{name: toy, title: T, aliases: [bash], file: a, run: [\"{file}\"]}";
        struct error err = { 0 };

        assert_int_equal(languages_add_yaml(*state, yaml, strlen(yaml), "t.yaml", &err),
                         SBX_ELANGUAGE); /* capital letters already */
        assert_int_equal(languages_add_yaml(*state, good, strlen(good), "t.yaml", &err),
                         SBX_ELANGUAGE);
        assert_string_equal(err.message, "t.yaml:1:1: 'bash' already means the language 'shell'");
        assert_int_equal(languages_count(*state), count_builtin());
        assert_null(languages_by_name(*state, "toy"));
}

static void a_name_that_is_an_alias_of_another_is_refused(void **state)
{
        static const char yaml[] = "{name: bash, title: T, file: a, run: [\"{file}\"]}";
        struct error err = { 0 };

        assert_int_equal(languages_add_yaml(*state, yaml, strlen(yaml), "t.yaml", &err),
                         SBX_ELANGUAGE);
        assert_non_null(strstr(err.message, "'bash' already means the language 'shell'"));
}

/* ---- detection ---- */

static void the_extension_tells_the_language(void **state)
{
        assert_detects(*state, "solve.py", NULL, "python");
        assert_detects(*state, "/a/b.py/run.sh", NULL, "shell");
        assert_detects(*state, "dir/x.c", "int main;", "c");
        assert_detects(*state, "SOLVE.PY", NULL, "python");
}

static void an_extension_as_written_goes_before_one_in_another_case(void **state)
{
        add(*state, toy);
        assert_detects(*state, "x.PY", NULL, "toy");
        assert_detects(*state, "x.py", NULL, "python");
        assert_detects(*state, "x.C", NULL, "c++");
        assert_detects(*state, "x.c", NULL, "c");
}

static void a_file_that_is_only_an_extension_tells_nothing(void **state)
{
        assert_detects(*state, ".py", NULL, NULL);
        assert_detects(*state, "dir/.sh", NULL, NULL);
        assert_detects(*state, "", NULL, NULL);
        assert_detects(*state, "py", NULL, NULL);
        assert_detects(*state, "dir.py/", NULL, NULL);
}

static void the_first_line_tells_the_language(void **state)
{
        assert_detects(*state, NULL, "#!/bin/bash\n", "shell");
        assert_detects(*state, NULL, "#! /bin/sh -e\necho", "sh");
        assert_detects(*state, "script", "#!/usr/bin/env python3\n", "python");
        assert_detects(*state, NULL, "#!/usr/bin/python3.11 -u\n", "python");
        assert_detects(*state, NULL, "#!/usr/bin/env -S A=/b/c python3 -u\r\n", "python");
        assert_detects(*state, NULL, "#!/bin/bash\r\n", "shell");
        assert_detects(*state, NULL, "#!/bin/bash", "shell");
}

static void a_first_line_without_an_interpreter_tells_nothing(void **state)
{
        static const char *const codes[] = {
                "",
                "#",
                "#!",
                "#!\n",
                "#!\r\n",
                "#! \n",
                "#!/usr/bin/env\n",
                "#!/usr/bin/env -S\n",
                "#!/usr/bin/cobol\n",
                "#!/bin/bashful\n",
                " #!/bin/bash\n",
                "echo #!/bin/bash\n",
                "#!/3.11\n",
                "\n#!/bin/bash\n",
        };

        for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
                assert_detects(*state, NULL, codes[i], NULL);
}

static void a_very_long_first_line_is_read_up_to_its_maximum(void **state)
{
        char code[4096];

        memset(code, 'a', sizeof(code) - 1);
        memcpy(code, "#!/", 3);
        code[sizeof(code) - 1] = '\0';
        assert_detects(*state, NULL, code, NULL);
}

static void magic_goes_before_the_extension(void **state)
{
        assert_detects(*state, "program.py",
                       "\x7f"
                       "ELF\x02\x01",
                       "binary");
        assert_detects(*state, NULL,
                       "\x7f"
                       "ELF",
                       "binary");
        assert_detects(*state, NULL,
                       "\x7f"
                       "EL",
                       NULL);
}

static void the_extension_goes_before_the_first_line(void **state)
{
        assert_detects(*state, "x.py", "#!/bin/bash\n", "python");
}

static void code_is_not_read_beyond_its_length(void **state)
{
        static const char code[] = "#!/bin/bash\n";
        AUTO_FREE char *exact = mem_alloc(4);

        assert_non_null(exact);
        memcpy(exact, "#!/b", 4); /* nothing after it: a sanitizer sees a byte too much */
        assert_null(languages_detect(*state, NULL, exact, 4));
        assert_null(languages_detect(*state, NULL, code, 10));
        assert_non_null(languages_detect(*state, NULL, code, 11));
}

/* ---- out of memory ---- */

static void a_new_set_tells_when_memory_is_out(void **state)
{
        struct languages *set = NULL;
        uint64_t n = 0;

        for (; !set && n < 100; n++) {
                mem_fail_after(n);
                set = languages_new();
                mem_fail_after(UINT64_MAX);
        }
        assert_true(n > 2); /* it did fail before */
        assert_non_null(set);
        languages_free(set);
}

static void adding_tells_when_memory_is_out_and_leaves_the_set_alone(void **state)
{
        struct error err = { 0 };
        uint64_t n = 0;
        int rc;

        for (;; n++) {
                mem_fail_after(n);
                rc = languages_add_yaml(*state, toy, strlen(toy), "toy.yaml", &err);
                mem_fail_after(UINT64_MAX);
                if (rc == 0)
                        break;
                assert_int_equal(rc, SBX_ENOMEM);
                assert_null(languages_by_name(*state, "toy"));
                assert_int_equal(languages_count(*state), count_builtin());
        }
        assert_true(n > 5);
        assert_non_null(languages_by_name(*state, "toy"));
}

static void the_list_is_null_when_memory_is_out(void **state)
{
        mem_fail_after(0);
        assert_null(languages_list(*state));
        mem_fail_after(UINT64_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(the_builtin_languages_are_sorted_by_name),
                TEST(every_builtin_language_has_what_a_run_needs),
                TEST(the_list_names_all_of_them),
                TEST(c_is_compiled_with_the_mathematics_library_last),
                TEST(a_name_is_found_without_regard_to_case),
                TEST(an_alias_is_found_without_regard_to_case),
                TEST(unknown_names_are_not_found),
                TEST(an_added_language_is_found_by_name_and_alias),
                TEST(a_language_of_the_same_name_is_replaced),
                TEST(a_builtin_language_can_be_replaced),
                TEST(an_alias_of_another_language_is_refused),
                TEST(a_name_that_is_an_alias_of_another_is_refused),
                TEST(the_extension_tells_the_language),
                TEST(an_extension_as_written_goes_before_one_in_another_case),
                TEST(a_file_that_is_only_an_extension_tells_nothing),
                TEST(the_first_line_tells_the_language),
                TEST(a_first_line_without_an_interpreter_tells_nothing),
                TEST(a_very_long_first_line_is_read_up_to_its_maximum),
                TEST(magic_goes_before_the_extension),
                TEST(the_extension_goes_before_the_first_line),
                TEST(code_is_not_read_beyond_its_length),
                TEST(a_new_set_tells_when_memory_is_out),
                TEST(adding_tells_when_memory_is_out_and_leaves_the_set_alone),
                TEST(the_list_is_null_when_memory_is_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
