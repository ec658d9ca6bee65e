/*
 * The journal from foreign bytes. Whatever is accepted lies within the bytes, names itself as the
 * format says, and a walk along the chain that accepts two lines accepts them in this order alone.
 */
#include "history/journal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s\n", what);
        abort();
}

static void check_line(const struct journal_line *line, const char *data, size_t size)
{
        require(line->text >= data && line->text + line->length <= data + size,
                "a line outside of the bytes");
        require(line->prev > line->text && line->hash > line->prev &&
                        line->hash + 64 < line->text + line->length,
                "a hash outside of the line");
        require(line->seq > 0, "a record without a number");
        require(!memchr(line->text, '\n', line->length), "a line of two lines");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        struct journal_walk walk = { 0 };
        struct journal_line line;
        enum journal_step step;
        size_t at = 0, before = 0;

        while ((step = journal_next(text, size, &at, &line)) != JOURNAL_END &&
               step != JOURNAL_TORN) {
                require(at > before && at <= size, "no progress");
                before = at;
                if (step != JOURNAL_LINE)
                        continue;
                check_line(&line, text, size);
                if (!journal_follow(&walk, &line))
                        require(walk.seq >= line.seq && strlen(walk.hash) == 64,
                                "a walk that stands nowhere");
        }
        return 0;
}
