/*
 * Code in a file that the run itself may write to. What is looked at, hashed, compiled, run and
 * recorded must be the same bytes, so such a file is read once; others are taken as they lie.
 */
#include "engine/passage.h"
#include "base/fd.h"
#include "base/path.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static bool is_writable(const struct passage *passage, const char *path)
{
        for (size_t i = 0; i < passage->writable.count; i++)
                if (path_is_within(path, passage->writable.items[i]))
                        return true;
        return false;
}

/* All of it, or less where the file has become shorter; -1 with errno. */
static ssize_t read_code(int fd, char *bytes, size_t size)
{
        size_t length = 0;

        while (length < size) {
                ssize_t n = pread(fd, bytes + length, size - length, (off_t)length);

                if (n < 0)
                        return -1;
                if (n == 0)
                        break;
                length += (size_t)n;
        }
        return (ssize_t)length;
}

int passage_own_code(struct passage *passage, struct error *err)
{
        AUTO_FREE char *bytes = NULL;
        char link[64], path[PATH_MAX];
        ssize_t n;

        if (passage->code->code_fd < 0 || passage->writable.count == 0)
                return 0;
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", passage->code->code_fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n <= 0)
                return error_set_errno(err, "find the file of the code");
        path[n] = '\0';
        if (!is_writable(passage, path))
                return 0;
        bytes = mem_alloc(passage->code->code_size + 1);
        if (!bytes)
                return error_set_nomem(err);
        n = read_code(passage->code->code_fd, bytes, passage->code->code_size);
        if (n < 0)
                return error_set_errno(err, "read the code");
        passage->own_code = *passage->code; /* a view */
        passage->own_code.code_size = (size_t)n;
        passage->own_code.code_fd = passage->own_code_fd = fd_memfile("code", bytes, (size_t)n);
        if (passage->own_code_fd < 0)
                return error_set_errno(err, "keep the code");
        passage->code = &passage->own_code;
        return 0;
}
