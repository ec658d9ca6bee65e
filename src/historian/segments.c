/* The files of the journal as this program sees them. */
#include "historian/historian.h"
#include "base/fd.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
        SEGMENT_BYTES_MAX = JOURNAL_SEGMENT_BYTES + 2 * JOURNAL_LINE_MAX,
        COMPRESSION = 9, /* each segment is compressed once and seldom read */
        SEGMENTS_MAX = 100000,
};

static int by_first(const void *a, const void *b)
{
        const struct segment *one = a, *other = b;

        if (one->first != other->first)
                return one->first < other->first ? -1 : 1;
        return strcmp(one->name, other->name);
}

/* Whether the name is that of a closed segment. */
static bool parse_name(const char *name, struct segment *ret_segment)
{
        *ret_segment = (struct segment){ .is_compressed = str_has_suffix(name, ".jsonl.zst") };
        return str_has_prefix(name, "journal-") && strlen(name) < JOURNAL_NAME_MAX &&
               (ret_segment->is_compressed || str_has_suffix(name, ".jsonl")) &&
               sscanf(name + 8, "%" SCNu64, &ret_segment->first) == 1 &&
               snprintf(ret_segment->name, JOURNAL_NAME_MAX, "%s", name) > 0;
}

/* A segment that was compressed while its plain file could not be removed is there twice, as is one
 * whose writer was killed before the new journal took the name: the plain one counts, once. */
static bool is_double(int dir, const struct segment *segment)
{
        struct stat live, own;
        char plain[JOURNAL_NAME_MAX];

        if (segment->is_compressed) {
                (void)snprintf(plain, sizeof(plain), "%.*s", (int)(strlen(segment->name) - 4),
                               segment->name);
                return faccessat(dir, plain, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        }
        return fstatat(dir, JOURNAL_NAME, &live, AT_SYMLINK_NOFOLLOW) == 0 &&
               fstatat(dir, segment->name, &own, AT_SYMLINK_NOFOLLOW) == 0 &&
               live.st_ino == own.st_ino && live.st_dev == own.st_dev;
}

int segments_list(int dir, struct segment **ret_segments, size_t *ret_count, struct error *err)
{
        int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
        AUTO_FREE struct segment *segments = NULL;
        size_t count = 0, capacity = 0;
        struct dirent *entry;
        struct stat st;

        if (!folder) {
                fd_close(copy);
                return error_set_errno(err, "read the state directory");
        }
        while (count < SEGMENTS_MAX && (entry = readdir(folder))) {
                struct segment segment;

                if (strcmp(entry->d_name, JOURNAL_NAME) == 0)
                        segment = (struct segment){ .name = JOURNAL_NAME,
                                                    .first = UINT64_MAX,
                                                    .is_live = true };
                else if (!parse_name(entry->d_name, &segment) || is_double(dir, &segment))
                        continue;
                if (fstatat(dir, segment.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue; /* it was closed or compressed meanwhile, and comes again */
                segment.bytes = (uint64_t)st.st_size;
                if (MEM_GROW(segments, count, capacity) < 0) {
                        (void)closedir(folder);
                        return error_set_nomem(err);
                }
                segments[count++] = segment;
        }
        (void)closedir(folder);
        if (count > 1)
                qsort(segments, count, sizeof(*segments), by_first);
        *ret_segments = TAKE(segments);
        *ret_count = count;
        return 0;
}

int segments_lock(int dir, struct error *err)
{
        AUTO_CLOSE int fd =
                openat(dir, "history.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0 || flock(fd, LOCK_EX) < 0)
                return error_set_errno(err, "lock the closed segments of the journal");
        return fd_take(&fd);
}

static int decompress(const struct segment *segment, const char *packed, size_t packed_length,
                      char **ret_data, size_t *ret_length, struct error *err)
{
        unsigned long long size = ZSTD_getFrameContentSize(packed, packed_length);
        AUTO_FREE char *data = NULL;
        size_t n;

        if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ||
            size > SEGMENT_BYTES_MAX)
                return error_set(err, SBX_ESYSTEM, "'%s' is damaged: not a compressed segment",
                                 segment->name);
        data = mem_alloc((size_t)size + 1);
        if (!data)
                return error_set_nomem(err);
        n = ZSTD_decompress(data, (size_t)size, packed, packed_length);
        if (ZSTD_isError(n))
                return error_set(err, SBX_ESYSTEM, "'%s' is damaged: %s", segment->name,
                                 ZSTD_getErrorName(n));
        *ret_data = TAKE(data);
        *ret_length = n;
        return 0;
}

int segment_read(int dir, const struct segment *segment, char **ret_data, size_t *ret_length,
                 struct error *err)
{
        AUTO_CLOSE int fd = openat(dir, segment->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_FREE char *data = NULL;
        size_t length;
        int r;

        if (fd < 0)
                return error_set_errno(err, "open '%s'", segment->name);
        r = fd_read_all(fd, SEGMENT_BYTES_MAX, segment->name, &data, &length, err);
        if (r < 0)
                return r;
        if (segment->is_compressed)
                return decompress(segment, data, length, ret_data, ret_length, err);
        *ret_data = TAKE(data);
        *ret_length = length;
        return 0;
}

/* The bytes compressed; caller frees. */
static int pack(const char *name, const char *data, size_t length, char **ret_packed,
                size_t *ret_length, struct error *err)
{
        size_t room = ZSTD_compressBound(length), n;
        AUTO_FREE char *packed = mem_alloc(room + 1);

        if (!packed)
                return error_set_nomem(err);
        n = ZSTD_compress(packed, room, data, length, COMPRESSION);
        if (ZSTD_isError(n))
                return error_set(err, SBX_ESYSTEM, "compress '%s': %s", name, ZSTD_getErrorName(n));
        *ret_length = n;
        *ret_packed = packed;
        packed = NULL;
        return 0;
}

int segment_measure(int dir, const struct segment *segment, uint64_t *ret_bytes, struct error *err)
{
        AUTO_FREE char *data = NULL, *packed = NULL;
        size_t length, n;
        int r;

        if (segment->is_compressed) {
                *ret_bytes = segment->bytes;
                return 0;
        }
        r = segment_read(dir, segment, &data, &length, err);
        if (r == 0)
                r = pack(segment->name, data, length, &packed, &n, err);
        if (r == 0)
                *ret_bytes = n;
        return r;
}

int segment_write(int dir, const struct segment *segment, const char *data, size_t length,
                  struct error *err)
{
        AUTO_FREE char *packed = NULL;
        size_t n;
        char name[JOURNAL_NAME_MAX + 8], aside[JOURNAL_NAME_MAX + 16];
        AUTO_CLOSE int fd = -1;
        int r = pack(segment->name, data, length, &packed, &n, err);

        if (r < 0)
                return r;
        (void)snprintf(name, sizeof(name), "%s%s", segment->name,
                       segment->is_compressed ? "" : ".zst");
        (void)snprintf(aside, sizeof(aside), ".%s.%d", name, (int)getpid());
        fd = openat(dir, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || fd_write_all(fd, packed, n) < 0 || fdatasync(fd) < 0 ||
            renameat(dir, aside, dir, name) < 0) {
                (void)error_set_errno(err, "write '%s'", name);
                (void)unlinkat(dir, aside, 0);
                return SBX_ESYSTEM;
        }
        if (!segment->is_compressed && unlinkat(dir, segment->name, 0) < 0)
                return error_set_errno(err, "remove '%s'", segment->name);
        return 0;
}

void segments_compress(int dir)
{
        AUTO_FREE struct segment *segments = NULL;
        size_t count = 0;

        if (segments_list(dir, &segments, &count, NULL) < 0)
                return;
        for (size_t i = 0; i < count; i++) {
                AUTO_FREE char *data = NULL;
                size_t length;
                int lock;

                if (segments[i].is_live || segments[i].is_compressed)
                        continue;
                /* Others may do the same at this moment. */
                lock = segments_lock(dir, NULL);
                if (lock < 0)
                        return;
                if (segment_read(dir, &segments[i], &data, &length, NULL) == 0)
                        (void)segment_write(dir, &segments[i], data, length, NULL);
                fd_close(lock);
        }
}
