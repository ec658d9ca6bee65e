/*
 * The journal: what has run, one JSON object a line, appended and never changed.
 *
 * A line is {"prev":"<hash>","seq":<number>, ... ,"hash":"<hash>"}. `hash` is the SHA-256 of the
 * line's bytes before `,"hash":`; `prev` is the hash of the line before, 64 zeros for the first. So
 * whoever changes, removes or inserts a line breaks the chain behind it.
 *
 * The file "journal.jsonl" is appended to. When it is large it gets the name of its first record,
 * "journal-000000000001.jsonl", and a new one begins, whose first line goes on with the chain.
 * Those older segments may be compressed later ("....jsonl.zst"), and records in them may be
 * replaced by {"prev":"..","seq":FIRST,"pruned":COUNT,"hash":".."}, which keeps the chain.
 *
 * Writers hold a lock (flock) on the file while they read its last line and write theirs with one
 * call. What a writer that was killed, or a machine that lost power, left unfinished at the end is
 * put aside into "journal.torn" by the next writer; nothing before it is touched. Nothing is
 * flushed to the disk record by record: a record survives the death of every process at once, and
 * the loss of power once the kernel has written it back.
 */
#ifndef HISTORY_JOURNAL_H
#define HISTORY_JOURNAL_H

#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_NAME "journal.jsonl"

enum {
        JOURNAL_LINE_MAX = 256 << 10,     /* bytes of a line, its newline included */
        JOURNAL_SEGMENT_BYTES = 16 << 20, /* a segment that would pass it is closed */
        JOURNAL_NAME_MAX = 64,
};

/* One line, taken apart; points into it. */
struct journal_line {
        const char *text;
        size_t length;    /* without the newline */
        uint64_t seq;     /* of the record; of the first one where several were pruned */
        uint64_t pruned;  /* how many this line stands for; 0: it is a record */
        const char *prev; /* 64 digits, not terminated */
        const char *hash; /* 64 digits, not terminated */
};

enum journal_step {
        JOURNAL_END,       /* nothing is left */
        JOURNAL_LINE,      /* a line of ours */
        JOURNAL_TORN,      /* the end of the bytes is no whole line */
        JOURNAL_MALFORMED, /* a whole line that is none of ours; the next call goes on after it */
};

/* Whether the bytes (without newline) are a line of ours; says nothing of its neighbours, nor
 * whether its hash is true. */
bool journal_parse(const char *text, size_t length, struct journal_line *ret_line);
/* Whether its hash is that of its bytes; of a pruned one nobody can say otherwise. */
bool journal_hash_is_true(const struct journal_line *line);
/* The line at `*offset`, which is moved behind it. */
enum journal_step journal_next(const char *data, size_t length, size_t *offset,
                               struct journal_line *ret_line);

/* Where a walk along the chain stands. Begin with zeros. */
struct journal_walk {
        uint64_t seq; /* of the last record seen */
        char hash[HASH_TEXT_MAX];
};
/* Steps on to `line`: NULL, or why it does not follow. */
const char *journal_follow(struct journal_walk *walk, const struct journal_line *line);

/* Appends a record; `fields` is what stands between the braces, without the chain's own. With
 * `new_segment` it becomes the first of a new one. `ret_walk` (may be NULL) is then at the record.
 */
int journal_append(int dir, const char *fields, size_t length, bool new_segment,
                   struct journal_walk *ret_walk, struct error *err);
/* The name of the segment that begins with this record; `again` tells several of them apart, which
 * only a journal has that was damaged. */
void journal_segment_name(uint64_t first, unsigned again, char ret_name[JOURNAL_NAME_MAX]);

#endif
