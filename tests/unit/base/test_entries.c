#include "unit.h"
#include "base/entries.h"
#include "base/fd.h"
#include "base/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES = 300 };

static void make_files(const char *folder, int count)
{
        for (int i = 0; i < count; i++) {
                char path[300];
                AUTO_CLOSE int fd = -1;

                /* Long enough that they do not fit into one reading. */
                (void)snprintf(path, sizeof(path), "%s/%0*d", folder, i % 2 ? 200 : 5, i);
                fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
                assert_true(fd >= 0);
        }
}

static int count_names(const char *folder, int *ret_sum)
{
        AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct entries entries;
        const char *name;
        int count = 0;

        *ret_sum = 0;
        entries_begin(&entries, dir);
        while ((name = entries_next(&entries))) {
                assert_string_not_equal(name, ".");
                assert_string_not_equal(name, "..");
                *ret_sum += atoi(name);
                count++;
        }
        return count;
}

static void every_name_comes_once(void **state)
{
        char folder[] = "/tmp/sandbox-entries-XXXXXX";
        int sum;

        assert_non_null(mkdtemp(folder));
        assert_int_equal(count_names(folder, &sum), 0);
        make_files(folder, FILES);
        assert_int_equal(count_names(folder, &sum), FILES);
        assert_int_equal(sum, FILES * (FILES - 1) / 2);
        tree_remove(folder);
}

static void what_is_no_directory_has_no_names(void **state)
{
        AUTO_CLOSE int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
        struct entries entries;

        entries_begin(&entries, file);
        assert_null(entries_next(&entries));
        entries_begin(&entries, -1);
        assert_null(entries_next(&entries));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_name_comes_once),
                cmocka_unit_test(what_is_no_directory_has_no_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
