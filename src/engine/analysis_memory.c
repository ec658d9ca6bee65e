/*
 * What static analysis said of code that comes again. Its report depends on nothing but the program
 * that analyses, the source and the rules: whoever runs the same code once more under the same
 * rules gets the same report, and no process is started for it. An engine that keeps nothing warm
 * is not expected to see code twice, and remembers nothing.
 */
#include "engine/analysis.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/passage.h"

#include <pthread.h>
#include <string.h>

enum { REPORTS_MAX = 64, REPORT_BYTES_MAX = 32 << 10 };

struct remembered {
        char key[HASH_TEXT_MAX];
        char *report; /* owned; NULL: free */
        size_t length;
        uint64_t used; /* the larger, the later */
        char *whole;   /* owned: what it became, or NULL; the mode and the short of that */
        enum policy_analysis mode;
        struct result_analysis in_short;
};

struct analysis_memory {
        pthread_mutex_t lock;
        struct remembered reports[REPORTS_MAX]; /* guarded by lock */
        uint64_t uses;                          /* guarded by lock */
};

struct analysis_memory *analysis_memory_new(void)
{
        struct analysis_memory *memory = mem_alloc(sizeof(*memory));

        if (memory)
                (void)pthread_mutex_init(&memory->lock, NULL); /* cannot fail so */
        return memory;
}

void analysis_memory_free(struct analysis_memory *memory)
{
        if (!memory)
                return;
        for (size_t i = 0; i < REPORTS_MAX; i++) {
                mem_free(memory->reports[i].report);
                mem_free(memory->reports[i].whole);
        }
        (void)pthread_mutex_destroy(&memory->lock);
        mem_free(memory);
}

void analysis_memory_key(const struct engine *engine, const char *language,
                         const struct analysis_source *source, const char *order,
                         char ret_key[HASH_TEXT_MAX])
{
        struct hash hash;

        ret_key[0] = '\0';
        if (!engine->analysed)
                return;
        hash_init(&hash);
        if (hash_update_identity(&hash, engine->analyze_path) < 0)
                return;
        hash_update_text(&hash, language);
        hash_update_text(&hash, order);
        hash_update_part(&hash, source->data, source->length);
        hash_final(&hash, ret_key);
}

/* With the lock: the report with this key, or the one that was not asked for in the longest time.
 */
static struct remembered *find(struct analysis_memory *memory, const char *key)
{
        struct remembered *oldest = &memory->reports[0];

        for (size_t i = 0; i < REPORTS_MAX; i++) {
                if (str_equal(memory->reports[i].key, key))
                        return &memory->reports[i];
                if (memory->reports[i].used < oldest->used)
                        oldest = &memory->reports[i];
        }
        return oldest;
}

bool analysis_recall(struct analysis_memory *memory, const char *key, struct strbuf *ret_report)
{
        struct remembered *known;
        bool found;

        if (!memory || !key[0])
                return false;
        (void)pthread_mutex_lock(&memory->lock);
        known = find(memory, key);
        found = known->report && str_equal(known->key, key);
        if (found) {
                known->used = ++memory->uses;
                strbuf_add(ret_report, known->report, known->length);
        }
        (void)pthread_mutex_unlock(&memory->lock);
        return found && !ret_report->failed;
}

void analysis_remember(struct analysis_memory *memory, const char *key, const struct strbuf *report)
{
        struct remembered *place;
        char *copy;

        if (!memory || !key[0] || report->length > REPORT_BYTES_MAX)
                return;
        copy = mem_dup(report->data, report->length);
        if (!copy)
                return; /* it is made again */
        (void)pthread_mutex_lock(&memory->lock);
        place = find(memory, key);
        mem_free(place->report);
        mem_free(place->whole);
        *place = (struct remembered){ .report = copy,
                                      .length = report->length,
                                      .used = ++memory->uses };
        (void)strcpy(place->key, key);
        (void)pthread_mutex_unlock(&memory->lock);
}

bool analysis_recall_whole(struct analysis_memory *memory, const char *key,
                           enum policy_analysis mode, struct strbuf *ret_whole,
                           struct result_analysis *ret_short)
{
        const struct remembered *known;
        bool found;

        if (!memory || !key[0])
                return false;
        (void)pthread_mutex_lock(&memory->lock);
        known = find(memory, key);
        found = known->whole && known->mode == mode && str_equal(known->key, key);
        if (found) {
                strbuf_adds(ret_whole, known->whole);
                *ret_short = known->in_short;
        }
        (void)pthread_mutex_unlock(&memory->lock);
        return found && !ret_whole->failed;
}

void analysis_remember_whole(struct analysis_memory *memory, const char *key,
                             enum policy_analysis mode, const char *whole,
                             const struct result_analysis *in_short)
{
        struct remembered *place;
        char *copy, *old = NULL;

        if (!memory || !key[0] || strlen(whole) > REPORT_BYTES_MAX)
                return;
        copy = mem_strdup(whole);
        if (!copy)
                return; /* it is made again */
        (void)pthread_mutex_lock(&memory->lock);
        place = find(memory, key);
        if (place->report && str_equal(place->key, key)) {
                old = place->whole;
                place->whole = copy;
                place->mode = mode;
                place->in_short = *in_short;
                copy = NULL;
        }
        (void)pthread_mutex_unlock(&memory->lock);
        mem_free(old);
        mem_free(copy); /* nothing is remembered that it would belong to */
}
