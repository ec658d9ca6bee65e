/* Removing what a guest made to be hard to remove. */
#include "unit.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEEP = 5000, ORDINARY_UID = 54321 };

static char place[] = "/tmp/unit-tree.XXXXXX";

static int make_place(void **state)
{
        return mkdtemp(place) && chmod(place, 0777) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
        return rmdir(place); /* fails where a test left something */
}

/* A directory "top" below the place; the current directory afterwards. */
static void enter_top(void)
{
        assert_int_equal(chdir(place), 0);
        assert_int_equal(mkdir("top", 0755), 0);
        assert_int_equal(chdir("top"), 0);
}

static void make_file(const char *path)
{
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        close(fd);
}

static void is_removed(void)
{
        assert_int_equal(chdir(place), 0);
        assert_int_equal(tree_remove("top"), 0);
        assert_int_equal(access("top", F_OK), -1);
        assert_int_equal(errno, ENOENT);
}

static void a_tree_of_five_thousand_levels_is_removed(void **state)
{
        enter_top();
        for (int i = 0; i < DEEP; i++) {
                make_file("file");
                assert_int_equal(mkdir("d", 0755), 0);
                assert_int_equal(chdir("d"), 0);
        }
        is_removed();
}

static void a_broad_tree_is_removed(void **state)
{
        enter_top();
        for (int i = 0; i < 2000; i++) {
                char name[64];

                (void)snprintf(name, sizeof(name), "d%d", i);
                assert_int_equal(mkdir(name, 0755), 0);
                (void)snprintf(name, sizeof(name), "d%d/file", i);
                make_file(name);
        }
        is_removed();
}

static void links_are_removed_and_not_followed(void **state)
{
        struct stat st;

        enter_top();
        assert_int_equal(mkdir("../outside", 0755), 0);
        make_file("../outside/kept");
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(symlink("../outside", "link"), 0);
        assert_int_equal(symlink("../../outside", "d/link"), 0);
        assert_int_equal(symlink("/", "d/root"), 0);
        assert_int_equal(symlink("nowhere", "dangling"), 0);
        assert_int_equal(link("../outside/kept", "d/hard"), 0);
        is_removed();
        assert_int_equal(stat("outside/kept", &st), 0);
        assert_int_equal(stat("outside", &st), 0);
        assert_int_equal(st.st_mode & 0777, 0755);
        assert_int_equal(unlink("outside/kept"), 0);
        assert_int_equal(rmdir("outside"), 0);
}

static void fifos_sockets_and_odd_names_are_removed(void **state)
{
        char longest[256];

        memset(longest, 'x', 255);
        longest[255] = '\0';
        enter_top();
        assert_int_equal(mkfifo("fifo", 0600), 0);
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(mkfifo("d/fifo", 0), 0);
        assert_int_equal(mknod("d/socket", S_IFSOCK | 0600, 0), 0);
        make_file("d/\n\t\x01 -rf *");
        make_file(longest);
        assert_int_equal(mkdir("...", 0755), 0);
        make_file(".../x");
        is_removed();
}

static void names_that_are_used_for_the_work_do_no_harm(void **state)
{
        enter_top();
        for (int i = 0; i < 4; i++) {
                char name[64];

                (void)snprintf(name, sizeof(name), ".sandbox-%d", i);
                assert_int_equal(mkdir(name, 0755), 0);
                (void)snprintf(name, sizeof(name), ".sandbox-%d/a", i);
                assert_int_equal(mkdir(name, 0755), 0);
                (void)snprintf(name, sizeof(name), ".sandbox-%d/a/b", i);
                assert_int_equal(mkdir(name, 0755), 0);
        }
        is_removed();
}

/* As an ordinary user, who has no power over what took its own rights away. */
static int remove_unreadable(void)
{
        if (geteuid() == 0 && (setgid(ORDINARY_UID) < 0 || setuid(ORDINARY_UID) < 0))
                return 2;
        if (chdir(place) < 0 || mkdir("top", 0755) < 0 || mkdir("top/a", 0755) < 0 ||
            mkdir("top/a/b", 0755) < 0 || mkdir("top/a/b/c", 0755) < 0 ||
            mkdir("top/e", 0755) < 0 || mkdir("top/e/f", 0755) < 0)
                return 3;
        if (chmod("top/a/b/c", 0) < 0 || chmod("top/a/b", 0) < 0 || chmod("top/a", 0) < 0 ||
            chmod("top/e", 0555) < 0)
                return 4;
        return tree_remove("top") == 0 && access("top", F_OK) < 0 ? 0 : 1;
}

static void directories_without_rights_are_removed(void **state)
{
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(remove_unreadable());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (geteuid() == 0 && status)
                (void)!system(
                        "rm -rf /tmp/unit-tree.*/top"); /* so that one failure is one failure */
        assert_int_equal(status, 0);
}

static void what_is_not_there_is_removed_already(void **state)
{
        assert_int_equal(chdir(place), 0);
        assert_int_equal(tree_remove("nothing"), 0);
}

static void what_is_no_directory_is_refused(void **state)
{
        assert_int_equal(chdir(place), 0);
        make_file("file");
        assert_int_equal(symlink(".", "link"), 0);
        assert_int_equal(tree_remove("file"), -1);
        assert_int_equal(errno, ENOTDIR);
        assert_int_equal(tree_remove("link"), -1);
        assert_true(errno == ENOTDIR || errno == ELOOP);
        assert_int_equal(unlink("file"), 0);
        assert_int_equal(unlink("link"), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_tree_of_five_thousand_levels_is_removed),
                cmocka_unit_test(a_broad_tree_is_removed),
                cmocka_unit_test(links_are_removed_and_not_followed),
                cmocka_unit_test(fifos_sockets_and_odd_names_are_removed),
                cmocka_unit_test(names_that_are_used_for_the_work_do_no_harm),
                cmocka_unit_test(directories_without_rights_are_removed),
                cmocka_unit_test(what_is_not_there_is_removed_already),
                cmocka_unit_test(what_is_no_directory_is_refused),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
