/* What is done with an open file. */
#include "wasm/wasi.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
        STAT_BYTES = 64,
        FDSTAT_BYTES = 24,
        PRESTAT_BYTES = 8,
        FLAG_APPEND = 1,
        TIME_ACCESS = 1,
        TIME_ACCESS_NOW = 2,
        TIME_CHANGE = 4,
        TIME_CHANGE_NOW = 8,
        LIBRARY_FILE = 1, /* its number in its directory */
};

#define RIGHTS_ALL          UINT64_C(0x1fffffff)
#define RIGHT_READ          (UINT64_C(1) << 1)
#define RIGHT_SEEK_AND_TELL (UINT64_C(1) << 2 | UINT64_C(1) << 5)
#define RIGHT_WRITE         (UINT64_C(1) << 6)

/* ---- what a file is ---- */

static uint8_t type_of(mode_t mode)
{
        return S_ISDIR(mode)   ? WASI_TYPE_DIRECTORY
               : S_ISREG(mode) ? WASI_TYPE_REGULAR
               : S_ISLNK(mode) ? WASI_TYPE_LINK
                               : WASI_TYPE_UNKNOWN;
}

static uint64_t nanoseconds(struct timespec time)
{
        return time.tv_sec < 0
                       ? 0
                       : (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* The device is none of the guest's business; the inode tells files apart. */
static bool put_stat(const struct wasi *wasi, uint32_t at, uint8_t type, const struct stat *st)
{
        uint8_t *to = wasi_at(wasi, at, STAT_BYTES);
        const uint64_t values[] = { st->st_nlink, (uint64_t)st->st_size, nanoseconds(st->st_atim),
                                    nanoseconds(st->st_mtim), nanoseconds(st->st_ctim) };
        const uint64_t device = 1, inode = st->st_ino;

        if (!to)
                return false;
        memset(to, 0, STAT_BYTES);
        memcpy(to, &device, 8);
        memcpy(to + 8, &inode, 8);
        to[16] = type;
        memcpy(to + 24, values, sizeof(values));
        return true;
}

bool wasi_put_stat(const struct wasi *wasi, uint32_t at, const struct stat *st)
{
        return put_stat(wasi, at, type_of(st->st_mode), st);
}

bool wasi_put_library_stat(const struct wasi *wasi, uint32_t at, bool is_directory)
{
        struct stat st = { .st_nlink = 1, .st_ino = is_directory ? 2 : LIBRARY_FILE };

        st.st_size = is_directory ? 0 : (off_t)wasi->library_size;
        return put_stat(wasi, at, is_directory ? WASI_TYPE_DIRECTORY : WASI_TYPE_REGULAR, &st);
}

static uint32_t fd_filestat_get(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));
        struct stat st;

        if (!file)
                return WASI_EBADF;
        if (file->kind == WASI_SHELF || file->kind == WASI_LIBRARY)
                return wasi_put_library_stat(wasi, wasi_u32(in[1]), file->kind == WASI_SHELF)
                               ? WASI_OK
                               : WASI_EFAULT;
        if (fstat(file->fd, &st) < 0)
                return wasi_errno(errno);
        /* A stream is a pipe whose other end is not the guest's to know. */
        if (file->kind == WASI_STREAM)
                st = (struct stat){ .st_nlink = 1 };
        return wasi_put_stat(wasi, wasi_u32(in[1]), &st) ? WASI_OK : WASI_EFAULT;
}

static uint64_t rights_of(const struct wasi_file *file)
{
        if (file->kind == WASI_DIR || file->kind == WASI_SHELF)
                return RIGHTS_ALL & ~(RIGHT_SEEK_AND_TELL);
        return (RIGHTS_ALL & ~(RIGHT_READ | RIGHT_WRITE |
                               (file->kind == WASI_STREAM ? RIGHT_SEEK_AND_TELL : 0))) |
               (file->readable ? RIGHT_READ : 0) | (file->writable ? RIGHT_WRITE : 0);
}

static uint32_t fd_fdstat_get(struct wasi *wasi, const union wasm_raw *in)
{
        static const uint8_t types[] = { [WASI_STREAM] = WASI_TYPE_UNKNOWN,
                                         [WASI_DIR] = WASI_TYPE_DIRECTORY,
                                         [WASI_FILE] = WASI_TYPE_REGULAR,
                                         [WASI_SHELF] = WASI_TYPE_DIRECTORY,
                                         [WASI_LIBRARY] = WASI_TYPE_REGULAR };
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));
        uint8_t *to = wasi_at(wasi, wasi_u32(in[1]), FDSTAT_BYTES);
        uint64_t base, below = RIGHTS_ALL;

        if (!file)
                return WASI_EBADF;
        if (!to)
                return WASI_EFAULT;
        base = rights_of(file);
        memset(to, 0, FDSTAT_BYTES);
        to[0] = types[file->kind];
        memcpy(to + 2, &file->fdflags, 2);
        memcpy(to + 8, &base, 8);
        memcpy(to + 16, &below, 8);
        return WASI_OK;
}

static uint32_t fd_fdstat_set_flags(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));
        uint32_t flags = wasi_u32(in[1]);

        if (!file)
                return WASI_EBADF;
        if (file->kind != WASI_FILE)
                return flags == file->fdflags ? WASI_OK : WASI_ENOTSUP;
        if (fcntl(file->fd, F_SETFL, flags & FLAG_APPEND ? O_APPEND : 0) < 0)
                return wasi_errno(errno);
        file->fdflags = flags & FLAG_APPEND;
        return WASI_OK;
}

static uint32_t fd_prestat_get(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));

        if (!file || !file->preopen)
                return WASI_EBADF;
        return wasi_put32(wasi, wasi_u32(in[1]), 0) && wasi_put32(wasi, wasi_u32(in[1]) + 4,
                                                                  (uint32_t)strlen(file->preopen))
                       ? WASI_OK
                       : WASI_EFAULT;
}

static uint32_t fd_prestat_dir_name(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));
        uint32_t room = wasi_u32(in[2]);
        void *to;

        if (!file || !file->preopen)
                return WASI_EBADF;
        to = wasi_at(wasi, wasi_u32(in[1]), room);
        if (!to)
                return WASI_EFAULT;
        if (strlen(file->preopen) > room)
                return WASI_ENAMETOOLONG;
        memcpy(to, file->preopen, strlen(file->preopen));
        return WASI_OK;
}

/* ---- reading and writing ---- */

/* The module's list of pieces as ours: how many, or -1 where one is not in its memory. */
static int take_pieces(const struct wasi *wasi, uint32_t at, uint32_t count,
                       struct iovec pieces[WASI_IO_MAX])
{
        const uint8_t *from;
        size_t total = 0;
        int n = 0;

        if (count > WASI_IO_MAX) /* the rest is for the next call, as with every short one */
                count = WASI_IO_MAX;
        from = wasi_at(wasi, at, (uint64_t)count * 8);
        if (!from)
                return -1;
        for (uint32_t i = 0; i < count; i++) {
                uint32_t base, length;
                void *place;

                memcpy(&base, from + (size_t)i * 8, 4);
                memcpy(&length, from + (size_t)i * 8 + 4, 4);
                place = wasi_at(wasi, base, length);
                if (!place)
                        return -1;
                if (length > SSIZE_MAX - total)
                        break;
                total += length;
                pieces[n++] = (struct iovec){ place, length };
        }
        return n;
}

static uint64_t read_library(const struct wasi *wasi, uint64_t offset, const struct iovec *pieces,
                             int count)
{
        uint64_t done = 0;

        for (int i = 0; i < count && offset < wasi->library_size; i++) {
                uint64_t left = wasi->library_size - offset;
                size_t n = pieces[i].iov_len < left ? pieces[i].iov_len : (size_t)left;

                memcpy(pieces[i].iov_base, wasi->library + offset, n);
                offset += n;
                done += n;
        }
        return done;
}

enum transfer { READ, WRITE };

/* `offset` NULL: from where the file is. Only a stream blocks, and a signal that wants the
 * program's end ends that. */
static uint32_t transfer(struct wasi *wasi, enum transfer way, const union wasm_raw *in,
                         const uint64_t *offset, uint32_t at)
{
        struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));
        struct iovec pieces[WASI_IO_MAX];
        ssize_t n;
        int count;

        if (!file || !(way == READ ? file->readable : file->writable))
                return WASI_EBADF;
        if (file->kind == WASI_DIR || file->kind == WASI_SHELF)
                return WASI_EISDIR;
        if (offset && file->kind == WASI_STREAM)
                return WASI_ESPIPE;
        count = take_pieces(wasi, wasi_u32(in[1]), wasi_u32(in[2]), pieces);
        if (count < 0)
                return WASI_EFAULT;
        if (file->kind == WASI_LIBRARY) {
                uint64_t done = read_library(wasi, offset ? *offset : file->offset, pieces, count);

                file->offset += offset ? 0 : done;
                return wasi_put32(wasi, at, (uint32_t)done) ? WASI_OK : WASI_EFAULT;
        }
        do {
                n = way == READ ? (offset ? preadv(file->fd, pieces, count, (off_t)*offset)
                                          : readv(file->fd, pieces, count))
                                : (offset ? pwritev(file->fd, pieces, count, (off_t)*offset)
                                          : writev(file->fd, pieces, count));
        } while (n < 0 && errno == EINTR && !*wasi->stop);
        if (n < 0)
                return wasi_errno(errno);
        return wasi_put32(wasi, at, (uint32_t)n) ? WASI_OK : WASI_EFAULT;
}

static uint32_t fd_read(struct wasi *wasi, const union wasm_raw *in)
{
        return transfer(wasi, READ, in, NULL, wasi_u32(in[3]));
}

static uint32_t fd_write(struct wasi *wasi, const union wasm_raw *in)
{
        return transfer(wasi, WRITE, in, NULL, wasi_u32(in[3]));
}

static uint32_t fd_pread(struct wasi *wasi, const union wasm_raw *in)
{
        const uint64_t offset = (uint64_t)in[3].i64;

        return in[3].i64 < 0 ? WASI_EINVAL : transfer(wasi, READ, in, &offset, wasi_u32(in[4]));
}

static uint32_t fd_pwrite(struct wasi *wasi, const union wasm_raw *in)
{
        const uint64_t offset = (uint64_t)in[3].i64;

        return in[3].i64 < 0 ? WASI_EINVAL : transfer(wasi, WRITE, in, &offset, wasi_u32(in[4]));
}

/* ---- places in a file ---- */

static uint32_t seek(struct wasi *wasi, struct wasi_file *file, int64_t by, uint32_t whence,
                     uint32_t at)
{
        static const int ways[] = { SEEK_SET, SEEK_CUR, SEEK_END };
        off_t place;

        if (whence > 2)
                return WASI_EINVAL;
        if (file->kind == WASI_LIBRARY) {
                int64_t from = whence == 0   ? 0
                               : whence == 1 ? (int64_t)file->offset
                                             : (int64_t)wasi->library_size;

                if (__builtin_add_overflow(from, by, &from) || from < 0)
                        return WASI_EINVAL;
                file->offset = (uint64_t)from;
                return wasi_put64(wasi, at, file->offset) ? WASI_OK : WASI_EFAULT;
        }
        if (file->kind != WASI_FILE)
                return file->kind == WASI_STREAM ? WASI_ESPIPE : WASI_EISDIR;
        place = lseek(file->fd, by, ways[whence]);
        if (place < 0)
                return wasi_errno(errno);
        return wasi_put64(wasi, at, (uint64_t)place) ? WASI_OK : WASI_EFAULT;
}

static uint32_t fd_seek(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));

        return file ? seek(wasi, file, in[1].i64, wasi_u32(in[2]), wasi_u32(in[3])) : WASI_EBADF;
}

static uint32_t fd_tell(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));

        return file ? seek(wasi, file, 0, 1, wasi_u32(in[1])) : WASI_EBADF;
}

/* A file of the host that may be written, or why not. */
static uint32_t writable(struct wasi *wasi, uint32_t number, struct wasi_file **ret_file)
{
        *ret_file = wasi_file(wasi, number);
        if (!*ret_file)
                return WASI_EBADF;
        if ((*ret_file)->kind != WASI_FILE)
                return WASI_EINVAL;
        return (*ret_file)->writable ? WASI_OK : WASI_EBADF;
}

static uint32_t fd_filestat_set_size(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *file;
        uint32_t error = writable(wasi, wasi_u32(in[0]), &file);

        if (error)
                return error;
        return ftruncate(file->fd, in[1].i64) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t fd_allocate(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *file;
        uint32_t error = writable(wasi, wasi_u32(in[0]), &file);

        if (error)
                return error;
        return fallocate(file->fd, 0, in[1].i64, in[2].i64) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t sync_file(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));

        if (!file)
                return WASI_EBADF;
        if (file->kind != WASI_FILE && file->kind != WASI_DIR)
                return WASI_OK;
        return fdatasync(file->fd) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t fd_advise(struct wasi *wasi, const union wasm_raw *in)
{
        return wasi_file(wasi, wasi_u32(in[0])) ? WASI_OK : WASI_EBADF;
}

static struct timespec time_for(uint64_t value, bool is_now, bool is_given)
{
        if (is_now)
                return (struct timespec){ .tv_nsec = UTIME_NOW };
        if (!is_given)
                return (struct timespec){ .tv_nsec = UTIME_OMIT };
        return (struct timespec){ (time_t)(value / 1000000000), (long)(value % 1000000000) };
}

uint32_t wasi_set_times(int fd, uint64_t access, uint64_t change, uint32_t which)
{
        const struct timespec times[2] = {
                time_for(access, which & TIME_ACCESS_NOW, which & TIME_ACCESS),
                time_for(change, which & TIME_CHANGE_NOW, which & TIME_CHANGE),
        };

        return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t fd_filestat_set_times(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));

        if (!file || (file->kind != WASI_FILE && file->kind != WASI_DIR))
                return WASI_EBADF;
        if (!file->writable)
                return WASI_EROFS;
        return wasi_set_times(file->fd, (uint64_t)in[1].i64, (uint64_t)in[2].i64, wasi_u32(in[3]));
}

/* ---- numbers ---- */

static uint32_t fd_close_(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *file = wasi_file(wasi, wasi_u32(in[0]));

        if (!file)
                return WASI_EBADF;
        wasi_drop(file);
        return WASI_OK;
}

static uint32_t fd_renumber(struct wasi *wasi, const union wasm_raw *in)
{
        struct wasi_file *from = wasi_file(wasi, wasi_u32(in[0]));
        struct wasi_file *to = wasi_file(wasi, wasi_u32(in[1]));

        if (!from || !to)
                return WASI_EBADF;
        if (from == to)
                return WASI_OK;
        if (from->preopen || to->preopen)
                return WASI_ENOTSUP;
        wasi_drop(to);
        *to = *from;
        *from = (struct wasi_file){ .kind = WASI_FREE, .fd = -1 };
        return WASI_OK;
}

static uint32_t fd_fdstat_set_rights(struct wasi *wasi, const union wasm_raw *in)
{
        return wasi_file(wasi, wasi_u32(in[0])) ? WASI_OK : WASI_EBADF; /* they are not used */
}

const struct wasi_function wasi_fd_functions[] = {
        { "fd_advise", "iIIi", fd_advise },
        { "fd_allocate", "iII", fd_allocate },
        { "fd_close", "i", fd_close_ },
        { "fd_datasync", "i", sync_file },
        { "fd_fdstat_get", "ii", fd_fdstat_get },
        { "fd_fdstat_set_flags", "ii", fd_fdstat_set_flags },
        { "fd_fdstat_set_rights", "iII", fd_fdstat_set_rights },
        { "fd_filestat_get", "ii", fd_filestat_get },
        { "fd_filestat_set_size", "iI", fd_filestat_set_size },
        { "fd_filestat_set_times", "iIIi", fd_filestat_set_times },
        { "fd_pread", "iiiIi", fd_pread },
        { "fd_prestat_dir_name", "iii", fd_prestat_dir_name },
        { "fd_prestat_get", "ii", fd_prestat_get },
        { "fd_pwrite", "iiiIi", fd_pwrite },
        { "fd_read", "iiii", fd_read },
        { "fd_readdir", "iiiIi", wasi_fd_readdir },
        { "fd_renumber", "ii", fd_renumber },
        { "fd_seek", "iIii", fd_seek },
        { "fd_sync", "i", sync_file },
        { "fd_tell", "ii", fd_tell },
        { "fd_write", "iiii", fd_write },
        { NULL, NULL, NULL },
};
