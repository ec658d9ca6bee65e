/* The names in a directory. */
#include "wasm/wasi.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DIRENT_BYTES = 24 };

/* The kernel's own entry, as getdents64() gives it. */
struct entry {
        uint64_t inode;
        int64_t next;
        uint16_t length;
        uint8_t type;
        char name[];
};

/* Adds one entry, or as much of it as there is room for; whether all of it fitted. */
static bool put_entry(uint8_t *to, uint32_t room, uint32_t *used, const struct entry *entry)
{
        uint8_t bytes[DIRENT_BYTES + 256] = { 0 };
        uint32_t length = (uint32_t)strnlen(entry->name, 255), size = DIRENT_BYTES + length;
        uint32_t n = room - *used < size ? room - *used : size;

        memcpy(bytes, &entry->next, 8);
        memcpy(bytes + 8, &entry->inode, 8);
        memcpy(bytes + 16, &length, 4);
        bytes[20] = entry->type == DT_DIR   ? WASI_TYPE_DIRECTORY
                    : entry->type == DT_REG ? WASI_TYPE_REGULAR
                    : entry->type == DT_LNK ? WASI_TYPE_LINK
                                            : WASI_TYPE_UNKNOWN;
        memcpy(bytes + DIRENT_BYTES, entry->name, length);
        memcpy(to + *used, bytes, n);
        *used += n;
        return n == size;
}

static uint32_t list_directory(int fd, int64_t cookie, uint8_t *to, uint32_t room, uint32_t *used)
{
        char buffer[16384] __attribute__((aligned(8)));
        bool fits = true;

        if (lseek(fd, cookie, SEEK_SET) < 0)
                return wasi_errno(errno);
        while (fits) {
                long n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer));

                if (n < 0)
                        return wasi_errno(errno);
                if (n == 0)
                        break;
                for (long at = 0; at < n && fits;) {
                        const struct entry *entry = (const struct entry *)(buffer + at);

                        fits = put_entry(to, room, used, entry);
                        at += entry->length;
                }
        }
        return WASI_OK;
}

uint32_t wasi_fd_readdir(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));
        uint32_t room = wasi_u32(in[2]), used = 0, error = WASI_OK;
        uint8_t *to = wasi_at(wasi, wasi_u32(in[1]), room);

        if (!file)
                return WASI_EBADF;
        if (file->kind != WASI_DIR && file->kind != WASI_SHELF)
                return WASI_ENOTDIR;
        if (!to)
                return WASI_EFAULT;
        if (file->kind == WASI_DIR)
                error = list_directory(file->fd, in[3].i64, to, room, &used);
        if (error)
                return error;
        return wasi_put32(wasi, wasi_u32(in[4]), used) ? WASI_OK : WASI_EFAULT;
}
