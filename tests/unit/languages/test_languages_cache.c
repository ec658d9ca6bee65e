/* Remembering the version that a tool told. */
#include "tool_bench.h"

static void a_tool_is_asked_once(void **state)
{
        struct bench *bench = *state;

        assert_found(bench, bench->cache, "2.10.3");
        assert_found(bench, bench->cache, "2.10.3");
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(times_asked(bench), 1);
}

static void without_a_cache_a_tool_is_asked_each_time(void **state)
{
        struct bench *bench = *state;

        assert_found(bench, NULL, "2.10.3");
        assert_found(bench, NULL, "2.10.3");
        assert_int_equal(times_asked(bench), 2);
}

static void a_changed_tool_is_asked_again(void **state)
{
        struct bench *bench = *state;
        struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

        assert_found(bench, bench->cache, "2.10.3");
        write_tool(bench, bench->tool, "echo 'toy version 2.10.4-rc1 (2026)'"); /* the same size */
        assert_int_equal(utimensat(AT_FDCWD, bench->tool, times, 0), 0);
        assert_found(bench, bench->cache, "2.10.4");
        assert_found(bench, bench->cache, "2.10.4");
        assert_int_equal(times_asked(bench), 2);
}

static void two_tools_are_both_remembered(void **state)
{
        struct bench *bench = *state;
        char other[128];

        (void)snprintf(other, sizeof(other), "%s/a tool with blanks", bench->folder);
        write_tool(bench, other, "echo 9.9");
        for (int round = 0; round < 2; round++) {
                bench->candidates[0] = bench->tool;
                assert_found(bench, bench->cache, "2.10.3");
                bench->candidates[0] = other;
                assert_found(bench, bench->cache, "9.9");
        }
        assert_int_equal(times_asked(bench), 2);
}

static void that_a_tool_tells_no_version_is_remembered(void **state)
{
        struct bench *bench = *state;

        write_tool(bench, bench->tool, "echo nothing");
        assert_found(bench, bench->cache, "");
        assert_found(bench, bench->cache, "");
        assert_int_equal(times_asked(bench), 1);
}

static void the_cache_is_private_and_its_folders_are_made(void **state)
{
        struct bench *bench = *state;
        char deep[160], file[192];
        struct stat st;

        (void)snprintf(deep, sizeof(deep), "%s/a/b/c", bench->folder);
        (void)snprintf(file, sizeof(file), "%s/versions", deep);
        assert_found(bench, deep, "2.10.3");
        assert_int_equal(stat(deep, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
}

/* Each of these is passed over: the tool is asked every time, and nothing fails. */
static void assert_ignored(struct bench *bench)
{
        size_t before = times_asked(bench);

        assert_found(bench, bench->cache, "2.10.3");
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(times_asked(bench) - before, 2);
}

static void a_cache_folder_that_others_can_write_is_ignored(void **state)
{
        struct bench *bench = *state;

        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(chmod(bench->cache, 0770), 0);
        assert_ignored(bench);
        assert_int_equal(chmod(bench->cache, 0777), 0);
        assert_ignored(bench);
}

static void a_cache_file_that_others_can_write_is_not_believed(void **state)
{
        struct bench *bench = *state;
        char file[160];

        assert_found(bench, bench->cache, "2.10.3");
        (void)snprintf(file, sizeof(file), "%s/versions", bench->cache);
        assert_int_equal(chmod(file, 0666), 0);
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(times_asked(bench), 2); /* asked again, and the file replaced */
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(times_asked(bench), 2);
}

static void a_cache_folder_of_another_user_is_ignored(void **state)
{
        struct bench *bench = *state;

        if (geteuid() != 0)
                skip(); /* only root can give a folder away */
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(chown(bench->cache, 65534, 65534), 0);
        assert_ignored(bench);
}

static void a_cache_that_is_a_file_is_ignored(void **state)
{
        struct bench *bench = *state;

        write_tool(bench, bench->cache, "");
        assert_ignored(bench);
}

static void a_cache_file_that_is_a_fifo_does_not_stop_us(void **state)
{
        struct bench *bench = *state;
        char file[160];

        assert_int_equal(mkdir(bench->cache, 0700), 0);
        (void)snprintf(file, sizeof(file), "%s/versions", bench->cache);
        assert_int_equal(mkfifo(file, 0600), 0);
        assert_found(bench, bench->cache, "2.10.3");
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(times_asked(bench), 1); /* replaced by a file */
}

/* Whatever stands in the file, the right answer comes out of it in the end. */
static void a_damaged_cache_is_healed(void **state)
{
        static const char *const contents[] = {
                "", "\n\n\n", "garbage", "a b c d e f g h\n", "\xff\xfe\n", "/x 1 2 3 4 5.6",
        };
        struct bench *bench = *state;
        char file[160];

        (void)snprintf(file, sizeof(file), "%s/versions", bench->cache);
        assert_int_equal(mkdir(bench->cache, 0700), 0);
        for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
                int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

                assert_true(fd >= 0);
                assert_int_equal(fd_write_all(fd, contents[i], strlen(contents[i])), 0);
                fd_close(fd);
                assert_found(bench, bench->cache, "2.10.3");
                assert_found(bench, bench->cache, "2.10.3");
                assert_int_equal(times_asked(bench), i + 1);
        }
}

static void a_remembered_version_of_another_form_is_not_believed(void **state)
{
        static const char *const versions[] = { "", "evil\033[31m", "1.0 2.0", "--", "$(x)" };
        struct bench *bench = *state;
        struct stat st;
        char version[VERSION_MAX];

        assert_int_equal(stat(bench->tool, &st), 0);
        for (size_t i = 1; i < ARRAY_SIZE(versions); i++) {
                version_cache_put(bench->cache, bench->tool, &st, versions[i]);
                assert_false(version_cache_get(bench->cache, bench->tool, &st, version));
        }
        version_cache_put(bench->cache, bench->tool, &st, "1.5");
        assert_true(version_cache_get(bench->cache, bench->tool, &st, version));
        assert_string_equal(version, "1.5");
}

static void a_cache_that_has_grown_too_large_is_begun_anew(void **state)
{
        struct bench *bench = *state;
        char file[160];
        struct stat st;
        int fd;

        assert_int_equal(mkdir(bench->cache, 0700), 0);
        (void)snprintf(file, sizeof(file), "%s/versions", bench->cache);
        fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        for (int i = 0; i < 4000; i++)
                assert_int_equal(fd_write_all(fd, "/x 1 2 3 4 5.6\n", 15), 0);
        fd_close(fd);
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(stat(file, &st), 0);
        assert_true(st.st_size < 1024);
}

static void nothing_is_left_beside_the_cache_file(void **state)
{
        struct bench *bench = *state;
        char file[160];

        assert_found(bench, bench->cache, "2.10.3");
        (void)snprintf(file, sizeof(file), "%s/versions", bench->cache);
        assert_int_equal(unlink(file), 0);
        assert_int_equal(rmdir(bench->cache), 0); /* so it was empty */
}

static void that_memory_is_out_costs_only_the_remembering(void **state)
{
        struct bench *bench = *state;

        mem_fail_after(0);
        assert_found(bench, bench->cache, "2.10.3");
        mem_fail_after(UINT64_MAX);
        assert_found(bench, bench->cache, "2.10.3");
        assert_int_equal(times_asked(bench), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_tool_is_asked_once),
                TEST(without_a_cache_a_tool_is_asked_each_time),
                TEST(a_changed_tool_is_asked_again),
                TEST(two_tools_are_both_remembered),
                TEST(that_a_tool_tells_no_version_is_remembered),
                TEST(the_cache_is_private_and_its_folders_are_made),
                TEST(a_cache_folder_that_others_can_write_is_ignored),
                TEST(a_cache_file_that_others_can_write_is_not_believed),
                TEST(a_cache_folder_of_another_user_is_ignored),
                TEST(a_cache_that_is_a_file_is_ignored),
                TEST(a_cache_file_that_is_a_fifo_does_not_stop_us),
                TEST(a_damaged_cache_is_healed),
                TEST(a_remembered_version_of_another_form_is_not_believed),
                TEST(a_cache_that_has_grown_too_large_is_begun_anew),
                TEST(nothing_is_left_beside_the_cache_file),
                TEST(that_memory_is_out_costs_only_the_remembering),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
