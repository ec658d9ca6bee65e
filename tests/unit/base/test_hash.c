#include "unit.h"
#include "base/hash.h"
#include "base/fd.h"

#include <unistd.h>

static void hash_of(const void *data, size_t length, char text[HASH_TEXT_MAX])
{
        struct hash hash;

        hash_init(&hash);
        hash_update(&hash, data, length);
        hash_final(&hash, text);
}

/* The examples of FIPS 180-4. */
static void known_inputs_have_their_known_hashes(void **state)
{
        char text[HASH_TEXT_MAX];

        hash_of("", 0, text);
        assert_string_equal(text,
                            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        hash_of("abc", 3, text);
        assert_string_equal(text,
                            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, text);
        assert_string_equal(text,
                            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void parts_are_told_apart(void **state)
{
        char first[HASH_TEXT_MAX], second[HASH_TEXT_MAX], third[HASH_TEXT_MAX];
        struct hash hash;

        hash_init(&hash);
        hash_update_text(&hash, "ab");
        hash_update_text(&hash, "c");
        hash_final(&hash, first);
        hash_init(&hash);
        hash_update_text(&hash, "a");
        hash_update_text(&hash, "bc");
        hash_final(&hash, second);
        hash_init(&hash);
        hash_update_text(&hash, "ab");
        hash_update_text(&hash, NULL);
        hash_final(&hash, third);
        assert_string_not_equal(first, second);
        assert_string_not_equal(first, third);
        assert_string_not_equal(second, third);
}

static void a_file_has_the_hash_of_its_bytes_wherever_its_offset_is(void **state)
{
        static char bytes[100000];
        char expected[HASH_TEXT_MAX], text[HASH_TEXT_MAX];
        AUTO_CLOSE int fd = -1;
        struct hash hash;

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (char)(i * 7);
        fd = fd_memfile("hash", bytes, sizeof(bytes));
        assert_true(fd >= 0);
        assert_int_equal(lseek(fd, 5000, SEEK_SET), 5000);
        hash_of(bytes, sizeof(bytes), expected);
        hash_init(&hash);
        assert_int_equal(hash_update_fd(&hash, fd), 0);
        hash_final(&hash, text);
        assert_string_equal(text, expected);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 5000);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
        struct hash hash;

        hash_init(&hash);
        assert_int_equal(hash_update_fd(&hash, -1), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(known_inputs_have_their_known_hashes),
                cmocka_unit_test(parts_are_told_apart),
                cmocka_unit_test(a_file_has_the_hash_of_its_bytes_wherever_its_offset_is),
                cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        };

        return RUN(tests);
}
