/*
 * sandbox-history: what `sandbox history` and `sandbox top` execute.
 *
 * The journal is the truth; index.sqlite is made from it whenever records are asked for, and can be
 * removed at any time. Closed segments of the journal are compressed on the way. Where the state
 * directory cannot be written, the index is made in memory and nothing is compressed.
 *
 * Everything shown may come from guests: what goes to a terminal passes str_printable().
 */
#ifndef HISTORIAN_HISTORIAN_H
#define HISTORIAN_HISTORIAN_H

#include "cli/cli.h"
#include "cli/history.h"
#include "history/history.h"
#include "history/journal.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdint.h>

struct archive {
        struct history history;
        sqlite3 *db;         /* owned; NULL: there are no records at all */
        const char *program; /* borrowed: the path of `sandbox` */
        const struct cli *cli;
        const struct options *options;
        const char *words[2]; /* the sub-command and its word, or NULL */
};

/* archive.c */
/* Opens the directory and brings the index up to date. Without a directory there are no records. */
int archive_open(struct archive *archive, struct error *err);
void archive_close(struct archive *archive);
/* Looks for records that came since. */
int archive_refresh(struct archive *archive, struct error *err);

/* segments.c: the files of the journal, oldest first. */
struct segment {
        char name[JOURNAL_NAME_MAX];
        uint64_t first; /* record; UINT64_MAX for the file that is appended to */
        bool is_compressed, is_live;
        uint64_t bytes; /* on disk */
};
int segments_list(int dir, struct segment **ret_segments, size_t *ret_count, struct error *err);
int segment_read(int dir, const struct segment *segment, char **ret_data, size_t *ret_length,
                 struct error *err);
/* Whoever replaces closed segments holds this lock, which writers never wait for; closing the
 * descriptor gives it back. */
int segments_lock(int dir, struct error *err);
/* Writes a closed segment anew, compressed, whole or not at all. */
int segment_write(int dir, const struct segment *segment, const char *data, size_t length,
                  struct error *err);
/* What it takes on disk once it is closed and compressed. */
int segment_measure(int dir, const struct segment *segment, uint64_t *ret_bytes, struct error *err);
/* Compresses those that are closed and are not; what fails is left as it is. */
void segments_compress(int dir);

/* index.c */
int index_open(struct archive *archive, struct error *err);
int index_update(struct archive *archive, struct error *err);
int index_fail(const struct archive *archive, struct error *err);
/* The number of the last record; 0: there is none. */
uint64_t index_last(const struct archive *archive);
/* Forgets records that were pruned. */
int index_forget(struct archive *archive, uint64_t first, uint64_t count, struct error *err);

/* entries.c: records by the filters of the options. */
struct query {
        struct strbuf where;   /* SQL with numbered parameters */
        struct strlist values; /* theirs */
        int64_t limit;         /* newest; 0: all */
};
int query_init(struct query *query, const struct archive *archive, int64_t limit,
               struct error *err);
void query_done(struct query *query);
/* Calls `see` with each record as its line of the journal, oldest first, from `after` on. */
typedef int (*entry_visitor)(void *context, uint64_t seq, const char *line, struct error *err);
int query_run(const struct archive *archive, const struct query *query, uint64_t after,
              entry_visitor see, void *context, struct error *err);
/* The line of one record by identifier, a beginning of it, or "last". Caller frees. */
int entry_find(const struct archive *archive, const char *id, char **ret_line, struct error *err);
/* "2h", "7d", "2026-11-15", "2026-11-15T06:04:11Z" as a stamp of the journal. */
int entry_time(const char *text, char ret_stamp[CLOCK_STAMP_MAX], struct error *err);
/* A duration that may count days. */
int entry_age(const char *text, uint64_t *ret_seconds, struct error *err);
/* A stamp of `seconds` before now. */
void entry_stamp_ago(uint64_t seconds, char ret_stamp[CLOCK_STAMP_MAX]);

/* names.c: whether what a filter names is anything. */
/* The language's own name, also for another name of it. Caller frees. */
int name_language(const struct archive *archive, const char *name, char **ret_name,
                  struct error *err);
int name_backend(const struct archive *archive, const char *name, struct error *err);
int name_status(const struct archive *archive, const char *name, struct error *err);

/* list.c */
enum list_form { LIST_TABLE, LIST_JSON, LIST_JSONL, LIST_CSV };
int list_form(const struct options *options, enum list_form *ret_form, struct error *err);
/* One record as a line of the table, of CSV, or as it is. */
void list_add(struct strbuf *out, enum list_form form, const char *line, bool is_first);
void list_heading(struct strbuf *out, enum list_form form);
int history_list(struct archive *archive, struct error *err);
int history_export(struct archive *archive, struct error *err);

/* main.c: whether the option says which records are meant. */
bool history_is_filter(const char *option);

int history_show(struct archive *archive, struct error *err);
int history_code(struct archive *archive, struct error *err);
int history_rerun(struct archive *archive, struct error *err);
int history_stats(struct archive *archive, struct error *err);
int history_follow(struct archive *archive, struct error *err);
int history_verify(struct archive *archive, struct error *err);
int history_prune(struct archive *archive, struct error *err);
int top_main(const struct cli *cli, const struct options *options, struct error *err);

/* show.c: the folder of what was kept, open; -1 with `err`. */
int show_open_artifacts(const struct archive *archive, const json_t *record, struct error *err);
/* A text of the record that may be shown on a terminal; caller's buffer. */
const char *show_text(const json_t *record, const char *key, char *buffer, size_t size);

#endif
