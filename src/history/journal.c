/*
 * Appending to the journal.
 *
 * Theory of operation. Any number of processes of one user append at the same time. Each opens the
 * file, takes its lock, makes sure that the file still has the journal's name (another writer may
 * have closed the segment meanwhile), reads the last line, and writes its own with one call to the
 * end. The lock is given back by hand, because a helper that is being started at this moment holds
 * a copy of the descriptor until it is executed. A writer that is stopped while it holds the lock
 * must not stop every run: who waits longer than LOCK_WAIT_MS gives up, and the record is lost.
 */
#include "history/journal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 2000, LOCK_TRY_US = 200, TAIL_READ = 8 << 10, RENAMES_MAX = 100 };

#define NEXT_NAME "journal.new"
#define TORN_NAME "journal.torn"

struct tail {
        struct journal_walk walk; /* at the last record */
        uint64_t size;            /* of the file, after a repair */
        uint64_t torn;            /* bytes that were put aside */
};

static int lock(int fd, struct error *err)
{
        const struct timespec pause = { .tv_nsec = LOCK_TRY_US * 1000 };
        uint64_t end = 0;

        for (;;) {
                if (flock(fd, LOCK_EX | LOCK_NB) == 0)
                        return 0;
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return error_set_errno(err, "lock the journal");
                if (end == 0)
                        end = clock_now_ns() + LOCK_WAIT_MS * UINT64_C(1000000);
                if (clock_now_ns() >= end)
                        return error_set(err, SBX_ESYSTEM,
                                         "lock the journal: another process holds it");
                (void)nanosleep(&pause, NULL); /* there is no waiting for a lock with an end */
        }
}

static void unlock(int fd)
{
        if (fd >= 0)
                (void)flock(fd, LOCK_UN); /* cannot fail for a lock we hold */
        fd_close(fd);
}

/* The file, locked; its size is in `*ret_size`. */
static int open_locked(int dir, uint64_t *ret_size, struct error *err)
{
        for (int i = 0; i < RENAMES_MAX; i++) {
                int fd = openat(dir, JOURNAL_NAME,
                                O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                                0600);
                struct stat ours, named;
                int r;

                if (fd < 0)
                        return error_set_errno(err, "open the journal");
                r = lock(fd, err);
                if (r < 0) {
                        fd_close(fd);
                        return r;
                }
                if (fstat(fd, &ours) == 0 &&
                    fstatat(dir, JOURNAL_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                    ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
                        if (!S_ISREG(ours.st_mode) || ours.st_uid != geteuid()) {
                                unlock(fd);
                                return error_set(err, SBX_ESYSTEM,
                                                 "the journal is not a file of this user's");
                        }
                        *ret_size = (uint64_t)ours.st_size;
                        return fd;
                }
                unlock(fd); /* it was closed and another begun meanwhile */
        }
        return error_set(err, SBX_ESYSTEM, "open the journal: it changes its name too often");
}

static void start_at(struct journal_walk *walk, const struct journal_line *line)
{
        walk->seq = line->seq + (line->pruned ? line->pruned - 1 : 0);
        memcpy(walk->hash, line->hash, HASH_TEXT_MAX - 1);
        walk->hash[HASH_TEXT_MAX - 1] = '\0';
}

/* The last line, if it is a whole one and lies within the last `room` bytes. */
static bool read_last(int fd, uint64_t size, char *buffer, size_t room, struct journal_walk *ret)
{
        size_t length = size < room ? (size_t)size : room;
        struct journal_line line;
        const char *before;
        ssize_t n = pread(fd, buffer, length, (off_t)(size - length));

        if (n != (ssize_t)length || buffer[length - 1] != '\n')
                return false;
        before = length > 1 ? memrchr(buffer, '\n', length - 1) : NULL;
        if (!before && length < size)
                return false;
        before = before ? before + 1 : buffer;
        if (!journal_parse(before, (size_t)(buffer + length - 1 - before), &line))
                return false;
        start_at(ret, &line);
        return true;
}

/* Puts what follows the last whole line aside. */
static int put_aside(int dir, int fd, const char *data, struct tail *tail, uint64_t good,
                     struct error *err)
{
        AUTO_CLOSE int torn = openat(dir, TORN_NAME,
                                     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (torn < 0 || fd_write_all(torn, data + good, (size_t)(tail->size - good)) < 0 ||
            ftruncate(fd, (off_t)good) < 0)
                return error_set_errno(err, "put the torn end of the journal aside");
        tail->torn = tail->size - good;
        tail->size = good;
        return 0;
}

/* Reads everything and finds the last line of ours; for an end that is none. */
static int repair(int dir, int fd, struct tail *tail, struct error *err)
{
        const uint64_t most = JOURNAL_SEGMENT_BYTES + 2 * JOURNAL_LINE_MAX;
        AUTO_FREE char *data = tail->size <= most ? mem_alloc((size_t)tail->size + 1) : NULL;
        struct journal_line line;
        enum journal_step step;
        size_t offset = 0;
        uint64_t good = 0;

        if (!data)
                return error_set(err, SBX_ESYSTEM,
                                 "the journal is damaged: no whole record ends it");
        for (uint64_t done = 0; done < tail->size;) {
                ssize_t n = pread(fd, data + done, (size_t)(tail->size - done), (off_t)done);

                if (n <= 0)
                        return error_set_errno(err, "read the journal");
                done += (uint64_t)n;
        }
        while ((step = journal_next(data, (size_t)tail->size, &offset, &line)) != JOURNAL_END &&
               step != JOURNAL_TORN) {
                if (step == JOURNAL_MALFORMED)
                        continue;
                start_at(&tail->walk, &line);
                good = offset;
        }
        return good == tail->size ? 0 : put_aside(dir, fd, data, tail, good, err);
}

static int find_tail(int dir, int fd, struct tail *tail, struct error *err)
{
        AUTO_FREE char *large = NULL;
        char small[TAIL_READ];

        memset(tail->walk.hash, '0', HASH_TEXT_MAX - 1);
        if (tail->size == 0 || read_last(fd, tail->size, small, sizeof(small), &tail->walk))
                return 0;
        large = mem_alloc(JOURNAL_LINE_MAX + 1);
        if (!large)
                return error_set_nomem(err);
        if (read_last(fd, tail->size, large, JOURNAL_LINE_MAX + 1, &tail->walk))
                return 0;
        return repair(dir, fd, tail, err);
}

static void make_line(struct strbuf *line, const struct tail *tail, const char *fields,
                      size_t length, char ret_hash[HASH_TEXT_MAX])
{
        struct hash hash;

        strbuf_addf(line, "{\"prev\":\"%s\",\"seq\":%" PRIu64, tail->walk.hash, tail->walk.seq + 1);
        if (tail->torn)
                strbuf_addf(line, ",\"torn\":%" PRIu64, tail->torn);
        strbuf_add(line, ",", 1);
        strbuf_add(line, fields, length);
        if (line->failed)
                return;
        hash_init(&hash);
        hash_update(&hash, line->data, line->length);
        hash_final(&hash, ret_hash);
        strbuf_addf(line, ",\"hash\":\"%s\"}\n", ret_hash);
}

/* One call, so that a death in between leaves one torn end at the most. A disk that fills up takes
 * a part of it, which is taken back. */
static int write_line(int fd, const struct strbuf *line, uint64_t size, struct error *err)
{
        ssize_t n;

        do
                n = write(fd, line->data, line->length);
        while (n < 0 && errno == EINTR);
        if (n == (ssize_t)line->length)
                return 0;
        if (n >= 0)
                errno = ENOSPC;
        (void)error_set_errno(err, "write the journal");
        if (n > 0)
                (void)ftruncate(fd, (off_t)size); /* else the next writer puts it aside */
        return SBX_ESYSTEM;
}

/* The first record's number, which a closed segment is named by. */
static int first_of(int fd, uint64_t *ret_first, struct error *err)
{
        char start[160];
        ssize_t n = pread(fd, start, sizeof(start) - 1, 0);
        const char *seq;

        start[n > 0 ? n : 0] = '\0';
        seq = strstr(start, "\",\"seq\":");
        if (!seq || sscanf(seq + 8, "%" SCNu64, ret_first) != 1)
                return error_set(err, SBX_ESYSTEM, "the journal is damaged: no record begins it");
        return 0;
}

/* Gives the file the name of a closed segment. A name that stands for this file already is as good;
 * one that stands for another (a chain that was begun anew) is left alone. */
static int name_segment(int dir, int fd, uint64_t first)
{
        struct stat ours, named;

        for (unsigned i = 0; i < RENAMES_MAX; i++) {
                char name[JOURNAL_NAME_MAX];

                journal_segment_name(first, i, name);
                if (linkat(dir, JOURNAL_NAME, dir, name, 0) == 0)
                        return 0;
                if (errno != EEXIST)
                        return -1;
                if (fstat(fd, &ours) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                    ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
                        return 0;
        }
        return -1;
}

/* The old file gets its second name before the new one takes the first: whatever happens in
 * between, every record stands under at least one name. */
static int begin_segment(int dir, int fd, const struct strbuf *line, struct error *err)
{
        AUTO_CLOSE int next = -1;
        uint64_t first;
        int r = first_of(fd, &first, err);

        if (r < 0)
                return r;
        if (fdatasync(fd) < 0)
                return error_set_errno(err, "write the journal");
        (void)unlinkat(dir, NEXT_NAME, 0); /* of a writer that was killed here */
        next = openat(dir, NEXT_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (next < 0)
                return error_set_errno(err, "begin a new journal");
        r = write_line(next, line, 0, err);
        if (r == 0 && fdatasync(next) < 0)
                r = error_set_errno(err, "write the journal");
        if (r == 0 &&
            (name_segment(dir, fd, first) < 0 || renameat(dir, NEXT_NAME, dir, JOURNAL_NAME) < 0))
                r = error_set_errno(err, "begin a new journal");
        if (r < 0)
                (void)unlinkat(dir, NEXT_NAME, 0);
        return r;
}

int journal_append(int dir, const char *fields, size_t length, bool new_segment,
                   struct journal_walk *ret_walk, struct error *err)
{
        AUTO_STRBUF struct strbuf line = { 0 };
        struct tail tail = { 0 };
        char hash[HASH_TEXT_MAX];
        int fd = open_locked(dir, &tail.size, err), r;

        if (fd < 0)
                return fd;
        r = find_tail(dir, fd, &tail, err);
        if (r == 0) {
                make_line(&line, &tail, fields, length, hash);
                if (line.failed)
                        r = error_set_nomem(err);
                else if (line.length > JOURNAL_LINE_MAX || memchr(fields, '\n', length))
                        r = error_set(err, SBX_ETOOBIG, "the record is larger than %d KiB",
                                      JOURNAL_LINE_MAX >> 10);
        }
        if (r == 0 && tail.size > 0 &&
            (new_segment || tail.size + line.length > JOURNAL_SEGMENT_BYTES))
                r = begin_segment(dir, fd, &line, err);
        else if (r == 0)
                r = write_line(fd, &line, tail.size, err);
        unlock(fd);
        if (r == 0 && ret_walk) {
                ret_walk->seq = tail.walk.seq + 1;
                memcpy(ret_walk->hash, hash, sizeof(hash));
        }
        return r;
}
