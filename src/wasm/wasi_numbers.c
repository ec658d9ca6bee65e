/* Numbers of errors: the host's to WASI's. */
#include "wasm/wasi.h"
#include "base/mem.h"

#include <errno.h>

static const struct {
        int host;
        uint8_t wasi;
} numbers[] = {
        { E2BIG, 1 },
        { EACCES, 2 },
        { EAGAIN, 6 },
        { EBADF, 8 },
        { EBUSY, 10 },
        { EDQUOT, 19 },
        { EEXIST, 20 },
        { EFAULT, 21 },
        { EFBIG, 22 },
        { EILSEQ, 25 },
        { EINTR, 27 },
        { EINVAL, 28 },
        { EIO, 29 },
        { EISDIR, 31 },
        { ELOOP, 32 },
        { EMFILE, 33 },
        { EMLINK, 34 },
        { ENAMETOOLONG, 37 },
        { ENFILE, 41 },
        { ENODEV, 43 },
        { ENOENT, 44 },
        { ENOMEM, 48 },
        { ENOSPC, 51 },
        { ENOSYS, 52 },
        { ENOTDIR, 54 },
        { ENOTEMPTY, 55 },
        { EOPNOTSUPP, 58 },
        { ENXIO, 60 },
        { EOVERFLOW, 61 },
        { EPERM, 63 },
        { EPIPE, 64 },
        { ERANGE, 68 },
        { EROFS, 69 },
        { ESPIPE, 70 },
        { ETXTBSY, 74 },
        /* The kernel's word for a path that would leave its directory. */
        { EXDEV, 76 },
};

uint32_t wasi_errno(int host_errno)
{
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                if (numbers[i].host == host_errno)
                        return numbers[i].wasi;
        return WASI_EINVAL;
}
