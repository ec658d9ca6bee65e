/*
 * Descriptors: owned by AUTO_CLOSE locals, close-on-exec from birth, read and written whole.
 * Nothing here allocates but fd_read_all(), so the rest may run between clone and exec.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define AUTO_CLOSE __attribute__((cleanup(fd_close_p)))

void fd_close(int fd); /* keeps errno; a negative fd is nothing */
static inline void fd_close_p(int *fd)
{
        fd_close(*fd);
}
/* Hands the descriptor over: gives it and leaves -1 behind. */
static inline int fd_take(int *fd)
{
        int taken = *fd;

        *fd = -1;
        return taken;
}

/* Opens /dev/null in place of those of descriptors 0 to 2 that are closed: a file of ours there
 * would be taken for a standard stream, here and in a child. Says which, where it is asked. 0, or
 * -1 with errno. */
int fd_open_standard(bool ret_closed[3]);
/* Writes all of it; 0, or -1 with errno. Retries EINTR. */
int fd_write_all(int fd, const void *data, size_t length);
/* Reads until `size` bytes or the end; the count, or -1 with errno. */
ssize_t fd_read_full(int fd, void *buffer, size_t size);
/* Reads a small file (of /proc, /sys) below `dirfd` into a NUL-terminated buffer; length or -1. */
ssize_t fd_read_file_at(int dirfd, const char *path, char *buffer, size_t size);
/* Writes a string to an existing file below `dirfd`; 0 or -1 with errno. */
int fd_write_file_at(int dirfd, const char *path, const char *text);
/* Reads everything up to `max` bytes; more is SBX_ETOOBIG. Caller frees `*ret_data`, which is
 * NUL-terminated after `*ret_length`. */
int fd_read_all(int fd, size_t max, const char *what, char **ret_data, size_t *ret_length,
                struct error *err);
/* A sealed memory file holding `data`; the descriptor, or -1 with errno. */
int fd_memfile(const char *name, const void *data, size_t length);

#endif
