/*
 * Removing records. A record in the middle of a chain cannot go without breaking it, so those that
 * are pruned leave one line for each row of neighbours, which says how many there were and carries
 * the chain on. What was kept beside the records goes first: a prune that is killed leaves records
 * without their folders, never the other way round. The journal itself is closed before, so that
 * no writer is at work in the segments that are written anew; and the prune is a record, too.
 */
#include "historian/historian.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/mem.h"
#include "base/tree.h"
#include "base/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 40, STALE_SECONDS = 86400 };

struct victim {
        uint64_t seq, bytes; /* of its folder and, once that is known, of its part of the journal */
        size_t line;         /* length of its text in the journal */
        char *folder;        /* owned, or NULL */
        bool too_old;
};

struct pruning {
        struct archive *archive;
        char before[CLOCK_STAMP_MAX]; /* empty: no age is given */
        bool keep_errors;
        bool has_max;
        uint64_t max_bytes;
        struct victim *victims;
        size_t count, capacity;
        /* Before: what the compressed journal takes, the text in it, and the folders of all runs.
         */
        uint64_t journal, text, folders;
};

static uint64_t tree_bytes(int dir, const char *name, int depth)
{
        AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        uint64_t bytes = 0;
        struct stat st;

        if (!folder) {
                fd_close(copy);
                return 0;
        }
        while ((entry = readdir(folder)) && depth < DEPTH_MAX) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                bytes += (uint64_t)st.st_blocks * 512;
                if (S_ISDIR(st.st_mode))
                        bytes += tree_bytes(fd, entry->d_name, depth + 1);
        }
        (void)closedir(folder);
        return bytes;
}

/* The folder of a record, with its own block; 0 where there is none. */
static uint64_t folder_bytes(const struct archive *archive, const char *folder)
{
        struct stat st;

        if (fstatat(archive->history.dir, folder, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        return (uint64_t)st.st_blocks * 512 + tree_bytes(archive->history.dir, folder, 0);
}

/* What a record says of its folder; NULL where that is none of ours. */
static const char *folder_of(const json_t *record)
{
        const char *folder = json_string_value(json_object_get(record, "artifacts"));

        return folder && strncmp(folder, "executions/", 11) == 0 && !strstr(folder, "..") ? folder
                                                                                          : NULL;
}

/* Every record, whether it may go or not, takes room. */
static int weigh(void *context, uint64_t seq, const char *line, struct error *err)
{
        struct pruning *pruning = context;
        json_t *record = json_loads(line, 0, NULL);
        const char *folder = folder_of(record);

        (void)seq;
        (void)err;
        pruning->text += strlen(line);
        pruning->folders += folder ? folder_bytes(pruning->archive, folder) : 0;
        json_decref(record);
        return 0;
}

/* Every record that may go, oldest first. */
static int consider(void *context, uint64_t seq, const char *line, struct error *err)
{
        struct pruning *pruning = context;
        json_t *record = json_loads(line, 0, NULL);
        const char *status = json_string_value(json_object_get(record, "status"));
        const char *started = json_string_value(json_object_get(record, "started_at"));
        const char *folder = folder_of(record);
        struct victim victim = { .seq = seq, .line = strlen(line) };
        int r = 0;

        if (pruning->keep_errors && !str_equal(status, "ok")) {
                json_decref(record);
                return 0;
        }
        victim.too_old = pruning->before[0] && started && strcmp(started, pruning->before) < 0;
        if (folder) {
                victim.folder = mem_strdup(folder);
                victim.bytes = folder_bytes(pruning->archive, folder);
                r = victim.folder ? 0 : error_set_nomem(err);
        }
        if (r == 0 && MEM_GROW(pruning->victims, pruning->count, pruning->capacity) < 0)
                r = error_set_nomem(err);
        if (r == 0)
                pruning->victims[pruning->count++] = victim;
        else
                mem_free(victim.folder);
        json_decref(record);
        return r;
}

/* Keeps those that go at the front of the list, still in order; the others are dropped from it. */
static void choose(struct pruning *pruning)
{
        uint64_t left = pruning->journal + pruning->folders;
        size_t kept = 0;

        /* The text of a record has its part of what is compressed as a whole. */
        for (size_t i = 0; i < pruning->count; i++)
                pruning->victims[i].bytes +=
                        pruning->text ? (uint64_t)((double)pruning->victims[i].line *
                                                   (double)pruning->journal / (double)pruning->text)
                                      : 0;
        for (size_t i = 0; i < pruning->count; i++)
                if (pruning->victims[i].too_old)
                        left -= left < pruning->victims[i].bytes ? left : pruning->victims[i].bytes;
        for (size_t i = 0; i < pruning->count; i++) {
                struct victim *victim = &pruning->victims[i];
                bool goes = victim->too_old;

                if (!goes && pruning->has_max && left > pruning->max_bytes) {
                        goes = true;
                        left -= left < victim->bytes ? left : victim->bytes;
                }
                if (goes)
                        pruning->victims[kept++] = *victim;
                else
                        mem_free(victim->folder);
        }
        pruning->count = kept;
}

static int measure(struct pruning *pruning, struct error *err)
{
        struct query everything = { .limit = 0 };
        AUTO_FREE struct segment *segments = NULL;
        size_t count = 0;
        int dir = pruning->archive->history.dir;
        int r = segments_list(dir, &segments, &count, err);

        for (size_t i = 0; r == 0 && i < count; i++) {
                uint64_t bytes = 0;

                r = segment_measure(dir, &segments[i], &bytes, err);
                pruning->journal += bytes;
        }
        strbuf_adds(&everything.where, "1");
        if (r == 0 && everything.where.failed)
                r = error_set_nomem(err);
        if (r == 0)
                r = query_run(pruning->archive, &everything, 0, weigh, pruning, err);
        query_done(&everything);
        return r;
}

/* ---- doing it ---- */

static void remove_below(const struct archive *archive, const char *path)
{
        AUTO_STRBUF struct strbuf whole = { 0 };

        strbuf_addf(&whole, "%s/%s", archive->history.path, path);
        if (!whole.failed)
                (void)tree_remove(whole.data); /* gone is what it shall be */
}

/* Days without runs, and what runs that were killed while they kept something left. */
static void sweep_folders(const struct archive *archive)
{
        AUTO_CLOSE int fd = openat(archive->history.dir, "executions",
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        struct stat st;
        char path[300];

        if (!folder) {
                fd_close(copy);
                return;
        }
        while ((entry = readdir(folder))) {
                if (entry->d_name[0] != '.') {
                        (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR); /* if it is empty */
                } else if (strncmp(entry->d_name, ".new-", 5) == 0 &&
                           fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                           st.st_mtime + STALE_SECONDS < time(NULL)) {
                        (void)snprintf(path, sizeof(path), "executions/%s", entry->d_name);
                        remove_below(archive, path);
                }
        }
        (void)closedir(folder);
}

/* The filters, which said what else was to be true of those that went. */
static void add_filters(struct strbuf *fields, const struct options *options)
{
        jsontext_key(fields, "filters");
        strbuf_adds(fields, "{");
        for (size_t i = 0; i < options->use_count; i++)
                if (history_is_filter(options->uses[i].option->name))
                        jsontext_put_string(fields, options->uses[i].option->name,
                                            options->uses[i].value);
        strbuf_adds(fields, "}");
}

static int append_prune(const struct pruning *pruning, struct error *err)
{
        AUTO_STRBUF struct strbuf fields = { 0 };
        char id[CLOCK_ULID_MAX] = "", stamp[CLOCK_STAMP_MAX];

        (void)clock_ulid(id); /* a record without identifier is one all the same */
        jsontext_put_string(&fields, "kind", "prune");
        jsontext_put_string(&fields, "id", id);
        jsontext_put_string(&fields, "started_at", clock_stamp(stamp));
        jsontext_put_size(&fields, "uid", getuid());
        jsontext_put_size(&fields, "removed", pruning->count);
        jsontext_put_string(&fields, "older_than", pruning->before[0] ? pruning->before : NULL);
        jsontext_put_bool(&fields, "keep_errors", pruning->keep_errors);
        jsontext_put_size(&fields, "max_size", pruning->max_bytes);
        add_filters(&fields, pruning->archive->options);
        if (fields.failed)
                return error_set_nomem(err);
        return journal_append(pruning->archive->history.dir, fields.data, fields.length, true, NULL,
                              err);
}

static int by_seq(const void *key, const void *item)
{
        uint64_t seq = *(const uint64_t *)key, other = ((const struct victim *)item)->seq;

        return seq < other ? -1 : seq > other;
}

/* A row of pruned neighbours that is not written yet. */
struct gap {
        uint64_t first, count;
        char prev[HASH_TEXT_MAX], hash[HASH_TEXT_MAX];
};

static void write_gap(struct strbuf *out, struct gap *gap)
{
        if (gap->count)
                strbuf_addf(out,
                            "{\"prev\":\"%s\",\"seq\":%" PRIu64 ",\"pruned\":%" PRIu64
                            ",\"hash\":\"%s\"}\n",
                            gap->prev, gap->first, gap->count, gap->hash);
        gap->count = 0;
}

static void widen_gap(struct gap *gap, const struct journal_line *line)
{
        if (gap->count == 0) {
                gap->first = line->seq;
                (void)snprintf(gap->prev, sizeof(gap->prev), "%.64s", line->prev);
        }
        gap->count += line->pruned ? line->pruned : 1;
        (void)snprintf(gap->hash, sizeof(gap->hash), "%.64s", line->hash);
}

/* The segment without the victims; the number of those found in it. Lines that are none of ours, or
 * whose hash is not true, stay as they are: they are what `verify` is to find. */
static size_t rewrite(const struct pruning *pruning, const char *data, size_t length,
                      struct strbuf *out)
{
        struct journal_line line;
        enum journal_step step;
        struct gap gap = { 0 };
        size_t at = 0, start = 0, found = 0;

        while ((step = journal_next(data, length, &at, &line)) != JOURNAL_END &&
               step != JOURNAL_TORN) {
                bool goes = step == JOURNAL_LINE && !line.pruned && pruning->count > 0 &&
                            bsearch(&line.seq, pruning->victims, pruning->count,
                                    sizeof(struct victim), by_seq) &&
                            journal_hash_is_true(&line);

                found += goes;
                if (goes || (step == JOURNAL_LINE && line.pruned)) {
                        widen_gap(&gap, &line);
                } else {
                        write_gap(out, &gap);
                        strbuf_add(out, data + start, at - start);
                }
                start = at;
        }
        write_gap(out, &gap);
        strbuf_add(out, data + start, length - start);
        return found;
}

static int rewrite_segments(const struct pruning *pruning, struct error *err)
{
        AUTO_FREE struct segment *segments = NULL;
        size_t count = 0;
        int dir = pruning->archive->history.dir;
        AUTO_CLOSE int lock = segments_lock(dir, err);
        int r = lock < 0 ? lock : segments_list(dir, &segments, &count, err);

        for (size_t i = 0; r == 0 && i < count; i++) {
                AUTO_STRBUF struct strbuf out = { 0 };
                AUTO_FREE char *data = NULL;
                size_t length;

                if (segments[i].is_live)
                        continue;
                r = segment_read(dir, &segments[i], &data, &length, err);
                if (r < 0 || rewrite(pruning, data, length, &out) == 0)
                        continue;
                r = out.failed ? error_set_nomem(err)
                               : segment_write(dir, &segments[i], out.data, out.length, err);
        }
        return r;
}

static int carry_out(struct pruning *pruning, struct error *err)
{
        struct archive *archive = pruning->archive;
        int r = append_prune(pruning, err);

        for (size_t i = 0; r == 0 && i < pruning->count; i++)
                if (pruning->victims[i].folder)
                        remove_below(archive, pruning->victims[i].folder);
        if (r == 0)
                r = rewrite_segments(pruning, err);
        for (size_t i = 0; r == 0 && i < pruning->count; i++)
                r = index_forget(archive, pruning->victims[i].seq, 1, err);
        if (r == 0)
                sweep_folders(archive);
        return r < 0 ? r : index_update(archive, err);
}

static int read_options(struct pruning *pruning, struct error *err)
{
        const struct options *options = pruning->archive->options;
        const char *age = options_value(options, "older-than");
        const char *size = options_value(options, "max-size");
        uint64_t seconds;
        int r = 0;

        if (!age && !size) {
                r = error_set(err, SBX_EINVAL, "history prune: nothing says what is to go");
                error_hint(err, "give '--older-than 30d' or '--max-size 1G', or both");
                return r;
        }
        if (age) {
                r = entry_age(age, &seconds, err);
                if (r < 0)
                        error_prefix(err, "option '--older-than'");
                else
                        entry_stamp_ago(seconds, pruning->before);
        }
        pruning->has_max = size != NULL;
        if (r == 0 && size) {
                r = units_parse_size(size, UINT64_C(1) << 20, &pruning->max_bytes, err);
                if (r < 0)
                        error_prefix(err, "option '--max-size'");
        }
        pruning->keep_errors = options_given(options, "keep-errors");
        return r;
}

int history_prune(struct archive *archive, struct error *err)
{
        struct query query = { .limit = 0 };
        struct pruning pruning = { .archive = archive };
        bool dry = options_given(archive->options, "dry-run");
        uint64_t bytes = 0;
        char line[160], size[UNITS_TEXT_MAX];
        int length, r = read_options(&pruning, err);

        if (r == 0)
                r = query_init(&query, archive, 0, err);
        if (r == 0 && archive->db)
                r = measure(&pruning, err);
        if (r == 0)
                r = query_run(archive, &query, 0, consider, &pruning, err);
        query_done(&query);
        if (r == 0)
                choose(&pruning);
        for (size_t i = 0; r == 0 && i < pruning.count; i++)
                bytes += pruning.victims[i].bytes;
        if (r == 0 && pruning.count > 0 && !dry)
                r = carry_out(&pruning, err);
        length = snprintf(line, sizeof(line), "%s%zu records, about %s\n",
                          dry ? "would remove " : "removed ", pruning.count,
                          units_format_size(bytes, size));
        if (r == 0)
                r = report_write(archive->cli, line, (size_t)length, err);
        for (size_t i = 0; i < pruning.count; i++)
                mem_free(pruning.victims[i].folder);
        mem_free(pruning.victims);
        return r;
}
