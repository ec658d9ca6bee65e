/*
 * The index: a table made from the journal, so that questions need not read all of it. It stands in
 * the state directory, in the write-ahead mode of SQLite, so that many can read while one brings it
 * up to date. It holds nothing that the journal does not: one that is damaged, or knows a record
 * that the journal does not know, is made anew.
 */
#include "historian/historian.h"
#include "base/fd.h"
#include "base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000, INDEX_VERSION = 1 };

static const char schema[] =
        "CREATE TABLE IF NOT EXISTS records(seq INTEGER PRIMARY KEY, id TEXT, kind TEXT, "
        "started_at TEXT, name TEXT, uid INTEGER, language TEXT, backend TEXT, status TEXT, "
        "execution_time REAL, memory_used INTEGER, artifacts TEXT, line TEXT);"
        "CREATE INDEX IF NOT EXISTS by_id ON records(id);"
        "CREATE INDEX IF NOT EXISTS by_time ON records(started_at);"
        "CREATE TABLE IF NOT EXISTS place(only INTEGER PRIMARY KEY CHECK(only = 1), seq INTEGER, "
        "hash TEXT, inode INTEGER, offset INTEGER);";

/* Up to where the journal has been read. */
struct place {
        struct journal_walk walk;
        int64_t inode, offset; /* of the file that is appended to */
};

int index_fail(const struct archive *archive, struct error *err)
{
        return error_set(err, SBX_ESYSTEM, "index of the journal: %s",
                         archive->db ? sqlite3_errmsg(archive->db) : "cannot be opened");
}

static bool execute(const struct archive *archive, const char *sql)
{
        return sqlite3_exec(archive->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* Opens it at the path and makes its tables; false where that does not work. */
static bool open_at(struct archive *archive, const char *path)
{
        char version[64];

        if (sqlite3_open(path, &archive->db) == SQLITE_OK) {
                (void)sqlite3_busy_timeout(archive->db, BUSY_MS);
                (void)snprintf(version, sizeof(version), "PRAGMA user_version = %d", INDEX_VERSION);
                if (execute(archive, "PRAGMA journal_mode = WAL") &&
                    execute(archive, "PRAGMA synchronous = OFF") && execute(archive, schema) &&
                    execute(archive, version))
                        return true;
        }
        (void)sqlite3_close(archive->db);
        archive->db = NULL;
        return false;
}

static void remove_files(const struct archive *archive)
{
        static const char *const names[] = { "index.sqlite", "index.sqlite-wal",
                                             "index.sqlite-shm" };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                (void)unlinkat(archive->history.dir, names[i], 0); /* often not there */
}

int index_open(struct archive *archive, struct error *err)
{
        AUTO_STRBUF struct strbuf path = { 0 };
        mode_t before = umask(0077);
        bool opened;

        strbuf_addf(&path, "%s/index.sqlite", archive->history.path);
        opened = !path.failed && open_at(archive, path.data);
        if (!opened && !path.failed) {
                remove_files(archive); /* it was damaged, or cannot be removed either */
                opened = open_at(archive, path.data);
        }
        (void)umask(before);
        return opened || open_at(archive, ":memory:") ? 0 : index_fail(archive, err);
}

static int read_place(const struct archive *archive, struct place *ret_place, struct error *err)
{
        sqlite3_stmt *ask = NULL;
        const char *hash;

        *ret_place = (struct place){ 0 };
        if (sqlite3_prepare_v2(archive->db, "SELECT seq, hash, inode, offset FROM place", -1, &ask,
                               NULL) != SQLITE_OK)
                return index_fail(archive, err);
        if (sqlite3_step(ask) == SQLITE_ROW) {
                ret_place->walk.seq = (uint64_t)sqlite3_column_int64(ask, 0);
                hash = (const char *)sqlite3_column_text(ask, 1);
                (void)snprintf(ret_place->walk.hash, HASH_TEXT_MAX, "%s", hash ? hash : "");
                ret_place->inode = sqlite3_column_int64(ask, 2);
                ret_place->offset = sqlite3_column_int64(ask, 3);
        }
        (void)sqlite3_finalize(ask);
        return 0;
}

static bool write_place(const struct archive *archive, const struct place *place)
{
        sqlite3_stmt *set = NULL;
        bool good = sqlite3_prepare_v2(archive->db,
                                       "INSERT OR REPLACE INTO place VALUES(1, ?, ?, ?, ?)", -1,
                                       &set, NULL) == SQLITE_OK;

        if (good) {
                (void)sqlite3_bind_int64(set, 1, (sqlite3_int64)place->walk.seq);
                (void)sqlite3_bind_text(set, 2, place->walk.hash, -1, SQLITE_STATIC);
                (void)sqlite3_bind_int64(set, 3, place->inode);
                (void)sqlite3_bind_int64(set, 4, place->offset);
                good = sqlite3_step(set) == SQLITE_DONE;
        }
        (void)sqlite3_finalize(set);
        return good;
}

static void bind_text(sqlite3_stmt *put, int at, const json_t *record, const char *key)
{
        const char *text = json_string_value(json_object_get(record, key));

        if (text)
                (void)sqlite3_bind_text(put, at, text, -1, SQLITE_TRANSIENT);
        else
                (void)sqlite3_bind_null(put, at);
}

/* A line that is no JSON object is in the journal still, and found by `verify`. */
static bool put_record(sqlite3_stmt *put, const struct journal_line *line)
{
        static const char *const texts[] = { "id",       "kind",    "started_at", "name",
                                             "language", "backend", "status",     "artifacts" };
        static const int places[] = { 2, 3, 4, 5, 7, 8, 9, 12 };
        json_t *record = json_loadb(line->text, line->length, 0, NULL);
        bool good = true;

        if (json_is_object(record)) {
                (void)sqlite3_reset(put);
                (void)sqlite3_bind_int64(put, 1, (sqlite3_int64)line->seq);
                for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                        bind_text(put, places[i], record, texts[i]);
                (void)sqlite3_bind_int64(put, 6,
                                         json_integer_value(json_object_get(record, "uid")));
                (void)sqlite3_bind_double(
                        put, 10, json_number_value(json_object_get(record, "execution_time")));
                (void)sqlite3_bind_int64(
                        put, 11, json_integer_value(json_object_get(record, "memory_used")));
                (void)sqlite3_bind_text(put, 13, line->text, (int)line->length, SQLITE_TRANSIENT);
                good = sqlite3_step(put) == SQLITE_DONE;
        }
        json_decref(record);
        return good;
}

/* Takes the lines from `*offset` on that are not known yet; stops before an unfinished one. */
static bool take_lines(sqlite3_stmt *put, const char *data, size_t length, size_t *offset,
                       struct place *place)
{
        struct journal_line line;
        enum journal_step step;
        size_t at = *offset;

        while ((step = journal_next(data, length, &at, &line)) != JOURNAL_END &&
               step != JOURNAL_TORN) {
                *offset = at;
                if (step == JOURNAL_MALFORMED)
                        continue;
                if (line.seq + (line.pruned ? line.pruned - 1 : 0) <= place->walk.seq)
                        continue;
                place->walk.seq = line.seq + (line.pruned ? line.pruned - 1 : 0);
                (void)snprintf(place->walk.hash, HASH_TEXT_MAX, "%.64s", line.hash);
                if (!line.pruned && !put_record(put, &line))
                        return false;
        }
        return true;
}

static int take_segment(const struct archive *archive, sqlite3_stmt *put,
                        const struct segment *segment, struct place *place, struct error *err)
{
        AUTO_FREE char *data = NULL;
        size_t length, offset = 0;

        if (segment_read(archive->history.dir, segment, &data, &length, err) < 0) {
                report_error(err); /* the others are told all the same; `verify` fails */
                return 0;
        }
        return take_lines(put, data, length, &offset, place) ? 0 : index_fail(archive, err);
}

/* Whether records are missing between those that are known and the first of these bytes. */
static bool leaves_gap(const char *data, size_t length, const struct place *place)
{
        struct journal_line line;
        size_t at = 0;

        return journal_next(data, length, &at, &line) == JOURNAL_LINE &&
               line.seq > place->walk.seq + 1;
}

/* The rest of the file that is appended to. 1 where it was begun anew since the segments were
 * listed, and `may_list_again`. */
static int take_live(const struct archive *archive, sqlite3_stmt *put, struct place *place,
                     bool may_list_again, struct error *err)
{
        AUTO_CLOSE int fd =
                openat(archive->history.dir, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_FREE char *data = NULL;
        size_t length, offset = 0;
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return 0; /* just closed: next time */
        if ((int64_t)st.st_ino != place->inode || st.st_size < place->offset) {
                place->inode = (int64_t)st.st_ino;
                place->offset = 0;
        }
        if (st.st_size == place->offset)
                return 0;
        if (lseek(fd, place->offset, SEEK_SET) < 0)
                return error_set_errno(err, "read the journal");
        r = fd_read_all(fd, 2 * JOURNAL_SEGMENT_BYTES, "the journal", &data, &length, err);
        if (r < 0)
                return r;
        if (may_list_again && place->offset == 0 && leaves_gap(data, length, place))
                return 1;
        if (!take_lines(put, data, length, &offset, place))
                return index_fail(archive, err);
        place->offset += (int64_t)offset;
        return 0;
}

static int take_listed(const struct archive *archive, sqlite3_stmt *put, struct place *place,
                       bool may_list_again, struct error *err)
{
        AUTO_FREE struct segment *segments = NULL;
        size_t count = 0;
        uint64_t before;
        int r = segments_list(archive->history.dir, &segments, &count, err);

        for (size_t i = 0; r == 0 && i < count; i++) {
                bool is_known = i + 1 < count && segments[i + 1].first <= place->walk.seq + 1;

                if (segments[i].is_live || is_known)
                        continue;
                before = place->walk.seq;
                r = take_segment(archive, put, &segments[i], place, err);
                /* One that is there and cannot be read is not read better the next time. */
                if (place->walk.seq == before &&
                    faccessat(archive->history.dir, segments[i].name, F_OK, 0) == 0)
                        may_list_again = false;
        }
        return r < 0 ? r : take_live(archive, put, place, may_list_again, err);
}

static int take_all(const struct archive *archive, sqlite3_stmt *put, struct place *place,
                    struct error *err)
{
        enum { TRIES = 5 };
        int r = 1;

        for (int i = 1; i <= TRIES && r == 1; i++)
                r = take_listed(archive, put, place, i < TRIES, err);
        return r;
}

/* The number of the last record of these bytes; 0: there is none. */
static uint64_t last_of(const char *data, size_t length)
{
        struct journal_line line;
        enum journal_step step;
        uint64_t last = 0;
        size_t at = 0;

        while ((step = journal_next(data, length, &at, &line)) != JOURNAL_END &&
               step != JOURNAL_TORN)
                if (step == JOURNAL_LINE)
                        last = line.seq;
        return last;
}

/* Whether the index knows records that the journal does not: somebody removed or cut it. */
static bool is_ahead(const struct archive *archive, const struct place *place)
{
        const struct segment live = { .name = JOURNAL_NAME, .is_live = true };
        AUTO_FREE char *data = NULL;
        struct stat st;
        size_t length;

        if (place->walk.seq == 0)
                return false;
        if (fstatat(archive->history.dir, JOURNAL_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return true;
        if ((int64_t)st.st_ino == place->inode)
                return st.st_size < place->offset;
        return segment_read(archive->history.dir, &live, &data, &length, NULL) < 0 ||
               last_of(data, length) < place->walk.seq;
}

static bool forget_all(const struct archive *archive, struct place *place)
{
        *place = (struct place){ 0 };
        return execute(archive, "DELETE FROM records; DELETE FROM place");
}

static bool differs(const struct place *one, const struct place *other)
{
        return one->walk.seq != other->walk.seq || one->inode != other->inode ||
               one->offset != other->offset;
}

int index_update(struct archive *archive, struct error *err)
{
        sqlite3_stmt *put = NULL;
        struct place place, before;
        int r;

        if (!execute(archive, "BEGIN IMMEDIATE"))
                return index_fail(archive, err);
        r = read_place(archive, &place, err);
        before = place;
        if (r == 0 && is_ahead(archive, &place) && !forget_all(archive, &place))
                r = index_fail(archive, err);
        if (r == 0 &&
            sqlite3_prepare_v2(
                    archive->db,
                    "INSERT OR REPLACE INTO records VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    -1, &put, NULL) != SQLITE_OK)
                r = index_fail(archive, err);
        if (r == 0)
                r = take_all(archive, put, &place, err);
        (void)sqlite3_finalize(put);
        if (r == 0 && ((differs(&place, &before) && !write_place(archive, &place)) ||
                       !execute(archive, "COMMIT")))
                r = index_fail(archive, err);
        if (r < 0)
                (void)execute(archive, "ROLLBACK");
        return r;
}

uint64_t index_last(const struct archive *archive)
{
        sqlite3_stmt *ask = NULL;
        uint64_t last = 0;

        if (archive->db &&
            sqlite3_prepare_v2(archive->db, "SELECT max(seq) FROM records", -1, &ask, NULL) ==
                    SQLITE_OK &&
            sqlite3_step(ask) == SQLITE_ROW)
                last = (uint64_t)sqlite3_column_int64(ask, 0);
        (void)sqlite3_finalize(ask);
        return last;
}

int index_forget(struct archive *archive, uint64_t first, uint64_t count, struct error *err)
{
        char sql[160];

        (void)snprintf(sql, sizeof(sql),
                       "DELETE FROM records WHERE seq BETWEEN %" PRIu64 " AND %" PRIu64, first,
                       first + count - 1);
        return execute(archive, sql) ? 0 : index_fail(archive, err);
}
