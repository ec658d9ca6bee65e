/* Lines of the journal taken apart. The bytes may be anything: a torn end, or a forgery. */
#include "history/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_START  "{\"prev\":\""
#define SEQ_START   "\",\"seq\":"
#define PRUNED      "\"pruned\":"
#define HASH_START  ",\"hash\":\""
#define LINE_END    "\"}"
#define HASH_DIGITS (2 * HASH_BYTES)

enum {
        PREV_AT = sizeof(LINE_START) - 1,
        SEQ_AT = PREV_AT + HASH_DIGITS + sizeof(SEQ_START) - 1,
        TAIL_LENGTH = sizeof(HASH_START) - 1 + HASH_DIGITS + sizeof(LINE_END) - 1,
        SHORTEST = SEQ_AT + 1 + TAIL_LENGTH,
};

static bool is_hash(const char *digits)
{
        for (size_t i = 0; i < HASH_DIGITS; i++)
                if (!strchr("0123456789abcdef", digits[i]) || !digits[i])
                        return false;
        return true;
}

/* Digits up to the mark; they are few enough not to overflow. NULL where it is no number. */
static const char *read_number(const char *at, const char *end, uint64_t *ret_number)
{
        const char *start = at;
        uint64_t number = 0;

        while (at < end && *at >= '0' && *at <= '9' && at - start < 18)
                number = number * 10 + (uint64_t)(*at++ - '0');
        if (at == start || (*start == '0' && at - start > 1))
                return NULL;
        *ret_number = number;
        return at;
}

static bool starts_with(const char *at, const char *end, const char *word)
{
        size_t length = strlen(word);

        return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

bool journal_parse(const char *text, size_t length, struct journal_line *ret_line)
{
        struct journal_line line = { .text = text, .length = length };
        const char *tail, *at;

        if (length < SHORTEST || length >= JOURNAL_LINE_MAX || memchr(text, '\0', length))
                return false;
        tail = text + length - TAIL_LENGTH;
        if (!starts_with(text, tail, LINE_START) ||
            !starts_with(text + PREV_AT + HASH_DIGITS, tail, SEQ_START) ||
            !starts_with(tail, text + length, HASH_START) ||
            memcmp(text + length - 2, LINE_END, 2) != 0)
                return false;
        line.prev = text + PREV_AT;
        line.hash = tail + sizeof(HASH_START) - 1;
        at = read_number(text + SEQ_AT, tail, &line.seq);
        if (!is_hash(line.prev) || !is_hash(line.hash) || !at || line.seq == 0)
                return false;
        if (at < tail && *at != ',')
                return false;
        if (at < tail && starts_with(at + 1, tail, PRUNED)) {
                at = read_number(at + sizeof(PRUNED), tail, &line.pruned);
                if (at != tail || line.pruned == 0)
                        return false;
        }
        *ret_line = line;
        return true;
}

bool journal_hash_is_true(const struct journal_line *line)
{
        char found[HASH_TEXT_MAX];
        struct hash hash;

        if (line->pruned)
                return true;
        hash_init(&hash);
        hash_update(&hash, line->text, line->length - TAIL_LENGTH);
        hash_final(&hash, found);
        return memcmp(found, line->hash, HASH_DIGITS) == 0;
}

enum journal_step journal_next(const char *data, size_t length, size_t *offset,
                               struct journal_line *ret_line)
{
        const char *start = data + *offset, *end;

        if (*offset >= length)
                return JOURNAL_END;
        end = memchr(start, '\n', length - *offset);
        if (!end)
                return JOURNAL_TORN;
        *offset = (size_t)(end - data) + 1;
        return journal_parse(start, (size_t)(end - start), ret_line) ? JOURNAL_LINE
                                                                     : JOURNAL_MALFORMED;
}

const char *journal_follow(struct journal_walk *walk, const struct journal_line *line)
{
        if (walk->seq == 0 && !walk->hash[0])
                memset(walk->hash, '0', HASH_DIGITS); /* what the first one follows */
        if (!journal_hash_is_true(line))
                return "its hash is not that of its bytes";
        if (line->seq != walk->seq + 1)
                return "its number does not follow the one before";
        if (memcmp(line->prev, walk->hash, HASH_DIGITS) != 0)
                return "it does not carry the hash of the one before";
        walk->seq = line->seq + (line->pruned ? line->pruned - 1 : 0);
        memcpy(walk->hash, line->hash, HASH_DIGITS);
        walk->hash[HASH_DIGITS] = '\0';
        return NULL;
}

void journal_segment_name(uint64_t first, unsigned again, char ret_name[JOURNAL_NAME_MAX])
{
        if (again)
                (void)snprintf(ret_name, JOURNAL_NAME_MAX, "journal-%012" PRIu64 "-%u.jsonl", first,
                               again);
        else
                (void)snprintf(ret_name, JOURNAL_NAME_MAX, "journal-%012" PRIu64 ".jsonl", first);
}
