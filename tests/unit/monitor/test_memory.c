/* What processes have, read from a folder that looks like /proc. */
#include "unit.h"
#include "base/fd.h"
#include "base/tree.h"
#include "monitor/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MIB = 1 << 20, DEVICE_MINOR = 42, PIECE = 4607 /* of a line, read at once */ };

static void put(int proc, const char *path, const char *text)
{
        int fd = openat(proc, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        fd_close(fd);
}

/* A process with 3 MiB of its own that has mapped 40 MiB of a file; without its mappings where it
 * ends between two looks. */
static void put_process(int proc, const char *pid, bool has_mappings)
{
        char path[64];

        assert_int_equal(mkdirat(proc, pid, 0700), 0);
        (void)snprintf(path, sizeof(path), "%s/smaps_rollup", pid);
        put(proc, path, "all\nPss_Anon: 3072 kB\nPss_Shmem: 40960 kB\nSwapPss: 0 kB\n");
        (void)snprintf(path, sizeof(path), "%s/status", pid);
        put(proc, path, "Name: x\nVmPTE: 0 kB\n");
        (void)snprintf(path, sizeof(path), "%s/smaps", pid);
        put(proc, path,
            has_mappings ? "1000-2000 rw-s 00000000 00:2a 7 /tmp/big\nPss: 40960 kB\n"
                           "Anonymous: 0 kB\n"
                         : "");
}

static void a_mapped_file_counts_once(void **state)
{
        static struct held held; /* large */
        const long living[] = { 7 }, both[] = { 7, 8 };
        char place[] = "/tmp/sandbox-unit-XXXXXX";
        struct memory memory;
        int proc;

        (void)state;
        held.memory_device = makedev(0, DEVICE_MINOR);
        assert_non_null(mkdtemp(place));
        proc = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        put_process(proc, "7", true);
        put_process(proc, "8", false);
        memory = memory_exact(proc, living, 1, &held);
        assert_int_equal(memory.own, 3 * MIB);
        assert_int_equal(memory.shared, 0);
        memory = memory_exact(proc, both, 2, &held);
        assert_int_equal(memory.own, 3 * MIB);
        assert_int_equal(memory.shared, 0);
        fd_close(proc);
        assert_int_equal(tree_remove(place), 0);
}

/* A line as far as it is read at once: this text, and more of a name. */
static size_t put_piece(char *at, const char *text)
{
        memset(at, 'x', PIECE);
        memcpy(at, text, strlen(text));
        return PIECE;
}

static void a_name_that_looks_like_a_share_is_a_name(void **state)
{
        static struct held held; /* large */
        static char smaps[4 * PIECE];
        const long pids[] = { 7 };
        char place[] = "/tmp/sandbox-unit-XXXXXX";
        size_t length;
        struct memory memory;
        int proc;

        (void)state;
        held.memory_device = makedev(0, DEVICE_MINOR);
        assert_non_null(mkdtemp(place));
        proc = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        put_process(proc, "7", false);
        length = put_piece(smaps, "1000-2000 rw-s 00000000 00:2a 7 /tmp/");
        length += put_piece(smaps + length, "Pss: 40960 kB ");
        (void)snprintf(smaps + length, sizeof(smaps) - length,
                       "Anonymous: 0 kB\nPss: 1024 kB\nAnonymous: 0 kB\n");
        put(proc, "7/smaps", smaps);
        memory = memory_exact(proc, pids, 1, &held);
        assert_int_equal(memory.own, 3 * MIB);
        assert_int_equal(memory.shared, 39 * MIB);
        fd_close(proc);
        assert_int_equal(tree_remove(place), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_mapped_file_counts_once),
                cmocka_unit_test(a_name_that_looks_like_a_share_is_a_name),
        };

        return RUN(tests);
}
