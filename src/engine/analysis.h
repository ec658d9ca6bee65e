/*
 * Static analysis, seen from the engine: sandbox-analyze is started for the source, and its report
 * is judged by the policy. It parses foreign text, so what it says is foreign text too.
 */
#ifndef ENGINE_ANALYSIS_H
#define ENGINE_ANALYSIS_H

#include "policy/policy.h"
#include "backend/child.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "request/request.h"
#include "result/result.h"

#include <jansson.h>
#include <stdbool.h>

struct engine;
struct passage;

/* An analysis under way. */
struct analysis_job {
        struct child child;
        int pidfd;               /* owned, or -1 */
        int socket;              /* owned, or -1: nothing is under way */
        const char *skipped;     /* static: why there is none; or NULL */
        char key[HASH_TEXT_MAX]; /* what its report is remembered by; empty: it is not */
        struct strbuf report;    /* what was remembered; then nothing is under way */
        struct strbuf whole;     /* what became of that for the mode of this run; or nothing */
        struct result_analysis in_short; /* the same */
};

/* analysis.c: starts it for the passage's code. A reason why it cannot be is kept in the job; an
 * error is ours. */
int analysis_start(struct passage *passage, struct analysis_job *job, struct error *err);
/* Waits for the report, at most `wait_ms`, or until the caller cancels; ends the program. A new
 * reference, or NULL: a rule is wrong, or there is no memory. */
json_t *analysis_collect(struct passage *passage, struct analysis_job *job, int wait_ms,
                         struct error *err);
/* The name of the grammar for the passage's language, or NULL. */
const char *analysis_grammar(const struct passage *passage);
/* The policy's lists of a kind that count for the language: its own, then that of the language that
 * it is a dialect of, as TypeScript is of JavaScript; NULL where there is no further one. */
const struct strlist *analysis_list(const struct passage *passage, enum policy_rule rule,
                                    unsigned index);
/* Ends it, whatever it does. */
void analysis_end(struct analysis_job *job);

/* rules.c: adds the rules of a folder. */
int rules_read_folder(struct request_rule_list *list, const char *folder, struct error *err);

/* analysis_order.c: what it is asked, as JSON, and the source of all files in one; caller frees. */
struct analysis_source {
        char *data; /* owned: each file ends with a NUL byte */
        size_t length;
        struct strbuf files; /* name, offset, length of each, as JSON */
};
/* 0; 1 where there is too much of it. */
int analysis_read_source(const struct passage *passage, struct analysis_source *ret_source,
                         struct error *err);
char *analysis_order_text(const struct passage *passage, const struct analysis_source *source,
                          struct error *err);

/* analysis_memory.c: reports of code that comes again, by what they depend on. Thread-safe. */
struct analysis_memory *analysis_memory_new(void);
void analysis_memory_free(struct analysis_memory *memory);
/* The empty key of an engine that remembers nothing is never found. */
void analysis_memory_key(const struct engine *engine, const char *language,
                         const struct analysis_source *source, const char *order,
                         char ret_key[HASH_TEXT_MAX]);
bool analysis_recall(struct analysis_memory *memory, const char *key, struct strbuf *ret_report);
void analysis_remember(struct analysis_memory *memory, const char *key,
                       const struct strbuf *report);
/* The same for what a report became in the end, which depends on the mode, too: the text of the
 * result, and what is recorded of it. */
bool analysis_recall_whole(struct analysis_memory *memory, const char *key,
                           enum policy_analysis mode, struct strbuf *ret_whole,
                           struct result_analysis *ret_short);
void analysis_remember_whole(struct analysis_memory *memory, const char *key,
                             enum policy_analysis mode, const char *whole,
                             const struct result_analysis *in_short);

/* analysis_report.c: one report from what the program wrote, checked for its form; a new
 * reference, or NULL with an error that the report tells (SBX_EINVAL) or without memory. */
json_t *analysis_read_report(const struct passage *passage, const char *text, size_t length,
                             struct error *err);
/* A report of nothing, and why; in short, and as text. */
struct result_analysis analysis_skipped(const struct passage *passage, const char *reason,
                                        struct strbuf *ret_report);
json_t *analysis_skipped_report(const struct passage *passage, const char *reason);
/* What is recorded of it. */
struct result_analysis analysis_in_short(const json_t *report);
/* The finding because of which the policy blocks the code, borrowed; NULL: it may run. */
const json_t *analysis_blocking(const struct passage *passage, const json_t *report);

#endif
