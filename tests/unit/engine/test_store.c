#include "unit.h"
#include "engine/store.h"
#include "base/fd.h"
#include "base/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char key[HASH_TEXT_MAX] =
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const struct store_bounds roomy = { 1 << 20, 100 };

struct place {
        char cache[64], source[80];
        int fd; /* of the source */
};

static int set_up(void **state)
{
        static struct place place;
        char path[128];

        (void)snprintf(place.cache, sizeof(place.cache), "/tmp/unit-store.XXXXXX");
        assert_non_null(mkdtemp(place.cache));
        (void)snprintf(place.source, sizeof(place.source), "%s.source", place.cache);
        assert_int_equal(mkdir(place.source, 0755), 0);
        (void)snprintf(path, sizeof(path), "%s/sub", place.source);
        assert_int_equal(mkdir(path, 0700), 0);
        place.fd = open(place.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(place.fd >= 0);
        *state = &place;
        return 0;
}

static int tear_down(void **state)
{
        struct place *place = *state;

        fd_close(place->fd);
        return tree_remove(place->cache) | tree_remove(place->source);
}

static void write_file(const struct place *place, const char *name, const char *text, mode_t mode)
{
        AUTO_CLOSE int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
        assert_int_equal(fchmod(fd, mode), 0);
}

static int put(const struct place *place, const struct store_bounds *bounds,
               struct store_entry *entry)
{
        struct error err = { 0 };

        return store_put(place->cache, key, place->fd, bounds, entry, &err);
}

static void what_was_put_is_found_again(void **state)
{
        const struct place *place = *state;
        struct store_entry entry;
        char path[4096], text[16] = "";
        struct stat st;

        write_file(place, "sub/file", "text", 0666);
        write_file(place, "sub/tool", "tool", 04700);
        assert_int_equal(symlinkat("../nowhere", place->fd, "link"), 0);
        assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
        assert_false(store_get(place->cache, key, &entry));
        assert_int_equal(put(place, &roomy, &entry), 0);
        store_entry_done(&entry);
        assert_true(store_get(place->cache, key, &entry));
        (void)snprintf(path, sizeof(path), "%s/sub/file", entry.path);
        assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) == 4);
        assert_string_equal(text, "text");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0644);
        (void)snprintf(path, sizeof(path), "%s/sub/tool", entry.path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0755);
        (void)snprintf(path, sizeof(path), "%s/link", entry.path);
        assert_int_equal(readlink(path, text, sizeof(text)), 10);
        (void)snprintf(path, sizeof(path), "%s/fifo", entry.path);
        assert_int_equal(lstat(path, &st), -1);
        store_entry_done(&entry);
}

static void what_was_changed_is_not_found(void **state)
{
        const struct place *place = *state;
        struct store_entry entry;
        char path[4096];
        FILE *file;

        write_file(place, "sub/file", "text", 0644);
        assert_int_equal(put(place, &roomy, &entry), 0);
        (void)snprintf(path, sizeof(path), "%s/sub/file", entry.path);
        store_entry_done(&entry);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs("tex!", file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_false(store_get(place->cache, key, &entry));
        assert_int_equal(put(place, &roomy, &entry), 0);
        store_entry_done(&entry);
        assert_true(store_get(place->cache, key, &entry));
        store_entry_done(&entry);
}

static void more_than_the_bounds_is_not_kept(void **state)
{
        const struct place *place = *state;
        const struct store_bounds few_bytes = { 3, 100 }, few_files = { 100, 1 };
        struct store_entry entry;

        write_file(place, "sub/file", "text", 0644);
        assert_int_equal(put(place, &few_bytes, &entry), SBX_ETOOBIG);
        assert_int_equal(put(place, &few_files, &entry), SBX_ETOOBIG);
        assert_false(store_get(place->cache, key, &entry));
}

static void a_second_one_takes_what_the_first_kept(void **state)
{
        const struct place *place = *state;
        struct store_entry first, second;
        struct stat a, b;

        write_file(place, "sub/file", "text", 0644);
        assert_int_equal(put(place, &roomy, &first), 0);
        assert_int_equal(put(place, &roomy, &second), 0);
        assert_string_equal(first.path, second.path);
        assert_int_equal(fstat(first.lock, &a), 0);
        assert_int_equal(fstat(second.lock, &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        store_remove(place->cache, key); /* somebody holds it: it stays */
        assert_int_equal(stat(first.path, &a), 0);
        store_entry_done(&first);
        store_entry_done(&second);
        store_remove(place->cache, key);
        assert_false(store_get(place->cache, key, &first));
}

static void a_folder_of_everybodys_is_not_believed(void **state)
{
        const struct place *place = *state;
        struct store_entry entry;

        assert_int_equal(chmod(place->cache, 0777), 0);
        assert_int_equal(put(place, &roomy, &entry), SBX_EREFUSED);
        assert_false(store_get(place->cache, key, &entry));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_was_put_is_found_again, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_was_changed_is_not_found, set_up, tear_down),
                cmocka_unit_test_setup_teardown(more_than_the_bounds_is_not_kept, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_second_one_takes_what_the_first_kept, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_folder_of_everybodys_is_not_believed, set_up,
                                                tear_down),
        };

        return RUN(tests);
}
