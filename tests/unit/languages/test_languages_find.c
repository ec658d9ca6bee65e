/* Finding a language's tool, and asking it for its version. */
#include "tool_bench.h"

static void assert_not_found(const struct bench *bench, const char *part)
{
        struct language_tool tool = { .version = "untouched" };
        struct error err = { 0 };

        assert_int_equal(language_find(&bench->language, bench->cache, &tool, &err), SBX_ELANGUAGE);
        if (!strstr(err.message, part))
                fail_msg("'%s' does not hold '%s'", err.message, part);
        assert_string_equal(err.hint, "apt-get install toy");
        assert_string_equal(tool.version, "untouched");
}

/* ---- versions ---- */

static void the_first_version_of_an_answer_is_taken(void **state)
{
        static const struct {
                const char *text, *version;
        } cases[] = {
                { "Python 3.11.2\n", "3.11.2" },
                { "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n", "5.2.15" },
                { "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\n", "12.2.0" },
                { "v18.19.0\n", "18.19.0" },
                { "go version go1.21 linux/amd64\n", "1.21" },
                { "tool of 2026, release 7.0.", "7.0" },
                { "1.2.3.4", "1.2.3.4" },
                { "no version here", "" },
                { "12", "" },
                { "12. and .5", "" },
                { "", "" },
                { "1.2222222222222222222222222222222222222222222222222222222222222222222 4.5",
                  "4.5" },
        };
        char version[VERSION_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                version_extract(cases[i].text, strlen(cases[i].text), version);
                assert_string_equal(version, cases[i].version);
        }
}

static void versions_are_compared_number_by_number(void **state)
{
        assert_true(version_compare("3.9", "3.10") < 0);
        assert_true(version_compare("3.10", "3.9") > 0);
        assert_true(version_compare("3", "3.0.0") == 0);
        assert_true(version_compare("3.11.2", "3.11") > 0);
        assert_true(version_compare("10.0", "9.9.9") > 0);
        assert_true(version_compare("2.0", "3") < 0);
}

/* ---- finding ---- */

static void a_language_without_a_tool_needs_none(void **state)
{
        static const char *const nothing[] = { NULL };
        struct language language = { .name = "binary", .candidates = nothing };
        struct language_tool tool;

        assert_int_equal(language_find(&language, NULL, &tool, NULL), 0);
        assert_string_equal(tool.path, "");
        assert_string_equal(tool.version, "");
}

static void the_tool_is_found_with_its_version(void **state)
{
        assert_found(*state, NULL, "2.10.3");
}

static void the_real_path_is_given(void **state)
{
        struct bench *bench = *state;
        struct language_tool tool;
        char link[128];

        (void)snprintf(link, sizeof(link), "%s/link", bench->folder);
        assert_int_equal(symlink("tool", link), 0);
        bench->candidates[0] = link;
        assert_int_equal(language_find(&bench->language, NULL, &tool, NULL), 0);
        assert_string_equal(tool.path, bench->tool);
}

static void the_first_usable_candidate_wins(void **state)
{
        struct bench *bench = *state;
        char other[128];

        (void)snprintf(other, sizeof(other), "%s/other", bench->folder);
        write_tool(bench, other, "echo 9.9");
        bench->candidates[0] = "/nonexistent/tool";
        bench->candidates[1] = bench->folder; /* a folder is no tool */
        bench->candidates[2] = other;
        assert_found(bench, NULL, "9.9");
}

static void a_missing_tool_is_told_with_the_remedy(void **state)
{
        struct bench *bench = *state;

        bench->candidates[0] = "/nonexistent/tool";
        assert_not_found(bench, "language 'toy' is not installed");
}

static void what_is_not_an_executable_file_is_refused(void **state)
{
        struct bench *bench = *state;

        assert_int_equal(chmod(bench->tool, 0644), 0);
        assert_not_found(bench, "not executable");
        bench->candidates[0] = bench->folder;
        assert_not_found(bench, "not a regular file");
        bench->candidates[0] = "/dev/null";
        assert_not_found(bench, "not a regular file");
        assert_int_equal(times_asked(bench), 0);
}

static void the_highest_version_of_a_star_wins(void **state)
{
        struct bench *bench = *state;
        static const char *const names[] = { "toy3.9", "toy3.10", "toy3.2", "toy3.99-config",
                                             "toy" };
        char path[128], pattern[128];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char words[64];

                (void)snprintf(path, sizeof(path), "%s/%s", bench->folder, names[i]);
                (void)snprintf(words, sizeof(words), "echo '%s.0'", names[i]);
                write_tool(bench, path, words);
        }
        (void)snprintf(pattern, sizeof(pattern), "%s/toy*", bench->folder);
        bench->candidates[0] = pattern;
        assert_found(bench, NULL, "3.10.0");
}

static void a_star_that_matches_nothing_is_not_found(void **state)
{
        struct bench *bench = *state;

        bench->candidates[0] = "/nonexistent/toy*";
        assert_not_found(bench, "not installed");
        bench->candidates[0] = "/usr/bin/no-such-toy-*";
        assert_not_found(bench, "not installed");
}

static void a_tool_below_the_minimum_is_refused(void **state)
{
        struct bench *bench = *state;

        bench->language.minimum_version = "2.11";
        assert_not_found(bench, "version 2.10.3, at least 2.11 is needed");
        bench->language.minimum_version = "2.9";
        assert_found(bench, NULL, "2.10.3");
}

static void a_tool_that_does_not_tell_is_refused_where_a_minimum_is_asked(void **state)
{
        struct bench *bench = *state;

        write_tool(bench, bench->tool, "echo nothing");
        assert_found(bench, NULL, "");
        bench->language.minimum_version = "1.0";
        assert_not_found(bench, "does not tell its version");
}

static void root_does_not_run_what_others_can_write(void **state)
{
        struct bench *bench = *state;

        assert_int_equal(chmod(bench->tool, 0757), 0);
        if (geteuid() == 0)
                assert_not_found(bench, "writable by others, which root does not run");
        else
                assert_found(bench, NULL, "2.10.3");
        assert_int_equal(times_asked(bench), geteuid() == 0 ? 0 : 1);
}

static void root_does_not_run_from_a_folder_that_others_can_write(void **state)
{
        struct bench *bench = *state;

        assert_int_equal(chmod(bench->folder, 0777), 0);
        if (geteuid() == 0)
                assert_not_found(bench, "writable by others, which root does not run");
        else
                assert_found(bench, NULL, "2.10.3");
        if (geteuid() == 0) {
                assert_int_equal(chmod(bench->folder, 01777), 0);
                assert_found(bench, NULL, "2.10.3"); /* sticky, and the file is root's */
                assert_int_equal(chown(bench->tool, 65534, 65534), 0);
                assert_not_found(bench, "writable by others");
        }
}

/* ---- asking ---- */

static void standard_error_is_heard_as_well(void **state)
{
        struct bench *bench = *state;

        write_tool(bench, bench->tool, "echo 'openjdk 17.0.1' >&2");
        assert_found(bench, NULL, "17.0.1");
}

static void the_environment_is_empty_and_input_is_closed(void **state)
{
        struct bench *bench = *state;

        assert_int_equal(setenv("TOY", "1", 1), 0);
        write_tool(bench, bench->tool,
                   "[ -z \"$TOY$HOME\" ] && [ $LC_ALL = C ] && [ $PATH = /usr/bin:/bin ] && "
                   "[ $# = 1 ] && [ -z \"$(cat)\" ] && echo 4.2");
        assert_found(bench, NULL, "4.2");
        (void)unsetenv("TOY");
}

static void the_words_of_a_tool_that_failed_are_not_believed(void **state)
{
        struct bench *bench = *state;

        write_tool(bench, bench->tool, "echo 'libtoy3.11.so: cannot open' >&2; exit 127");
        assert_found(bench, NULL, "");
}

static void an_endless_answer_is_cut(void **state)
{
        struct bench *bench = *state;

        write_tool(bench, bench->tool, "echo 6.1; exec yes");
        assert_found(bench, NULL, "6.1");
}

/* The tool and a child of it hold a pipe's end; that it closes shows that both are gone. */
static void a_tool_that_hangs_is_ended_with_its_children(void **state)
{
        struct bench *bench = *state;
        char words[256], fifo[128], version[VERSION_MAX], byte;
        struct pollfd item = { .events = POLLIN };

        (void)snprintf(fifo, sizeof(fifo), "%s/fifo", bench->folder);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        item.fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(item.fd >= 0);
        (void)snprintf(words, sizeof(words), "exec 9>%s; sleep 1000 & echo 1.0; wait", fifo);
        write_tool(bench, bench->tool, words);
        assert_false(version_ask(bench->tool, version_arguments, 200, version));
        assert_string_equal(version, "");
        assert_int_equal(poll(&item, 1, 5000), 1);
        assert_int_equal(read(item.fd, &byte, 1), 0);
        fd_close(item.fd);
}

static void a_file_that_cannot_be_started_has_no_version(void **state)
{
        char version[VERSION_MAX];

        assert_false(version_ask("/nonexistent/tool", version_arguments, 1000, version));
        assert_string_equal(version, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(the_first_version_of_an_answer_is_taken),
                TEST(versions_are_compared_number_by_number),
                TEST(a_language_without_a_tool_needs_none),
                TEST(the_tool_is_found_with_its_version),
                TEST(the_real_path_is_given),
                TEST(the_first_usable_candidate_wins),
                TEST(a_missing_tool_is_told_with_the_remedy),
                TEST(what_is_not_an_executable_file_is_refused),
                TEST(the_highest_version_of_a_star_wins),
                TEST(a_star_that_matches_nothing_is_not_found),
                TEST(a_tool_below_the_minimum_is_refused),
                TEST(a_tool_that_does_not_tell_is_refused_where_a_minimum_is_asked),
                TEST(root_does_not_run_what_others_can_write),
                TEST(root_does_not_run_from_a_folder_that_others_can_write),
                TEST(standard_error_is_heard_as_well),
                TEST(the_environment_is_empty_and_input_is_closed),
                TEST(the_words_of_a_tool_that_failed_are_not_believed),
                TEST(an_endless_answer_is_cut),
                TEST(a_tool_that_hangs_is_ended_with_its_children),
                TEST(a_file_that_cannot_be_started_has_no_version),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
