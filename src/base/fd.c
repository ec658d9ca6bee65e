#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_close(int fd)
{
        int saved = errno;

        if (fd >= 0)
                (void)close(fd); /* nothing can be done about a failing close */
        errno = saved;
}

int fd_open_standard(bool ret_closed[3])
{
        for (int fd = 0; fd < 3; fd++) {
                if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
                        continue;
                if (ret_closed)
                        ret_closed[fd] = true;
                if (open("/dev/null", O_RDWR) != fd)
                        return -1;
        }
        return 0;
}

int fd_write_all(int fd, const void *data, size_t length)
{
        const char *p = data;

        while (length > 0) {
                ssize_t n = write(fd, p, length);

                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -1;
                }
                p += n;
                length -= (size_t)n;
        }
        return 0;
}

ssize_t fd_read_full(int fd, void *buffer, size_t size)
{
        size_t used = 0;

        while (used < size) {
                ssize_t n = read(fd, (char *)buffer + used, size - used);

                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -1;
                }
                if (n == 0)
                        break;
                used += (size_t)n;
        }
        return (ssize_t)used;
}

ssize_t fd_read_file_at(int dirfd, const char *path, char *buffer, size_t size)
{
        AUTO_CLOSE int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return -1;
        n = fd_read_full(fd, buffer, size - 1);
        if (n >= 0)
                buffer[n] = '\0';
        return n;
}

int fd_write_file_at(int dirfd, const char *path, const char *text)
{
        AUTO_CLOSE int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);

        return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

int fd_read_all(int fd, size_t max, const char *what, char **ret_data, size_t *ret_length,
                struct error *err)
{
        AUTO_FREE char *data = NULL;
        size_t used = 0, capacity = 0;
        struct stat st;

        /* One byte more than the file has, so that a plain file is read in one go. */
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 &&
            (uint64_t)st.st_size <= max)
                capacity = (size_t)st.st_size + 2;
        for (;;) {
                ssize_t n;

                if (!data || used + 1 >= capacity) {
                        size_t wanted = data ? capacity * 2 : (capacity ? capacity : 65536);
                        char *grown = mem_resize(data, wanted, 1);

                        if (!grown)
                                return error_set_nomem(err);
                        data = grown;
                        capacity = wanted;
                }
                n = read(fd, data + used, capacity - used - 1);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_set_errno(err, "read %s", what);
                if (n == 0)
                        break;
                used += (size_t)n;
                if (used > max)
                        return error_set(err, SBX_ETOOBIG,
                                         "%s is larger than the maximum of %zu MiB", what,
                                         max >> 20);
        }
        data[used] = '\0';
        *ret_data = TAKE(data);
        *ret_length = used;
        return 0;
}

int fd_memfile(const char *name, const void *data, size_t length)
{
        AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fd_write_all(fd, data, length) < 0)
                return -1;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -1;
        return fd_take(&fd);
}
