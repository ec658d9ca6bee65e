/*
 * The hash of the code. A program of megabytes would take longer to hash than to run, so what a
 * large file hashed to is remembered by what the file is on disk: device, number, size and the
 * times of its last changes. A file that was changed just now may change again without these
 * changing, and is not remembered. The memory is a table of fixed slots; a lost or wrong slot
 * costs one more hashing.
 */
#include "history/history.h"
#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SMALL_BYTES = 16 << 10, SLOTS = 1024, SETTLE_SECONDS = 2 };

struct slot {
        uint64_t device, number, size;
        int64_t modified_s, modified_ns, changed_s, changed_ns;
        char hash[HASH_TEXT_MAX];
        char check[8 - HASH_TEXT_MAX % 8]; /* zeros: keeps the size a whole number of words */
};

static struct slot slot_of(const struct stat *st)
{
        struct slot slot = {
                .device = st->st_dev,
                .number = st->st_ino,
                .size = (uint64_t)st->st_size,
                .modified_s = st->st_mtim.tv_sec,
                .modified_ns = st->st_mtim.tv_nsec,
                .changed_s = st->st_ctim.tv_sec,
                .changed_ns = st->st_ctim.tv_nsec,
        };

        return slot;
}

static off_t place_of(const struct slot *slot)
{
        uint64_t mixed = (slot->number ^ slot->device << 20) * UINT64_C(0x9e3779b97f4a7c15);

        return (off_t)((mixed >> 32) % SLOTS * sizeof(struct slot));
}

/* Whether the file has been left alone long enough for its times to tell. */
static bool is_settled(const struct stat *st)
{
        struct timespec now = { 0 };

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return st->st_ctim.tv_sec + SETTLE_SECONDS < now.tv_sec &&
               st->st_mtim.tv_sec + SETTLE_SECONDS < now.tv_sec;
}

static int hash_fd(int fd, char ret_hash[HASH_TEXT_MAX])
{
        struct hash hash;

        hash_init(&hash);
        if (hash_update_fd(&hash, fd) < 0)
                return -1;
        hash_final(&hash, ret_hash);
        return 0;
}

static int hash_file(const struct history *history, int fd, char ret_hash[HASH_TEXT_MAX])
{
        AUTO_CLOSE int table = -1;
        struct slot wanted, found;
        struct stat st;

        if (fstat(fd, &st) < 0 || st.st_size <= SMALL_BYTES || history->dir < 0 || !is_settled(&st))
                return hash_fd(fd, ret_hash);
        wanted = slot_of(&st);
        table = openat(history->dir, "code-hashes", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                       0600);
        if (table >= 0 &&
            pread(table, &found, sizeof(found), place_of(&wanted)) == (ssize_t)sizeof(found) &&
            memcmp(&found, &wanted, offsetof(struct slot, hash)) == 0 &&
            strnlen(found.hash, HASH_TEXT_MAX) == HASH_TEXT_MAX - 1) {
                memcpy(ret_hash, found.hash, HASH_TEXT_MAX);
                return 0;
        }
        if (hash_fd(fd, ret_hash) < 0)
                return -1;
        memcpy(wanted.hash, ret_hash, HASH_TEXT_MAX);
        if (table >= 0) /* failing, it is hashed again next time */
                (void)!pwrite(table, &wanted, sizeof(wanted), place_of(&wanted));
        return 0;
}

/* Paths, modes and bytes of all files, which are sorted. */
static int hash_project(const struct bundle *sources, char ret_hash[HASH_TEXT_MAX])
{
        struct hash hash;

        hash_init(&hash);
        for (size_t i = 0; i < sources->count; i++) {
                const struct bundle_file *file = &sources->files[i];

                hash_update_text(&hash, file->path);
                hash_update(&hash, &file->mode, sizeof(file->mode));
                hash_update(&hash, &file->length, sizeof(file->length));
        }
        if (sources->fd >= 0 && hash_update_fd(&hash, sources->fd) < 0)
                return -1;
        hash_final(&hash, ret_hash);
        return 0;
}

int history_hash_code(const struct history *history, const struct request *code,
                      char ret_hash[HASH_TEXT_MAX], uint64_t *ret_bytes)
{
        struct hash hash;

        if (code->sources.count > 0) {
                *ret_bytes = code->sources.bytes;
                return hash_project(&code->sources, ret_hash);
        }
        *ret_bytes = code->code_size;
        if (code->code_fd >= 0)
                return hash_file(history, code->code_fd, ret_hash);
        hash_init(&hash);
        hash_update(&hash, code->code, code->code_size);
        hash_final(&hash, ret_hash);
        return 0;
}
