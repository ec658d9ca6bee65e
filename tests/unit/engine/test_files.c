/* What a run changed in its workspace: told without following or reading anything a guest left. */
#include "unit.h"
#include "base/mem.h"
#include "base/tree.h"
#include "engine/files.h"
#include "engine/passage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[] = "/tmp/unit-files.XXXXXX";
static int directory = -1;

static int make_place(void **state)
{
        if (!mkdtemp(place) || chdir(place) < 0)
                return -1;
        directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
        close(directory);
        return chdir("/") < 0 || tree_remove(place) < 0 ? -1 : 0;
}

/* An empty workspace before each test. */
static int clear(void **state)
{
        if (chdir(place) < 0 || (access("w", F_OK) == 0 && tree_remove("w") < 0) ||
            mkdir("w", 0755) < 0)
                return -1;
        return chdir("w");
}

static void write_file(const char *path, const char *text)
{
        int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
}

static struct file_list list(bool strip)
{
        struct file_list found;
        int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(files_list(fd, strip, &found, NULL), 0);
        close(fd);
        return found;
}

static void is_list(const struct strlist *got, const char *expected)
{
        char text[1024] = "";

        for (size_t i = 0; i < got->count; i++) {
                strcat(text, got->items[i]);
                strcat(text, " ");
        }
        assert_string_equal(text, expected);
}

static void what_was_created_modified_and_deleted_is_told_apart(void **state)
{
        struct result *result = result_new();
        struct file_list before, after;

        write_file("kept", "same");
        write_file("changed", "old");
        write_file("gone", "x");
        assert_int_equal(mkdir("d", 0755), 0);
        write_file("d/changed", "old");
        before = list(false);
        assert_int_equal(unlink("gone"), 0);
        write_file("changed", "longer than before");
        assert_int_equal(unlink("d/changed"), 0);
        write_file("d/changed.new", "old");
        assert_int_equal(rename("d/changed.new", "d/changed"), 0); /* same bytes, another file */
        write_file("new", "");
        assert_int_equal(mkdir("e", 0755), 0);
        write_file("e/new", "");
        after = list(false);
        assert_int_equal(files_compare(&before, &after, result, NULL), 0);
        is_list(&result->created, "e/new new ");
        is_list(&result->modified, "changed d/changed ");
        is_list(&result->deleted, "gone ");
        assert_false(result->files_truncated);
        files_done(&before);
        files_done(&after);
        result_free(result);
}

static void links_are_listed_and_not_followed(void **state)
{
        struct file_list found;

        assert_int_equal(symlink("/etc", "directory"), 0);
        assert_int_equal(symlink("/etc/passwd", "file"), 0);
        assert_int_equal(symlink(".", "loop"), 0);
        assert_int_equal(symlink("nowhere", "dangling"), 0);
        found = list(true);
        assert_int_equal(found.count, 4);
        assert_string_equal(found.items[0].path, "dangling");
        assert_string_equal(found.items[1].path, "directory");
        assert_string_equal(found.items[2].path, "file");
        assert_string_equal(found.items[3].path, "loop");
        files_done(&found);
}

static void fifos_and_directories_are_not_files(void **state)
{
        struct file_list found;

        assert_int_equal(mkfifo("fifo", 0666), 0);
        assert_int_equal(mknod("socket", S_IFSOCK | 0666, 0), 0);
        assert_int_equal(mkdir("empty", 0755), 0);
        write_file("file", "");
        found = list(true);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.items[0].path, "file");
        files_done(&found);
}

static unsigned mode_of(const char *path)
{
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode & 07777;
}

static void set_user_id_bits_are_taken_off_where_asked(void **state)
{
        struct file_list found;

        write_file("suid", "x");
        write_file("sgid", "x");
        assert_int_equal(mkdir("d", 0755), 0);
        write_file("d/both", "x");
        assert_int_equal(chmod("suid", 04755), 0);
        assert_int_equal(chmod("sgid", 02755), 0);
        assert_int_equal(chmod("d/both", 06711), 0);
        found = list(false);
        files_done(&found);
        assert_int_equal(mode_of("suid"), 04755);
        found = list(true);
        files_done(&found);
        assert_int_equal(mode_of("suid"), 0755);
        assert_int_equal(mode_of("sgid"), 0755);
        assert_int_equal(mode_of("d/both"), 0711);
}

static void a_link_does_not_lend_its_hand_to_strip_another_file(void **state)
{
        struct file_list found;

        write_file("../outside", "x");
        assert_int_equal(chmod("../outside", 04755), 0);
        assert_int_equal(symlink("../outside", "link"), 0);
        found = list(true);
        files_done(&found);
        assert_int_equal(mode_of("../outside"), 04755);
        assert_int_equal(unlink("../outside"), 0);
}

static void a_deep_tree_is_cut_off_and_said_to_be(void **state)
{
        struct file_list found;

        for (int i = 0; i < 200; i++) {
                assert_int_equal(mkdir("d", 0755), 0);
                assert_int_equal(chdir("d"), 0);
        }
        write_file("bottom", "");
        assert_int_equal(chdir(place), 0);
        assert_int_equal(chdir("w"), 0);
        found = list(true);
        assert_int_equal(found.count, 0);
        assert_true(found.truncated);
        files_done(&found);
}

static void many_files_are_cut_off_and_said_to_be(void **state)
{
        struct file_list none = { 0 }, found;
        struct result *result = result_new();

        for (int i = 0; i < RESULT_FILES_MAX + 10; i++) {
                char name[32];

                (void)snprintf(name, sizeof(name), "%d", i);
                assert_int_equal(mknod(name, S_IFREG | 0644, 0), 0);
        }
        found = list(false);
        assert_int_equal(found.count, RESULT_FILES_MAX + 10);
        assert_int_equal(files_compare(&none, &found, result, NULL), 0);
        assert_int_equal(result->created.count, RESULT_FILES_MAX);
        assert_true(result->files_truncated);
        files_done(&found);
        result_free(result);
}

static void only_a_regular_file_here_is_opened(void **state)
{
        int fd, here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        write_file("program", "x");
        assert_int_equal(symlink("program", "link"), 0);
        assert_int_equal(mkfifo("fifo", 0666), 0);
        assert_int_equal(mkdir("d", 0755), 0);
        write_file("../outside", "x");
        fd = files_open(here, "program");
        assert_true(fd >= 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
        assert_int_equal(files_open(here, "link"), -1);
        assert_int_equal(files_open(here, "fifo"), -1);
        assert_int_equal(files_open(here, "d"), -1);
        assert_int_equal(files_open(here, "../outside"), -1);
        assert_int_equal(files_open(here, "/etc/passwd"), -1);
        assert_int_equal(files_open(here, "absent"), -1);
        assert_int_equal(errno, ENOENT);
        assert_int_equal(unlink("../outside"), 0);
        close(here);
}

static void listing_survives_every_failing_allocation(void **state)
{
        int r = SBX_ENOMEM, here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint64_t n;

        for (int i = 0; i < 20; i++)
                write_file((char[]){ (char)('a' + i), '\0' }, "");
        for (n = 0; r != 0 && n < 1000; n++) {
                struct result *result = result_new();
                struct file_list none = { 0 }, found;

                mem_fail_after(n);
                r = files_list(here, false, &found, NULL);
                if (r == 0) {
                        r = files_compare(&none, &found, result, NULL);
                        files_done(&found);
                }
                mem_fail_after(UINT64_MAX);
                assert_true(r == 0 || r == SBX_ENOMEM);
                result_free(result);
        }
        assert_int_equal(r, 0);
        assert_true(n > 20);
        close(here);
}

static void every_limit_is_listed_in_its_own_unit(void **state)
{
        struct limits limits = { .timeout_ms = 1500,
                                 .cpu_time_ms = 2000,
                                 .memory_bytes = 64 << 20,
                                 .cpus_milli = 500,
                                 .processes = 7,
                                 .disk_bytes = 4096,
                                 .open_files = 9,
                                 .stdout_bytes = 0,
                                 .stderr_bytes = 11 };
        static const struct {
                const char *name;
                double value;
        } expected[] = {
                { "timeout", 1.5 },  { "cpu_time", 2 },  { "memory", 64 << 20 },
                { "cpus", 0.5 },     { "processes", 7 }, { "disk", 4096 },
                { "open_files", 9 }, { "stdout", 0 },    { "stderr", 11 },
        };
        struct result *result = result_new();

        limits_list(&limits, result);
        assert_int_equal(result->limit_count, ARRAY_SIZE(expected));
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
                assert_string_equal(result->limits[i].name, expected[i].name);
                assert_true(result->limits[i].value == expected[i].value);
        }
        result_free(result);
}

#define TEST_IN_WORKSPACE(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST_IN_WORKSPACE(what_was_created_modified_and_deleted_is_told_apart),
                TEST_IN_WORKSPACE(links_are_listed_and_not_followed),
                TEST_IN_WORKSPACE(fifos_and_directories_are_not_files),
                TEST_IN_WORKSPACE(set_user_id_bits_are_taken_off_where_asked),
                TEST_IN_WORKSPACE(a_link_does_not_lend_its_hand_to_strip_another_file),
                TEST_IN_WORKSPACE(a_deep_tree_is_cut_off_and_said_to_be),
                TEST_IN_WORKSPACE(many_files_are_cut_off_and_said_to_be),
                TEST_IN_WORKSPACE(only_a_regular_file_here_is_opened),
                TEST_IN_WORKSPACE(listing_survives_every_failing_allocation),
                cmocka_unit_test(every_limit_is_listed_in_its_own_unit),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
