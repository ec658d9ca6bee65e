/* Opening beneath a directory: the kernel's way and ours give the same answers. */
#include "unit.h"
#include "wasm/beneath.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[] = "/tmp/sandbox-unit-beneath.XXXXXX";

static int make_place(void **state)
{
        int fd;

        (void)state;
        if (!mkdtemp(place) || chdir(place) < 0 || mkdir("in", 0755) < 0 ||
            mkdir("in/a", 0755) < 0 || mkdir("in/a/b", 0755) < 0 || symlink("..", "in/up") < 0 ||
            symlink("../../out", "in/a/far") < 0 || symlink("a/b", "in/near") < 0 ||
            symlink("/etc", "in/absolute") < 0 || symlink("loop", "in/loop") < 0 ||
            symlink("b/../file", "in/a/bent") < 0 || symlink("nothing", "in/dangling") < 0)
                return -1;
        fd = open("in/a/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        fd_close(fd);
        fd_close(open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        return fd < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
        (void)state;
        return chdir("/") < 0 ? -1 : tree_remove(place);
}

static const struct {
        const char *path;
        int flags;
        int error; /* 0: it opens */
} cases[] = {
        { "a", O_RDONLY, 0 },
        { "a/file", O_RDONLY, 0 },
        { "a//./file", O_RDONLY, 0 },
        { "a/b/../file", O_RDONLY, 0 },
        { ".", O_RDONLY, 0 },
        { "a/..", O_RDONLY, 0 },
        { "near", O_RDONLY, 0 },
        { "near/../file", O_RDONLY, 0 },
        { "a/bent", O_RDONLY, 0 },
        { "a/", O_RDONLY, 0 },
        { "near/", O_RDONLY, 0 },
        { "near", O_PATH | O_NOFOLLOW, 0 },
        { "up", O_PATH | O_NOFOLLOW, 0 },
        { "a/new", O_WRONLY | O_CREAT, 0 },
        { "..", O_RDONLY, EXDEV },
        { "../out", O_RDONLY, EXDEV },
        { "a/../../out", O_RDONLY, EXDEV },
        { "up", O_RDONLY, EXDEV },
        { "up/out", O_RDONLY, EXDEV },
        { "up/in/a", O_RDONLY, EXDEV },
        { "a/far", O_RDONLY, EXDEV },
        { "a/far", O_WRONLY | O_CREAT, EXDEV },
        { "absolute", O_RDONLY, EXDEV },
        { "absolute/passwd", O_RDONLY, EXDEV },
        { "/etc/passwd", O_RDONLY, EXDEV },
        { "loop", O_RDONLY, ELOOP },
        { "loop/x", O_RDONLY, ELOOP },
        { "near", O_RDONLY | O_NOFOLLOW, ELOOP },
        { "a/file/", O_RDONLY, ENOTDIR },
        { "a/file/x", O_RDONLY, ENOTDIR },
        { "a/none", O_RDONLY, ENOENT },
        { "none/x", O_RDONLY, ENOENT },
        { "dangling", O_RDONLY, ENOENT },
        { "a/file", O_WRONLY | O_CREAT | O_EXCL, EEXIST },
        { "near", O_WRONLY | O_CREAT | O_EXCL, EEXIST },
};

static void check(int (*way)(int, const char *, uint64_t, mode_t))
{
        AUTO_CLOSE int directory = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(directory >= 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                AUTO_CLOSE int fd = way(directory, cases[i].path, (uint64_t)cases[i].flags, 0644);
                int error = fd < 0 ? errno : 0;

                if (error != cases[i].error)
                        print_error("'%s', flags %o: %s\n", cases[i].path, (unsigned)cases[i].flags,
                                    strerror(error));
                assert_int_equal(error, cases[i].error);
        }
        (void)unlink("in/a/new");
}

static void the_kernel_holds_a_path_beneath(void **state)
{
        (void)state;
        check(beneath_open);
}

static void a_walk_gives_the_same_answers(void **state)
{
        (void)state;
        check(beneath_walk);
}

static void a_path_too_long_is_an_error(void **state)
{
        AUTO_CLOSE int directory = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char path[20000];

        (void)state;
        for (size_t i = 0; i + 2 < sizeof(path); i += 2)
                memcpy(path + i, "./", 3);
        assert_int_equal(beneath_walk(directory, path, O_RDONLY, 0), -1);
        assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_kernel_holds_a_path_beneath),
                cmocka_unit_test(a_walk_gives_the_same_answers),
                cmocka_unit_test(a_path_too_long_is_an_error),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
