/* What processes hold of a disk, read from a folder that looks like /proc. */
#include "unit.h"
#include "base/fd.h"
#include "base/tree.h"
#include "monitor/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LENGTH = 6000, PIECE = 4607 /* of a line, read at once */ };

/* Whether something cannot be measured that a process with this mapping holds: who looks has no
 * rights to. */
static bool has_unseen(const char *mapping)
{
        struct held *held = calloc(1, sizeof(*held));
        char place[] = "/tmp/sandbox-unit-XXXXXX";
        int proc, maps;
        bool unseen;

        assert_non_null(held);
        held->on_disk = held->counts_everywhere = true;
        assert_non_null(mkdtemp(place));
        proc = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(proc, "7", 0700), 0);
        maps = openat(proc, "7/maps", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(maps, mapping, strlen(mapping)), (ssize_t)strlen(mapping));
        fd_close(maps);
        held_add(held, proc, 7);
        fd_close(proc);
        assert_int_equal(tree_remove(place), 0);
        unseen = held->has_unseen;
        free(held);
        return unseen;
}

static void mappings_of_removed_files_are_found(void **state)
{
        (void)state;
        assert_true(has_unseen("1000-2000 rw-s 00000000 08:01 7 /x (deleted)\n"));
        assert_false(has_unseen("1000-2000 rw-s 00000000 08:01 7 /x\n"));
        assert_false(has_unseen("1000-2000 rw-s 00000000 00:01 7 /memfd:x (deleted)\n"));
}

static void a_name_that_is_too_long_may_be_that_of_a_removed_file(void **state)
{
        char line[NAME_LENGTH + 128], name[NAME_LENGTH + 1];

        (void)state;
        memset(name, 'x', NAME_LENGTH);
        name[NAME_LENGTH] = '\0';
        (void)snprintf(line, sizeof(line), "1000-2000 rw-s 00000000 08:01 7 /%s (deleted)\n", name);
        assert_true(has_unseen(line));
}

/* What is read of a name after its first part begins where a line would. */
static void a_name_that_looks_like_a_mapping_is_a_name(void **state)
{
        static const char forged[] = "3000-4000 rw-s 00000000 08:01 8 /y (deleted)\n";
        static const char begins[] = "1000-2000 rw-s 00000000 00:01 7 /memfd:";
        char line[PIECE + sizeof(forged)];

        (void)state;
        memset(line, 'x', PIECE);
        memcpy(line, begins, strlen(begins));
        memcpy(line + PIECE, forged, sizeof(forged));
        assert_false(has_unseen(line));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mappings_of_removed_files_are_found),
                cmocka_unit_test(a_name_that_is_too_long_may_be_that_of_a_removed_file),
                cmocka_unit_test(a_name_that_looks_like_a_mapping_is_a_name),
        };

        return RUN(tests);
}
