/* The cache of compiled programs: what was put is got, damage is found, the oldest goes first. */
#include "unit.h"
#include "base/mem.h"
#include "base/tree.h"
#include "engine/cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDE = 1 << 30 };

static char place[] = "/tmp/unit-cache.XXXXXX";

static int make_place(void **state)
{
        return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state)
{
        return tree_remove(place);
}

static void make_key(char key[HASH_TEXT_MAX], char letter)
{
        memset(key, letter, HASH_TEXT_MAX - 1);
        key[HASH_TEXT_MAX - 1] = '\0';
}

static void put(char letter, size_t bytes, uint64_t most)
{
        struct cache_entry entry = { 0 };
        char key[HASH_TEXT_MAX], *data = mem_alloc(bytes);

        assert_non_null(data);
        memset(data, letter, bytes);
        make_key(key, letter);
        bundle_init(&entry.files);
        strbuf_adds(&entry.err, "a warning");
        assert_int_equal(bundle_add(&entry.files, "classes/A", 0644, "first", 5, NULL), 0);
        assert_int_equal(bundle_add(&entry.files, "main", 0755, data, bytes, NULL), 0);
        cache_put(place, key, &entry, most);
        cache_entry_done(&entry);
        mem_free(data);
}

static bool get(char letter, struct cache_entry *entry)
{
        char key[HASH_TEXT_MAX];

        make_key(key, letter);
        return cache_get(place, key, entry);
}

static bool has(char letter)
{
        struct cache_entry entry;
        bool found = get(letter, &entry);

        if (found)
                cache_entry_done(&entry);
        return found;
}

static void what_was_put_is_got(void **state)
{
        struct cache_entry entry;
        char bytes[4] = { 0 };

        put('a', 100000, WIDE);
        assert_true(get('a', &entry));
        assert_string_equal(entry.err.data, "a warning");
        assert_int_equal(entry.files.count, 2);
        assert_int_equal(entry.files.files[1].mode, 0755);
        assert_int_equal(entry.files.files[1].length, 100000);
        assert_int_equal(pread(entry.files.fd, bytes, 3, (off_t)entry.files.files[1].offset), 3);
        assert_string_equal(bytes, "aaa");
        assert_int_equal(pread(entry.files.fd, bytes, 3, (off_t)entry.files.files[0].offset), 3);
        assert_string_equal(bytes, "fir");
        cache_entry_done(&entry);
        assert_false(has('b'));
}

static void every_changed_byte_is_found(void **state)
{
        char path[256], key[HASH_TEXT_MAX];
        struct stat st;

        make_key(key, 'c');
        (void)snprintf(path, sizeof(path), "%s/compiled/%s", place, key);
        put('c', 64, WIDE);
        assert_int_equal(stat(path, &st), 0);
        for (off_t at = 0; at < st.st_size; at++) {
                unsigned char byte;
                int fd;

                put('c', 64, WIDE);
                fd = open(path, O_RDWR);
                assert_true(fd >= 0);
                assert_int_equal(pread(fd, &byte, 1, at), 1);
                byte ^= 1;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
                close(fd);
                if (has('c'))
                        fail_msg("byte %ld of %ld changed, and it is believed", (long)at,
                                 (long)st.st_size);
                assert_int_equal(access(path, F_OK), -1); /* and gone */
        }
}

static void every_cut_is_found(void **state)
{
        char path[256], key[HASH_TEXT_MAX];

        make_key(key, 'd');
        (void)snprintf(path, sizeof(path), "%s/compiled/%s", place, key);
        for (off_t length = 0; length < 150; length++) {
                put('d', 64, WIDE);
                assert_int_equal(truncate(path, length), 0);
                assert_false(has('d'));
        }
}

static void use(char letter, time_t when)
{
        char path[256], key[HASH_TEXT_MAX];
        const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

        make_key(key, letter);
        (void)snprintf(path, sizeof(path), "%s/compiled/%s", place, key);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_was_used_longest_ago_goes_first(void **state)
{
        put('0', 10000, WIDE);
        put('1', 10000, WIDE);
        put('2', 10000, WIDE);
        use('0', 3000);
        use('1', 1000);
        use('2', 2000);
        use('a', 500);
        put('3', 10000, 35000);
        assert_true(has('3'));
        assert_true(has('0'));
        assert_true(has('2'));
        assert_false(has('1'));
        assert_false(has('a'));
}

static void being_got_is_being_used(void **state)
{
        use('0', 1000);
        use('2', 2000);
        use('3', 3000);
        assert_true(has('0'));
        put('4', 10000, 35000);
        assert_true(has('0'));
        assert_false(has('2'));
}

static void what_is_larger_than_the_whole_is_not_kept(void **state)
{
        put('5', 50000, 35000);
        assert_false(has('5'));
        assert_true(has('4'));
}

static void without_a_place_nothing_is_kept(void **state)
{
        struct cache_entry entry;
        char key[HASH_TEXT_MAX];

        make_key(key, '4');
        assert_false(cache_get(NULL, key, &entry));
        assert_false(cache_get("/nonexistent", key, &entry));
}

static void no_failing_allocation_makes_a_wrong_entry(void **state)
{
        for (uint64_t n = 0; n < 30; n++) {
                struct cache_entry entry;
                bool found;

                mem_fail_after(n);
                found = get('4', &entry);
                mem_fail_after(UINT64_MAX);
                if (found) {
                        assert_int_equal(entry.files.count, 2);
                        assert_string_equal(entry.err.data, "a warning");
                        cache_entry_done(&entry);
                } else {
                        put('4', 10000, WIDE);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_put_is_got),
                cmocka_unit_test(every_changed_byte_is_found),
                cmocka_unit_test(every_cut_is_found),
                cmocka_unit_test(what_was_used_longest_ago_goes_first),
                cmocka_unit_test(being_got_is_being_used),
                cmocka_unit_test(what_is_larger_than_the_whole_is_not_kept),
                cmocka_unit_test(without_a_place_nothing_is_kept),
                cmocka_unit_test(no_failing_allocation_makes_a_wrong_entry),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
