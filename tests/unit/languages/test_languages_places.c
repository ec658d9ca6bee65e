/* Where a tool may be beside fixed paths: the home, $PATH, behind a version manager's shim. */
#include "tool_bench.h"

static void make_folder(const struct bench *bench, const char *relative)
{
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s", bench->folder, relative);
        assert_int_equal(mkdir(path, 0755), 0);
}

/* A program below the bench's folder. */
static void make_tool(const struct bench *bench, const char *relative, const char *words)
{
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s", bench->folder, relative);
        write_tool(bench, path, words);
}

static void set_variable(const char *name, const struct bench *bench, const char *relative)
{
        char value[256];

        (void)snprintf(value, sizeof(value), "/nonexistent:relative:%s/%s", bench->folder,
                       relative);
        assert_int_equal(
                setenv(name, strcmp(name, "PATH") == 0 ? value : strrchr(value, ':') + 1, 1), 0);
}

static void assert_path(const struct bench *bench, const char *relative)
{
        struct language_tool tool;
        struct error err = { 0 };
        char expected[256];

        (void)snprintf(expected, sizeof(expected), "%s/%s", bench->folder, relative);
        if (language_find(&bench->language, bench->cache, &tool, &err) < 0)
                fail_msg("%s", err.message);
        assert_string_equal(tool.path, expected);
}

static void assert_missing(const struct bench *bench, const char *part)
{
        struct language_tool tool;
        struct error err = { 0 };

        assert_int_equal(language_find(&bench->language, bench->cache, &tool, &err), SBX_ELANGUAGE);
        if (!strstr(err.message, part))
                fail_msg("'%s' does not hold '%s'", err.message, part);
}

static void a_star_stands_in_any_part_of_the_path(void **state)
{
        struct bench *bench = *state;
        char pattern[256];

        make_folder(bench, "v9.1");
        make_folder(bench, "v10.0");
        make_folder(bench, "v11.0"); /* without the tool: it does not count */
        make_tool(bench, "v9.1/toy", "echo 9.1");
        make_tool(bench, "v10.0/toy", "echo 10.0");
        (void)snprintf(pattern, sizeof(pattern), "%s/v*/toy", bench->folder);
        bench->candidates[0] = pattern;
        assert_path(bench, "v10.0/toy");
}

static void a_tilde_is_the_home(void **state)
{
        struct bench *bench = *state;

        set_variable("HOME", bench, "");
        bench->candidates[0] = "~/tool";
        assert_path(bench, "tool");
        assert_int_equal(unsetenv("HOME"), 0);
        assert_missing(bench, "not installed");
}

static void the_search_path_is_the_last_resort(void **state)
{
        struct bench *bench = *state;

        make_folder(bench, "bin");
        make_tool(bench, "bin/tool", "echo 1.1");
        set_variable("PATH", bench, "bin");
        assert_path(bench, "tool"); /* the candidate comes first */
        bench->candidates[0] = "/nonexistent/tool";
        assert_path(bench, "bin/tool");
        bench->candidates[0] = "/nonexistent/other";
        assert_missing(bench, "not installed");
}

static void what_another_user_owns_is_not_found_through_the_environment(void **state)
{
        struct bench *bench = *state;

        if (geteuid() != 0)
                skip();
        set_variable("HOME", bench, "");
        bench->candidates[0] = "~/tool";
        assert_int_equal(chown(bench->folder, 65534, 65534), 0);
        assert_missing(bench, "it belongs to another user");
        assert_int_equal(times_asked(bench), 0);
}

/* A version manager as pyenv is one, with the real tool somewhere else. */
static void make_manager(const struct bench *bench)
{
        char words[256];

        set_variable("HOME", bench, "");
        make_folder(bench, ".pyenv");
        make_folder(bench, ".pyenv/bin");
        make_folder(bench, ".pyenv/shims");
        make_folder(bench, "real");
        make_tool(bench, "real/toy", "echo 3.4");
        make_tool(bench, ".pyenv/shims/toy", "echo the shim was run; exit 1");
        make_tool(bench, ".pyenv/version", "");
        (void)snprintf(words, sizeof(words),
                       "[ \"$1$2\" = whichtoy ] && [ \"$PWD\" = / ] && echo %s/real/toy",
                       bench->folder);
        make_tool(bench, ".pyenv/bin/pyenv", words);
}

static void a_shim_is_resolved_by_its_manager(void **state)
{
        struct bench *bench = *state;

        make_manager(bench);
        bench->candidates[0] = "~/.pyenv/shims/toy";
        assert_path(bench, "real/toy");
        assert_int_equal(times_asked(bench), 2); /* the manager and the tool */
}

static void a_manager_is_asked_once_until_its_choice_changes(void **state)
{
        struct bench *bench = *state;

        make_manager(bench);
        bench->candidates[0] = "~/.pyenv/shims/toy";
        assert_path(bench, "real/toy");
        assert_path(bench, "real/toy");
        assert_int_equal(times_asked(bench), 2);
        make_tool(bench, ".pyenv/version", "another");
        assert_path(bench, "real/toy");
        assert_int_equal(times_asked(bench), 3);
}

static void a_shim_without_a_choice_is_not_run(void **state)
{
        struct bench *bench = *state;

        make_manager(bench);
        make_tool(bench, ".pyenv/bin/pyenv", "echo 'toy: command not found' >&2; exit 127");
        bench->candidates[0] = "~/.pyenv/shims/toy";
        assert_missing(bench, "its version manager has chosen none");
        assert_int_equal(times_asked(bench), 1);
}

static void a_proxy_is_a_shim_and_its_neighbours_are_not(void **state)
{
        struct bench *bench = *state;
        char words[256], link[256];

        set_variable("HOME", bench, "");
        make_folder(bench, ".cargo");
        make_folder(bench, ".cargo/bin");
        make_folder(bench, "real");
        make_tool(bench, "real/toy", "echo 3.4");
        (void)snprintf(words, sizeof(words), "echo %s/real/$2", bench->folder);
        make_tool(bench, ".cargo/bin/rustup", words);
        make_tool(bench, ".cargo/bin/installed", "echo 5.5");
        (void)snprintf(link, sizeof(link), "%s/.cargo/bin/toy", bench->folder);
        assert_int_equal(symlink("rustup", link), 0);
        bench->candidates[0] = "~/.cargo/bin/toy";
        assert_path(bench, "real/toy");
        bench->candidates[0] = "~/.cargo/bin/installed";
        assert_path(bench, ".cargo/bin/installed");
}

static void a_tool_may_be_run_by_another_program(void **state)
{
        static const char *const runtime[] = { "/nonexistent/sh", "/bin/sh", NULL };
        static const char *const nowhere[] = { "/nonexistent/no-such-runtime", NULL };
        struct bench *bench = *state;
        struct language_tool tool;

        assert_int_equal(chmod(bench->tool, 0755), 0);
        bench->language.runtime = runtime;
        assert_int_equal(language_find(&bench->language, NULL, &tool, NULL), 0);
        assert_int_equal(tool.runtime[0], '/');
        assert_string_equal(tool.version, "2.10.3");
        bench->language.runtime = nowhere;
        assert_missing(bench, "('no-such-runtime' is missing)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_star_stands_in_any_part_of_the_path),
                TEST(a_tilde_is_the_home),
                TEST(the_search_path_is_the_last_resort),
                TEST(what_another_user_owns_is_not_found_through_the_environment),
                TEST(a_shim_is_resolved_by_its_manager),
                TEST(a_manager_is_asked_once_until_its_choice_changes),
                TEST(a_shim_without_a_choice_is_not_run),
                TEST(a_proxy_is_a_shim_and_its_neighbours_are_not),
                TEST(a_tool_may_be_run_by_another_program),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
