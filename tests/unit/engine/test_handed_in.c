/* The way to what is handed in: where it leads, which links it took, and what is refused on it. */
#include "unit.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tree.h"
#include "engine/handed_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[] = "/tmp/unit-handed-in.XXXXXX";

/* A folder that programs can write to, with links in it and beside it. */
static int make_place(void **state)
{
        if (!mkdtemp(place) || chdir(place) < 0 || mkdir("shared", 0755) < 0 ||
            mkdir("shared/sub", 0755) < 0 || mkdir("outside", 0755) < 0 ||
            mkdir("outside/deep", 0755) < 0)
                return -1;
        fd_close(open("outside/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        return symlink("../outside", "shared/planted") < 0 || symlink("shared/sub", "own") < 0 ||
                               symlink("shared/planted", "behind") < 0 ||
                               symlink("missing", "dangling") < 0 ||
                               symlink("dangling", "twice") < 0 || symlink("loop", "loop") < 0
                       ? -1
                       : 0;
}

static int remove_place(void **state)
{
        return chdir("/") < 0 || tree_remove(place) < 0 ? -1 : 0;
}

/* The way leads to `end` of the place, through so many links. */
static void leads_to(const char *given, const char *end, size_t links)
{
        struct handed_in_way way;
        char expected[256];

        (void)snprintf(expected, sizeof(expected), "%s%s", place, end);
        assert_int_equal(handed_in_walk(given, &way), 0);
        assert_string_equal(way.place, expected);
        assert_int_equal(way.links.count, links);
        assert_false(way.is_open);
        handed_in_way_done(&way);
}

static void fails_with(const char *given, int error)
{
        struct handed_in_way way;

        errno = 0;
        assert_int_equal(handed_in_walk(given, &way), -1);
        assert_int_equal(errno, error);
        assert_null(way.place);
}

static void a_way_is_gone_as_the_kernel_goes_it(void **state)
{
        leads_to(".", "", 0);
        leads_to("shared", "/shared", 0);
        leads_to("./shared//sub/", "/shared/sub", 0);
        leads_to("shared/sub/../../outside/./deep", "/outside/deep", 0);
        leads_to("own", "/shared/sub", 1);
        leads_to("own/..", "/shared", 1);
        leads_to("shared/planted/deep", "/outside/deep", 1);
        leads_to("behind/deep/", "/outside/deep", 2);
        leads_to("outside/file", "/outside/file", 0);
}

static void what_may_yet_be_made_is_found(void **state)
{
        leads_to("new", "/new", 0);
        leads_to("new/", "/new", 0);
        leads_to("own/new", "/shared/sub/new", 1);
}

/* As mkdir(2) does not follow such a link. */
static void nothing_is_found_at_the_end_of_a_dangling_link(void **state)
{
        static const char *const links[] = { "dangling", "dangling/", "twice" };
        struct strlist none = { 0 };
        struct error error = { 0 };

        leads_to("dangling", "/missing", 1);
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                char *found = NULL;

                assert_int_equal(handed_in_find("workspace", links[i], true, &none, &found, &error),
                                 SBX_EINVAL);
                assert_has(error.message, "No such file");
                assert_null(found);
        }
}

static void what_the_kernel_would_not_open_is_not_found(void **state)
{
        char name[NAME_MAX + 2];

        memset(name, 'a', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        fails_with("", ENOENT);
        fails_with("new/deeper", ENOENT);
        fails_with("new/..", ENOENT);
        fails_with("outside/file/", ENOTDIR);
        fails_with("outside/file/..", ENOTDIR);
        fails_with("outside/file/deeper", ENOTDIR);
        fails_with("loop", ELOOP);
        fails_with(name, ENAMETOOLONG);
}

static void a_link_of_the_kernels_leads_to_what_is_open(void **state)
{
        struct handed_in_way way;
        int pipe_fds[2];
        char path[64];

        leads_to("/proc/self/cwd/shared", "/shared", 0);
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        (void)snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[0]);
        assert_int_equal(handed_in_walk(path, &way), 0);
        assert_true(way.is_open);
        assert_true(access(way.place, R_OK) == 0);
        handed_in_way_done(&way);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
}

static void is_refused(const char *given, const struct strlist *writable)
{
        char *found = NULL;
        struct error error = { 0 };

        assert_int_equal(handed_in_find("volume", given, false, writable, &found, &error),
                         SBX_EINVAL);
        assert_has(error.message, "goes through a link in");
        assert_has(error.hint, "remove the link");
        assert_null(found);
}

static void is_found(const char *given, const struct strlist *writable)
{
        char *found = NULL;

        assert_int_equal(handed_in_find("volume", given, false, writable, &found, NULL), 0);
        assert_non_null(found);
        mem_free(found);
}

static void a_link_where_programs_can_write_is_refused(void **state)
{
        struct strlist writable = { 0 };
        char shared[128];

        (void)snprintf(shared, sizeof(shared), "%s/shared", place);
        is_found("shared/planted", &writable);
        assert_int_equal(strlist_add(&writable, shared), 0);
        is_refused("shared/planted", &writable);
        is_refused("shared/planted/deep", &writable);
        is_refused("behind", &writable);
        is_refused("own/../planted", &writable);
        is_found("own", &writable);
        is_found("shared/sub", &writable);
        strlist_done(&writable);
}

static void a_folder_is_made_and_removed_through_no_link(void **state)
{
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/shared/planted/made", place);
        errno = 0;
        assert_int_equal(handed_in_make_folder(path, 0700), -1);
        assert_int_equal(errno, ELOOP);
        (void)snprintf(path, sizeof(path), "%s/shared/planted/deep", place);
        assert_int_equal(handed_in_remove_folder(path), -1);
        assert_int_equal(access("outside/deep", F_OK), 0);
        (void)snprintf(path, sizeof(path), "%s/outside/made", place);
        assert_int_equal(handed_in_make_folder(path, 0700), 0);
        assert_int_equal(handed_in_remove_folder(path), 0);
        assert_int_equal(handed_in_make_folder("/", 0700), -1);
        assert_int_equal(errno, EEXIST);
}

/* What was found is looked at as it is: a link that has taken its place since is not followed. */
static void a_place_that_has_become_a_link_is_refused(void **state)
{
        char path[128];
        struct error error = { 0 };

        (void)snprintf(path, sizeof(path), "%s/outside/deep", place);
        assert_int_equal(handed_in_check("volume", "x", path, false, &error), 0);
        (void)snprintf(path, sizeof(path), "%s/shared/planted/deep", place);
        assert_int_equal(handed_in_check("volume", "x", path, false, &error), SBX_EINVAL);
        (void)snprintf(path, sizeof(path), "%s/shared/planted", place);
        assert_int_equal(handed_in_check("volume", "x", path, false, &error), SBX_EINVAL);
}

/* What is opened: 0, or the code and, where the kernel refused, errno. */
static int opens(const char *given, int flags, const struct strlist *writable)
{
        int fd = -1, r;

        errno = 0;
        r = handed_in_open("the path", given, flags, 0700, writable, &fd, NULL);
        assert_true((r == 0) == (fd >= 0));
        fd_close(fd);
        return r;
}

static void a_path_is_opened_as_the_caller_would_but_for_planted_links(void **state)
{
        struct strlist writable = { 0 };
        char shared[128];

        (void)snprintf(shared, sizeof(shared), "%s/shared", place);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(opens("outside/file", O_RDONLY, &writable), 0);
                assert_int_equal(opens("own", O_RDONLY | O_DIRECTORY, &writable), 0);
                assert_int_equal(opens("/dev/null", O_RDONLY, &writable), 0);
                assert_int_equal(opens("/proc/self/cwd", O_RDONLY, &writable), 0);
                assert_int_equal(opens("new/deeper", O_RDONLY, &writable), SBX_ESYSTEM);
                assert_int_equal(errno, ENOENT);
                assert_int_equal(opens("outside/file", O_RDONLY | O_DIRECTORY, &writable),
                                 SBX_ESYSTEM);
                assert_int_equal(errno, ENOTDIR);
                assert_int_equal(opens("own/file", O_WRONLY | O_CREAT, &writable), 0);
                assert_int_equal(unlink("shared/sub/file"), 0);
                assert_int_equal(opens("own/a/", O_RDONLY | O_DIRECTORY | O_CREAT, &writable), 0);
                assert_int_equal(opens("own/a", O_RDONLY | O_DIRECTORY | O_CREAT, &writable), 0);
                assert_int_equal(rmdir("shared/sub/a"), 0);
                assert_int_equal(opens("dangling", O_RDONLY | O_DIRECTORY | O_CREAT, &writable),
                                 SBX_ESYSTEM);
                assert_int_equal(errno, ENOENT);
                assert_int_equal(opens("dangling", O_WRONLY | O_CREAT, &writable), 0);
                assert_int_equal(unlink("missing"), 0);
                assert_int_equal(opens("behind/file", O_RDONLY, &writable), i ? SBX_EINVAL : 0);
                assert_int_equal(strlist_add(&writable, shared), 0);
        }
        assert_int_equal(opens("shared/planted/made", O_WRONLY | O_CREAT, &writable), SBX_EINVAL);
        assert_int_equal(opens("behind/made", O_RDONLY | O_DIRECTORY | O_CREAT, &writable),
                         SBX_EINVAL);
        assert_int_equal(access("outside/made", F_OK), -1);
        strlist_done(&writable);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_way_is_gone_as_the_kernel_goes_it),
                cmocka_unit_test(what_may_yet_be_made_is_found),
                cmocka_unit_test(nothing_is_found_at_the_end_of_a_dangling_link),
                cmocka_unit_test(what_the_kernel_would_not_open_is_not_found),
                cmocka_unit_test(a_link_of_the_kernels_leads_to_what_is_open),
                cmocka_unit_test(a_link_where_programs_can_write_is_refused),
                cmocka_unit_test(a_folder_is_made_and_removed_through_no_link),
                cmocka_unit_test(a_place_that_has_become_a_link_is_refused),
                cmocka_unit_test(a_path_is_opened_as_the_caller_would_but_for_planted_links),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
