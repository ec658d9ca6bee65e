/* Bundles: what paths can stand in them, what a folder gives, and that nothing is followed. */
#include "unit.h"
#include "base/bundle.h"
#include "base/mem.h"
#include "base/tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct bundle_bounds wide = { 1 << 20, 1000 };

static void paths_that_leave_or_confuse_are_refused(void **state)
{
        static const char *const bad[] = { "",   "/a",  "..",  "../a", "a/../b", "a//b",
                                           "a/", "./a", "a/.", "a\nb", "a\x7f",  "\x1b[31m" };
        static const char *const good[] = { "a", "a/b", "..a", "a..", ".hidden", "a b/\xc3\xa4" };
        char deep[3 * (BUNDLE_DEPTH_MAX + 3)] = "", long_name[300];

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (!bundle_refuse_path(bad[i]))
                        fail_msg("'%s' passes", bad[i]);
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                assert_null(bundle_refuse_path(good[i]));
        for (int i = 0; i < BUNDLE_DEPTH_MAX + 1; i++)
                strcat(deep, "d/");
        strcat(deep, "f");
        assert_has(bundle_refuse_path(deep), "deep");
        memset(long_name, 'x', sizeof(long_name) - 1);
        long_name[sizeof(long_name) - 1] = '\0';
        assert_has(bundle_refuse_path(long_name), "255");
}

static void files_lie_one_after_another(void **state)
{
        struct bundle bundle;
        char text[8] = { 0 };

        bundle_init(&bundle);
        assert_int_equal(bundle_add(&bundle, "b", 0644, "12", 2, NULL), 0);
        assert_int_equal(bundle_add(&bundle, "a/c", 0755, "345", 3, NULL), 0);
        assert_int_equal(bundle_settle(&bundle, NULL), 0);
        assert_string_equal(bundle.files[0].path, "a/c");
        assert_int_equal(bundle.files[0].offset, 2);
        assert_int_equal(pread(bundle.fd, text, 7, 0), 5);
        assert_string_equal(text, "12345");
        assert_non_null(bundle_find(&bundle, "b"));
        assert_null(bundle_find(&bundle, "a"));
        bundle_done(&bundle);
}

static void refuses_together(const char *first, const char *second, const char *why)
{
        struct error err = { 0 };
        struct bundle bundle;

        bundle_init(&bundle);
        assert_int_equal(bundle_add(&bundle, first, 0644, "", 0, NULL), 0);
        assert_int_equal(bundle_add(&bundle, second, 0644, "", 0, NULL), 0);
        assert_int_equal(bundle_settle(&bundle, &err), SBX_EINVAL);
        assert_has(err.message, why);
        bundle_done(&bundle);
}

static void what_cannot_stand_together_is_refused(void **state)
{
        refuses_together("a", "a", "given twice");
        refuses_together("a", "a/b", "below a file");
        refuses_together("x/y/z", "x", "below a file");
}

static char place[] = "/tmp/unit-bundle.XXXXXX";

static int make_place(void **state)
{
        return mkdtemp(place) && chdir(place) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
        return chdir("/") < 0 ? -1 : tree_remove(place);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
}

static int add_here(struct bundle *bundle, const struct bundle_bounds *bounds, bool links,
                    struct error *err)
{
        int dirfd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        assert_true(dirfd >= 0);
        bundle_init(bundle);
        r = bundle_add_tree(bundle, dirfd, "", bounds, links, err);
        close(dirfd);
        return r;
}

static void a_folder_gives_its_files_and_links_and_nothing_else(void **state)
{
        struct bundle bundle;
        char target[12] = { 0 };

        assert_int_equal(mkdir("d", 0755), 0);
        write_file("plain", "p", 0600);
        write_file("d/run", "r", 0700);
        assert_int_equal(symlink("/etc/passwd", "link"), 0);
        assert_int_equal(symlink("..", "d/up"), 0);
        assert_int_equal(mkfifo("fifo", 0600), 0);
        assert_int_equal(add_here(&bundle, &wide, true, NULL), 0);
        assert_int_equal(bundle.count, 4);
        assert_int_equal(bundle_find(&bundle, "plain")->mode, 0644);
        assert_int_equal(bundle_find(&bundle, "d/run")->mode, 0755);
        assert_true(S_ISLNK(bundle_find(&bundle, "link")->mode));
        assert_int_equal(pread(bundle.fd, target, 11, (off_t)bundle_find(&bundle, "link")->offset),
                         11);
        assert_string_equal(target, "/etc/passwd");
        bundle_done(&bundle);
        assert_int_equal(add_here(&bundle, &wide, false, NULL), 0);
        assert_int_equal(bundle.count, 2);
        bundle_done(&bundle);
}

static void a_folder_is_read_no_further_than_its_bounds(void **state)
{
        static const struct bundle_bounds few = { 1 << 20, 1 }, small = { 1, 1000 };
        struct error err = { 0 };
        struct bundle bundle;

        assert_int_equal(add_here(&bundle, &few, false, &err), SBX_ETOOBIG);
        assert_has(err.message, "too many files");
        bundle_done(&bundle);
        write_file("plain", "pp", 0600);
        assert_int_equal(add_here(&bundle, &small, false, &err), SBX_ETOOBIG);
        assert_has(err.message, "too many bytes");
        bundle_done(&bundle);
}

static void every_failing_allocation_is_told(void **state)
{
        for (uint64_t n = 0; n < 20; n++) {
                struct bundle bundle;
                struct error err = { 0 };
                int r;

                mem_fail_after(n);
                r = add_here(&bundle, &wide, true, &err);
                mem_fail_after(UINT64_MAX);
                assert_true(r == 0 || r == SBX_ENOMEM);
                bundle_done(&bundle);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(paths_that_leave_or_confuse_are_refused),
                cmocka_unit_test(files_lie_one_after_another),
                cmocka_unit_test(what_cannot_stand_together_is_refused),
                cmocka_unit_test(a_folder_gives_its_files_and_links_and_nothing_else),
                cmocka_unit_test(a_folder_is_read_no_further_than_its_bounds),
                cmocka_unit_test(every_failing_allocation_is_told),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
