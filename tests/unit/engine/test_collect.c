/* Files that are copied out of a workspace: what they hold, and no more of it than there is room.
 */
#include "unit.h"
#include "base/fd.h"
#include "base/tree.h"
#include "engine/passage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1 << 20, LENGTH = 4 * MIB, DATA_AT = MIB, DATA = 64 * KIB };

struct bench {
        char place[64];
        int workspace, target;
};

static int open_folder(const struct bench *bench, const char *name)
{
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/%s", bench->place, name);
        assert_int_equal(mkdir(path, 0755), 0);
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A workspace with a file that is a hole but for some data. */
static void set_up(struct bench *bench)
{
        static char data[DATA];
        int fd;

        *bench = (struct bench){ .place = "/tmp/sandbox-unit-XXXXXX" };
        assert_non_null(mkdtemp(bench->place));
        bench->workspace = open_folder(bench, "from");
        bench->target = open_folder(bench, "to");
        memset(data, 'x', sizeof(data));
        fd = openat(bench->workspace, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(pwrite(fd, data, sizeof(data), DATA_AT), (ssize_t)sizeof(data));
        assert_int_equal(ftruncate(fd, LENGTH), 0);
        fd_close(fd);
}

static void tear_down(struct bench *bench)
{
        fd_close(bench->workspace);
        fd_close(bench->target);
        assert_int_equal(tree_remove(bench->place), 0);
}

static bool take(const struct bench *bench, struct collect_room *room)
{
        bool taken = false;

        assert_int_equal(collect_copy(bench->workspace, "sparse", bench->target, room, &taken), 0);
        assert_int_equal(faccessat(bench->target, "sparse", F_OK, 0), taken ? 0 : -1);
        return taken;
}

static void holes_stay_holes(void **state)
{
        struct collect_room room = { .file_bytes = LENGTH, .left = MIB, .length_left = LENGTH };
        char around[3];
        struct bench bench;
        struct stat st;
        int fd;

        (void)state;
        set_up(&bench);
        assert_true(take(&bench, &room));
        assert_int_equal(room.length_left, 0);
        fd = openat(bench.target, "sparse", O_RDONLY | O_CLOEXEC);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, LENGTH);
        assert_in_range((uint64_t)st.st_blocks * 512, DATA, MIB);
        assert_int_equal(pread(fd, around, 2, DATA_AT - 1), 2);
        assert_memory_equal(around, "\0x", 2);
        assert_int_equal(pread(fd, around, 2, DATA_AT + DATA - 1), 2);
        assert_memory_equal(around, "x\0", 2);
        assert_in_range(room.left, 0, MIB - DATA);
        fd_close(fd);
        tear_down(&bench);
}

static void what_does_not_fit_is_left(void **state)
{
        struct collect_room too_long = { .file_bytes = LENGTH - 1,
                                         .left = LENGTH,
                                         .length_left = LENGTH };
        struct collect_room too_much = { .file_bytes = LENGTH,
                                         .left = DATA - 1,
                                         .length_left = LENGTH };
        struct collect_room too_many = { .file_bytes = LENGTH,
                                         .left = LENGTH,
                                         .length_left = LENGTH - 1 };
        struct bench bench;

        (void)state;
        set_up(&bench);
        assert_false(take(&bench, &too_long));
        assert_false(take(&bench, &too_much));
        assert_false(take(&bench, &too_many));
        assert_int_equal(too_much.left, DATA - 1);
        tear_down(&bench);
}

/* Another run of the same workspace may write to it between a look and the copy. */
static void a_file_that_grows_meanwhile_is_left(void **state)
{
        struct collect_room room = { .file_bytes = LENGTH,
                                     .left = DATA - 1,
                                     .length_left = LENGTH };
        struct bench bench;
        struct stat st;
        int from;

        (void)state;
        set_up(&bench);
        from = openat(bench.workspace, "sparse", O_RDONLY | O_CLOEXEC);
        assert_int_equal(fstat(from, &st), 0);
        assert_int_equal(collect_write(bench.target, "sparse", from, &st, &room), 1);
        assert_int_equal(faccessat(bench.target, "sparse", F_OK, 0), -1);
        fd_close(from);
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(holes_stay_holes),
                cmocka_unit_test(what_does_not_fit_is_left),
                cmocka_unit_test(a_file_that_grows_meanwhile_is_left),
        };

        return RUN(tests);
}
