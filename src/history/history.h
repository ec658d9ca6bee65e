/*
 * Records: what is kept of a run, in the state directory of the user.
 *
 *     journal.jsonl, journal-*.jsonl[.zst]    the journal (journal.h)
 *     executions/DATE/TIME-HASH8/             code and outputs, where the policy keeps them
 *     code-hashes                             hashes of large programs, by what they are on disk
 *     lost                                    how many records could not be written
 *     index.sqlite                            made from the journal by `sandbox history`
 *
 * Everything is private (0700, 0600). A directory that is somebody else's, or that others may write
 * to, is refused. Nothing here ever fails a run: the caller tells what went wrong, and goes on.
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/error.h"
#include "base/hash.h"
#include "request/request.h"
#include "result/result.h"

#include <stdbool.h>
#include <stdint.h>

struct history {
        char *path; /* owned: the state directory; NULL: there is none, as without a home */
        int dir;    /* owned: it, open; -1 until it is needed */
};

void history_init(struct history *history);
void history_done(struct history *history);
/* Opens the directory; with `make`, makes it where it is missing. */
int history_open(struct history *history, bool make, struct error *err);

/* What is recorded of a run. All of it is borrowed. */
struct history_entry {
        const struct result *result;
        const struct request *request; /* name, arguments */
        const struct request *code;    /* whose code ran */
        const char *network;           /* mode */
        const char *artifacts;         /* their folder below the state directory, or NULL */
        const char *turn_of;           /* id of the run whose turn it was, or NULL */
        uint64_t code_bytes;
        char code_hash[HASH_TEXT_MAX];
};

/* code_hash.c: SHA-256 of the code, of a whole project with its paths. 0, or -1 with errno. */
int history_hash_code(const struct history *history, const struct request *code,
                      char ret_hash[HASH_TEXT_MAX], uint64_t *ret_bytes);
/* record.c: appends the record. */
int history_record(struct history *history, const struct history_entry *entry, struct error *err);
/* One record that could not be written; counted where the disk allows it. */
void history_count_lost(const struct history *history);
uint64_t history_lost(const struct history *history);

/*
 * artifacts.c: code, result, outputs, files and policy of one run. Written aside and renamed, so
 * that they are there whole or not at all.
 */
struct history_artifacts {
        int dir; /* owned: where they are written, or -1 */
        int parent;
        char aside[64];
};

enum { HISTORY_PATH_MAX = 128 };

void history_artifacts_init(struct history_artifacts *artifacts);
int history_artifacts_begin(const struct history *history, const struct result *result,
                            struct history_artifacts *artifacts, struct error *err);
/* Writes what is known at the end. `extension` is that of the language ("py"), `policy` the
 * effective policy as a policy file. `ret_path` is the folder below the state directory. */
int history_artifacts_finish(struct history_artifacts *artifacts, const struct history_entry *entry,
                             const char *extension, const char *policy,
                             char ret_path[HISTORY_PATH_MAX], struct error *err);
/* Removes what was written, unless it was finished. */
void history_artifacts_drop(struct history_artifacts *artifacts);

#endif
