/* The reader of language files: what it takes, and what it refuses with line and column. */
#include "unit.h"

#include "base/mem.h"
#include "base/str.h"
#include "languages/languages_load.h"

#define NEEDED "name: toy\ntitle: Toy\nfile: main.toy\nrun: [\"{file}\"]\n"

static const char whole[] = "name: toy\n"
                            "title: A Toy\n"
                            "aliases: [t, plaything]\n"
                            "extensions: [.toy]\n"
                            "shebangs: [toy]\n"
                            "magic: \"\\x7FTOY\"\n"
                            "find:\n"
                            "  candidates: [/usr/bin/toy, /opt/toy-*]\n"
                            "  version: [--version, -q]\n"
                            "  minimum: 3.10\n"
                            "  install: apt-get install toy\n"
                            "paths: [/usr/lib]\n"
                            "file: main.toy\n"
                            "executable: false\n"
                            "proc: full\n"
                            "compile:\n"
                            "  command: [\"{tool}\", -o, \"{output}\", \"{file}\"]\n"
                            "  output: main\n"
                            "  paths: [/usr/include]\n"
                            "  watch: [/usr/share/toy, ~/.toyrc, $TOY_HOME/rc]\n"
                            "  env: { C: '{root}/c' }\n"
                            "  limits: { timeout: 1.5s, memory: 64M, processes: 8, disk: 1M }\n"
                            "prepare:\n"
                            "  command: [\"{tool}\", -p, \"{prepared}\"]\n"
                            "  paths: [/opt]\n"
                            "  limits: { cpu_time: 3s, open_files: 9 }\n"
                            "project:\n"
                            "  markers: [toy.mod]\n"
                            "  over: [doll]\n"
                            "  entries: [src/main.toy, main.toy]\n"
                            "  compile:\n"
                            "    command: [\"{tool}\", -C, \"{dir}\", \"{sources}\"]\n"
                            "    output: classes/\n"
                            "    limits: { memory: 2G }\n"
                            "  run: [\"{output}/main\"]\n"
                            "limits: { timeout: 7s, memory: 32M }\n"
                            "heap: 70\n"
                            "syntax_errors: [\"Bad {text}\"]\n"
                            "compile_errors: [\"Worse {text}\"]\n"
                            "error_lines: [\"At {line}\"]\n"
                            "run: [\"{output}\", \"{args}\"]\n"
                            "env: { A: '1', B_2: x=y }\n"
                            "warm: once\n"
                            "hello: |\n"
                            "  print hello\n"
                            "error: fail\n";

static void assert_refused(const char *yaml, const char *expected)
{
        struct language_loaded *loaded = NULL;
        struct error err = { 0 };

        if (language_load_yaml(yaml, strlen(yaml), "f", &loaded, &err) == 0) {
                language_loaded_free(loaded);
                fail_msg("taken: %s", yaml);
        }
        assert_int_equal(err.code, SBX_ELANGUAGE);
        assert_string_equal(err.message, expected);
        assert_null(loaded);
}

/* Bytes of any kind: refused with a place, whatever the words. */
static void assert_refused_bytes(const char *yaml, size_t length, const char *place)
{
        struct language_loaded *loaded = NULL;
        struct error err = { 0 };

        assert_int_equal(language_load_yaml(yaml, length, "f", &loaded, &err), SBX_ELANGUAGE);
        if (!str_has_prefix(err.message, place))
                fail_msg("'%s' does not begin with '%s'", err.message, place);
}

static struct language_loaded *load(const char *yaml)
{
        struct language_loaded *loaded = NULL;
        struct error err = { 0 };

        if (language_load_yaml(yaml, strlen(yaml), "f", &loaded, &err) < 0)
                fail_msg("%s", err.message);
        return loaded;
}

static void every_key_arrives_in_its_place(void **state)
{
        struct language_loaded *loaded = load(whole);
        const struct language *l = &loaded->language;

        assert_string_equal(l->name, "toy");
        assert_string_equal(l->title, "A Toy");
        assert_string_equal(l->aliases[0], "t");
        assert_string_equal(l->aliases[1], "plaything");
        assert_null(l->aliases[2]);
        assert_string_equal(l->extensions[0], ".toy");
        assert_string_equal(l->shebangs[0], "toy");
        assert_string_equal(l->magic, "\x7f"
                                      "TOY");
        assert_string_equal(l->candidates[1], "/opt/toy-*");
        assert_string_equal(l->version_arguments[1], "-q");
        assert_string_equal(l->minimum_version, "3.10"); /* a text, not the number 3.1 */
        assert_string_equal(l->install, "apt-get install toy");
        assert_string_equal(l->paths[0], "/usr/lib");
        assert_string_equal(l->file, "main.toy");
        assert_false(l->executable);
        assert_true(l->full_proc);
        assert_string_equal(l->compile.command[2], "{output}");
        assert_string_equal(l->compile.output, "main");
        assert_string_equal(l->compile.paths[0], "/usr/include");
        assert_int_equal(l->compile.limits.timeout_ms, 1500);
        assert_int_equal(l->compile.limits.memory_bytes, 64 << 20);
        assert_int_equal(l->compile.limits.processes, 8);
        assert_int_equal(l->compile.limits.disk_bytes, 1 << 20);
        assert_string_equal(l->compile.env[0], "C={root}/c");
        assert_string_equal(l->prepare.command[2], "{prepared}");
        assert_string_equal(l->prepare.paths[0], "/opt");
        assert_int_equal(l->prepare.limits.cpu_time_ms, 3000);
        assert_int_equal(l->prepare.limits.open_files, 9);
        assert_string_equal(l->project.markers[0], "toy.mod");
        assert_string_equal(l->project.over[0], "doll");
        assert_string_equal(l->compile.watch[2], "$TOY_HOME/rc");
        assert_string_equal(l->project.entries[1], "main.toy");
        assert_string_equal(l->project.compile.command[3], "{sources}");
        assert_string_equal(l->project.compile.output, "classes/");
        assert_int_equal(l->project.compile.limits.memory_bytes, UINT64_C(2) << 30);
        assert_string_equal(l->project.run[0], "{output}/main");
        assert_int_equal(l->limits.timeout_ms, 7000);
        assert_int_equal(l->limits.memory_bytes, 32 << 20);
        assert_int_equal(l->limits.processes, 0);
        assert_int_equal(l->heap_percent, 70);
        assert_string_equal(l->syntax_errors[0], "Bad {text}");
        assert_string_equal(l->compile_errors[0], "Worse {text}");
        assert_string_equal(l->error_lines[0], "At {line}");
        assert_string_equal(l->run[1], "{args}");
        assert_string_equal(l->env[0], "A=1");
        assert_string_equal(l->env[1], "B_2=x=y");
        assert_null(l->env[2]);
        assert_string_equal(l->warm, "once");
        assert_string_equal(l->hello, "print hello\n");
        assert_string_equal(l->failing, "fail");
        language_loaded_free(loaded);
}

static void absent_lists_are_empty_and_never_null(void **state)
{
        struct language_loaded *loaded = load(NEEDED);
        const struct language *l = &loaded->language;

        assert_null(l->aliases[0]);
        assert_null(l->candidates[0]);
        assert_null(l->version_arguments[0]);
        assert_null(l->compile.command[0]);
        assert_null(l->compile.paths[0]);
        assert_null(l->env[0]);
        assert_null(l->magic);
        assert_string_equal(l->warm, "none");
        language_loaded_free(loaded);
}

static void unknown_keys_are_refused_at_each_level(void **state)
{
        assert_refused(NEEDED "netwrok: no\n", "f:5:1: 'netwrok' is not a key of this place");
        assert_refused("find:\n  candidate: [/a]\n",
                       "f:2:3: 'candidate' is not a key of this place");
        assert_refused("compile: {limits: {cpus: 1}}\n",
                       "f:1:20: 'cpus' is not a key of this place");
        assert_refused("Name: toy\n", "f:1:1: 'Name' is not a key of this place");
}

static void repeated_keys_are_refused(void **state)
{
        assert_refused("name: toy\nname: toy\n", "f:2:1: 'name' is given twice");
        assert_refused("find: {install: a, install: b}\n", "f:1:20: 'install' is given twice");
        assert_refused("env: {A: b, A: c}\n", "f:1:13: 'A' is given twice");
}

static void missing_keys_are_refused(void **state)
{
        assert_refused("title: Toy\n", "f:1:1: 'name' is missing");
        assert_refused("name: toy\ntitle: T\nfile: x\n", "f:1:1: 'run' is missing");
        assert_refused(NEEDED "find: {install: x}\n", "f:5:7: 'candidates' is missing");
        assert_refused(NEEDED "compile: {command: [a]}\n", "f:5:10: 'output' is missing");
}

static void wrong_types_are_refused(void **state)
{
        assert_refused("name: [toy]\n", "f:1:7: 'name' must be a text");
        assert_refused("name: {a: b}\n", "f:1:7: 'name' must be a text");
        assert_refused("name:\n", "f:1:6: 'name' must have a value");
        assert_refused("name: ~\n", "f:1:7: 'name' must have a value");
        assert_refused("title: null\n", "f:1:8: 'title' must have a value");
        assert_refused("aliases: py\n", "f:1:10: 'aliases' must be a list");
        assert_refused("aliases: {a: b}\n", "f:1:10: 'aliases' must be a list");
        assert_refused("aliases: [[a]]\n", "f:1:11: 'aliases' must be a text");
        assert_refused("find: x\n", "f:1:7: 'find' must be a mapping");
        assert_refused("env: [A=b]\n", "f:1:6: 'env' must be a mapping");
        assert_refused("executable: yes\n", "f:1:13: 'executable' must be false or true");
        assert_refused("proc: none\n", "f:1:7: 'proc' must be pid or full");
        assert_refused("[a, b]\n", "f:1:1: 'language' must be a mapping");
        assert_refused("text\n", "f:1:1: 'language' must be a mapping");
        assert_refused("? [a]\n: b\n", "f:1:3: a key must be a text");
}

static void values_that_mean_nothing_are_refused(void **state)
{
        static const struct {
                const char *yaml, *message;
        } cases[] = {
                { "name: Toy\n", "f:1:7: 'name' must be up to 32 lower-case letters, digits, '+', "
                                 "'#', '-' or '_'" },
                { "name: ../etc\n", "f:1:7: 'name' must be up to 32 lower-case letters, digits, "
                                    "'+', '#', '-' or '_'" },
                { "name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
                  "f:1:7: 'name' must be up to 32 lower-case letters, digits, '+', '#', '-' or "
                  "'_'" },
                { "title: ''\n", "f:1:8: 'title' must not be empty" },
                { "extensions: [py]\n", "f:1:14: 'extensions' must be an extension such as '.py'" },
                { "file: a/b\n",
                  "f:1:7: 'file' must be a file name without '/', blanks and control bytes" },
                { "file: ..\n", "f:1:7: 'file' must be a file name of up to 32 bytes" },
                { "paths: [usr]\n", "f:1:9: 'paths' must be an absolute path, and not '/' itself" },
                { "paths: [/]\n", "f:1:9: 'paths' must be an absolute path, and not '/' itself" },
                { "paths: [/usr/../etc]\n",
                  "f:1:9: 'paths' must be a path without '.', '..', '//' and trailing '/'" },
                { "paths: [/usr/]\n",
                  "f:1:9: 'paths' must be a path without '.', '..', '//' and trailing '/'" },
                { "paths: [/usr//lib]\n",
                  "f:1:9: 'paths' must be a path without '.', '..', '//' and trailing '/'" },
                { "find: {candidates: [/a*/b*]}\n", "f:1:21: 'candidates' may hold one '*'" },
                { "find: {candidates: [~toy/b]}\n",
                  "f:1:21: 'candidates' must be an absolute path, and not '/' itself" },
                { "find: {candidates: []}\n", "f:1:21: 'candidates' must not be empty" },
                { "find: {minimum: v3}\n", "f:1:17: 'minimum' must be a version such as '3.10'" },
                { "magic: \"\\xFF\"\n", "f:1:8: 'magic' must consist of bytes below \\x80" },
                { "magic: \"a\\0\"\n", "f:1:8: 'magic' holds a NUL byte" },
                { "warm: hot\n", "f:1:7: 'warm' must be none, fork or once" },
                { "env: {1A: b}\n", "f:1:7: 'env' must be a variable's name" },
                { "env: {A-B: b}\n",
                  "f:1:7: 'env' must be a variable's name: letters, digits and '_'" },
                { "env: {A=B: b}\n", "f:1:7: 'env' must have names without '='" },
                { "run: ['{tols}']\n",
                  "f:1:7: 'run' holds a word in braces that is no placeholder" },
                { "run: ['-x{rot}']\n",
                  "f:1:7: 'run' holds a word in braces that is no placeholder" },
                { "paths: ['{root}']\n", "f:1:9: 'paths' must name something below {root}" },
                { "paths: ['{root}/../b']\n",
                  "f:1:9: 'paths' must be a path without '.', '..', '//' and trailing '/'" },
                { "heap: 101\n", "f:1:7: 'heap' is wrong: it must not be more than 100" },
                { "compile: {output: a/b/}\n",
                  "f:1:19: 'output' must be a file name without '/', blanks and control bytes" },
                { "compile: {watch: [$]}\n", "f:1:19: 'watch' must be '$NAME' or '$NAME/path'" },
                { "compile: {watch: [toy]}\n",
                  "f:1:19: 'watch' must be an absolute path, and not '/' itself" },
                { "project: {markers: [../x]}\n",
                  "f:1:21: 'markers' must be a path below the project, without '.' and '..'" },
                { "prepare: {output: x}\n", "f:1:11: 'output' is not a key of this place" },
                { "run: []\n", "f:1:7: 'run' must not be empty" },
                { "compile: {limits: {timeout: 0}}\n",
                  "f:1:29: 'timeout' is wrong: it must be more than 0" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_refused(cases[i].yaml, cases[i].message);
}

static void numbers_that_are_none_are_refused_with_their_place(void **state)
{
        static const char *const numbers[] = {
                "-1", "1e400", "NaN", "12parsec", "007", "''", "18446744073709551616"
        };
        char yaml[128];

        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                int n = snprintf(yaml, sizeof(yaml), "compile: {limits: {memory: %s}}", numbers[i]);

                assert_refused_bytes(yaml, (size_t)n, "f:1:28: 'memory' is wrong: ");
        }
}

static void commands_that_contradict_the_rest_are_refused(void **state)
{
        assert_refused("name: t\ntitle: T\nfile: f\nrun: ['{tool}']\n",
                       "f:1:1: {tool} or {root} is used, and 'find' is missing");
        assert_refused("name: t\ntitle: T\nfile: f\nrun: ['-m{heap_mib}m']\n",
                       "f:1:1: {heap_mib} is used, and 'heap' is missing");
        assert_refused(NEEDED "env: {A: '{prepared}/a'}\n",
                       "f:1:1: {prepared} is used, and 'prepare' is missing");
        assert_refused("name: t\ntitle: T\nfile: f\nrun: ['{output}']\n",
                       "f:1:1: {output} is used, and 'compile' is missing");
        assert_refused(NEEDED "find: {candidates: [/a], install: b}\n",
                       "f:1:1: 'hello' and 'error' are missing: two programs that show it works");
        assert_refused(NEEDED "find: {candidates: [/a], install: b, minimum: 1.0}\n",
                       "f:1:1: 'minimum' is given, and 'version' is missing");
        assert_refused(NEEDED "executable: true\ncompile: {command: [/a], output: o}\n",
                       "f:1:1: a compiled language's code is not executable");
}

static void aliases_anchors_and_tags_are_refused(void **state)
{
        assert_refused("name: &a toy\n", "f:1:7: anchors and tags are not allowed");
        assert_refused("aliases: &a [x]\n", "f:1:10: anchors and tags are not allowed");
        assert_refused("name: *a\n", "f:1:7: aliases are not allowed");
        assert_refused("name: !!str toy\n", "f:1:7: anchors and tags are not allowed");
        assert_refused("find: &a {install: x}\n", "f:1:7: anchors and tags are not allowed");
}

static void a_second_document_is_refused(void **state)
{
        assert_refused(NEEDED "---\nname: other\n", "f:5:1: only one document is allowed");
}

static void a_file_without_content_is_refused(void **state)
{
        assert_refused("", "f:1:1: the file is empty");
        assert_refused("# nothing\n", "f:2:1: the file is empty");
}

static void broken_yaml_is_refused_with_its_place(void **state)
{
        static const char invalid_utf8[] = "name: toy\ntitle: \xff\n";
        static const char control[] = "name: toy\ntitle: a\x01\n";
        static const char nul[] = "name: t\0oy\n";

        assert_refused_bytes("aliases: [a\n", 12, "f:2:1: ");
        assert_refused_bytes("name: b: c\n", 11, "f:1:8: ");
        assert_refused_bytes("\tname: x\n", 9, "f:1:1: ");
        assert_refused_bytes(invalid_utf8, sizeof(invalid_utf8) - 1, "f:2:8: ");
        assert_refused_bytes(control, sizeof(control) - 1, "f:2:9: ");
        assert_refused_bytes(nul, sizeof(nul) - 1, "f:1:8: ");
}

static void what_is_too_large_is_refused(void **state)
{
        AUTO_STRBUF struct strbuf text = { 0 };
        AUTO_STRBUF struct strbuf list = { 0 };
        AUTO_STRBUF struct strbuf file = { 0 };

        strbuf_adds(&text, "title: ");
        for (int i = 0; i <= LANGUAGE_STRING_MAX; i++)
                strbuf_adds(&text, "a");
        assert_refused(text.data, "f:1:8: 'title' is longer than 64 KiB");

        strbuf_adds(&list, "aliases: [a");
        for (int i = 0; i < LANGUAGE_LIST_MAX; i++)
                strbuf_adds(&list, ", a");
        strbuf_adds(&list, "]\n");
        assert_refused(list.data, "f:1:203: 'aliases' has more than 64 entries");

        while (file.length <= LANGUAGE_FILE_MAX)
                strbuf_adds(&file, "# a comment\n");
        assert_refused(file.data, "f:1:1: the file is larger than 256 KiB");
}

static void a_list_of_the_maximum_is_taken(void **state)
{
        AUTO_STRBUF struct strbuf yaml = { 0 };
        struct language_loaded *loaded;

        strbuf_adds(&yaml, NEEDED "aliases: [a");
        for (int i = 1; i < LANGUAGE_LIST_MAX; i++)
                strbuf_adds(&yaml, ", a");
        strbuf_adds(&yaml, "]\n");
        loaded = load(yaml.data);
        assert_string_equal(loaded->language.aliases[LANGUAGE_LIST_MAX - 1], "a");
        assert_null(loaded->language.aliases[LANGUAGE_LIST_MAX]);
        language_loaded_free(loaded);
}

static void deep_nesting_is_refused_at_its_second_level(void **state)
{
        enum { DEPTH = 100000 };
        AUTO_FREE char *yaml = mem_alloc(DEPTH + 1);

        assert_non_null(yaml);
        memset(yaml, '[', DEPTH);
        assert_refused(yaml, "f:1:1: 'language' must be a mapping");
        memset(yaml, '{', DEPTH);
        assert_refused(yaml, "f:1:2: a key must be a text");
}

static void a_name_with_control_bytes_is_shown_printable(void **state)
{
        struct language_loaded *loaded = NULL;
        struct error err = { 0 };

        assert_int_equal(language_load_yaml("a: b", 4, "x\033\n", &loaded, &err), SBX_ELANGUAGE);
        assert_string_equal(err.message, "x\\x1b\\x0a:1:1: 'a' is not a key of this place");
}

static void a_reader_without_an_error_to_fill_still_refuses(void **state)
{
        struct language_loaded *loaded = NULL;

        assert_int_equal(language_load_yaml("a: b", 4, "f", &loaded, NULL), SBX_ELANGUAGE);
}

static void every_allocation_may_fail(void **state)
{
        struct language_loaded *loaded = NULL;
        struct error err = { 0 };
        uint64_t n = 0;
        int rc;

        for (;; n++) {
                mem_fail_after(n);
                rc = language_load_yaml(whole, strlen(whole), "f", &loaded, &err);
                mem_fail_after(UINT64_MAX);
                if (rc == 0)
                        break;
                assert_int_equal(rc, SBX_ENOMEM);
                assert_null(loaded);
        }
        assert_true(n > 30);
        language_loaded_free(loaded);
        language_loaded_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_key_arrives_in_its_place),
                cmocka_unit_test(absent_lists_are_empty_and_never_null),
                cmocka_unit_test(unknown_keys_are_refused_at_each_level),
                cmocka_unit_test(repeated_keys_are_refused),
                cmocka_unit_test(missing_keys_are_refused),
                cmocka_unit_test(wrong_types_are_refused),
                cmocka_unit_test(values_that_mean_nothing_are_refused),
                cmocka_unit_test(numbers_that_are_none_are_refused_with_their_place),
                cmocka_unit_test(commands_that_contradict_the_rest_are_refused),
                cmocka_unit_test(aliases_anchors_and_tags_are_refused),
                cmocka_unit_test(a_second_document_is_refused),
                cmocka_unit_test(a_file_without_content_is_refused),
                cmocka_unit_test(broken_yaml_is_refused_with_its_place),
                cmocka_unit_test(what_is_too_large_is_refused),
                cmocka_unit_test(a_list_of_the_maximum_is_taken),
                cmocka_unit_test(deep_nesting_is_refused_at_its_second_level),
                cmocka_unit_test(a_name_with_control_bytes_is_shown_printable),
                cmocka_unit_test(a_reader_without_an_error_to_fill_still_refuses),
                cmocka_unit_test(every_allocation_may_fail),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
