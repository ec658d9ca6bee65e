#include "unit.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_open(int fd)
{
        return fcntl(fd, F_GETFD) >= 0;
}

static void closing_keeps_errno_and_takes_no_descriptor_for_nothing(void **state)
{
        errno = EIO;
        fd_close(-1);
        fd_close(100000);
        assert_int_equal(errno, EIO);
}

static void an_owned_descriptor_closes_with_its_scope_unless_taken(void **state)
{
        int closed, kept;

        {
                AUTO_CLOSE int a = open("/dev/null", O_RDONLY | O_CLOEXEC);
                AUTO_CLOSE int b = open("/dev/null", O_RDONLY | O_CLOEXEC);

                closed = a;
                kept = fd_take(&b);
                assert_int_equal(b, -1);
        }
        assert_false(is_open(closed));
        assert_true(is_open(kept));
        fd_close(kept);
}

static void what_is_written_whole_is_read_whole(void **state)
{
        AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC);
        char buffer[16];

        assert_int_equal(fd_write_all(fd, "hello", 5), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(fd_read_full(fd, buffer, sizeof(buffer)), 5);
        assert_memory_equal(buffer, "hello", 5);
        assert_int_equal(fd_write_all(-1, "x", 1), -1);
        assert_int_equal(errno, EBADF);
        assert_int_equal(fd_read_full(-1, buffer, 1), -1);
}

static void a_full_device_is_reported(void **state)
{
        AUTO_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

        assert_int_equal(fd_write_all(fd, "x", 1), -1);
        assert_int_equal(errno, ENOSPC);
}

static void small_files_are_read_and_written_by_name(void **state)
{
        char dir[] = "/tmp/test-fd-XXXXXX", buffer[8];
        AUTO_CLOSE int dirfd = -1;
        AUTO_CLOSE int file = -1;

        assert_non_null(mkdtemp(dir));
        dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(fd_write_file_at(dirfd, "f", "text"), -1); /* does not make files */
        assert_int_equal(errno, ENOENT);
        file = openat(dirfd, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        assert_int_equal(fd_write_file_at(dirfd, "f", "longer than it"), 0);
        assert_int_equal(fd_read_file_at(dirfd, "f", buffer, sizeof(buffer)), 7);
        assert_string_equal(buffer, "longer ");
        assert_int_equal(fd_read_file_at(dirfd, "missing", buffer, sizeof(buffer)), -1);
        assert_int_equal(unlinkat(dirfd, "f", 0), 0);
        assert_int_equal(rmdir(dir), 0);
}

static void reading_everything_stops_at_the_maximum(void **state)
{
        AUTO_CLOSE int fd = fd_memfile("test", "0123456789", 10);
        AUTO_FREE char *data = NULL;
        struct error err = { 0 };
        size_t length;

        assert_true(fd >= 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(fd_read_all(fd, 10, "it", &data, &length, &err), 0);
        assert_int_equal(length, 10);
        assert_string_equal(data, "0123456789");
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(fd_read_all(fd, 9, "the file", &data, &length, &err), SBX_ETOOBIG);
        assert_has(err.message, "the file");
}

static void an_endless_source_is_cut_off(void **state)
{
        AUTO_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        struct error err = { 0 };
        char *data = NULL;
        size_t length;

        assert_int_equal(fd_read_all(fd, 1 << 20, "/dev/zero", &data, &length, &err), SBX_ETOOBIG);
        assert_null(data);
}

static void a_directory_cannot_be_read(void **state)
{
        AUTO_CLOSE int fd = open("/", O_RDONLY | O_CLOEXEC);
        struct error err = { 0 };
        char *data = NULL;
        size_t length;

        assert_int_equal(fd_read_all(fd, 10, "'/'", &data, &length, &err), SBX_ESYSTEM);
        assert_int_equal(err.sys_errno, EISDIR);
}

static void reading_survives_every_failing_allocation(void **state)
{
        AUTO_CLOSE int fd = fd_memfile("test", "0123456789", 10);
        int r = -1;

        for (uint64_t n = 0; r != 0; n++) {
                AUTO_FREE char *data = NULL;
                size_t length;

                assert_true(n < 10);
                assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
                mem_fail_after(n);
                r = fd_read_all(fd, 100, "it", &data, &length, NULL);
                mem_fail_after(UINT64_MAX);
                assert_true(r == 0 || r == SBX_ENOMEM);
        }
}

static void a_memory_file_is_sealed(void **state)
{
        AUTO_CLOSE int fd = fd_memfile("test", "abc", 3);

        assert_true(fd >= 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(pwrite(fd, "x", 1, 0), -1);
        assert_int_equal(ftruncate(fd, 0), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(closing_keeps_errno_and_takes_no_descriptor_for_nothing),
                cmocka_unit_test(an_owned_descriptor_closes_with_its_scope_unless_taken),
                cmocka_unit_test(what_is_written_whole_is_read_whole),
                cmocka_unit_test(a_full_device_is_reported),
                cmocka_unit_test(small_files_are_read_and_written_by_name),
                cmocka_unit_test(reading_everything_stops_at_the_maximum),
                cmocka_unit_test(an_endless_source_is_cut_off),
                cmocka_unit_test(a_directory_cannot_be_read),
                cmocka_unit_test(reading_survives_every_failing_allocation),
                cmocka_unit_test(a_memory_file_is_sealed),
        };

        return RUN(tests);
}
