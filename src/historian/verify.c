/* Walks along the chain of the journal and tells the first record that does not follow. */
#include "historian/historian.h"
#include "base/mem.h"

#include <inttypes.h>

struct survey {
        struct journal_walk walk;
        uint64_t records, pruned, torn;
        uint64_t line; /* within the segment */
};

static int verify_bytes(struct survey *survey, const struct segment *segment, const char *data,
                        size_t length, struct error *err)
{
        struct journal_line line;
        enum journal_step step;
        size_t at = 0;

        survey->line = 0;
        while ((step = journal_next(data, length, &at, &line)) != JOURNAL_END) {
                const char *why;

                survey->line++;
                if (step == JOURNAL_TORN && segment->is_live) {
                        survey->torn = length - at;
                        return 0; /* the next writer puts it aside */
                }
                why = step == JOURNAL_LINE ? journal_follow(&survey->walk, &line)
                                           : "it is no record";
                if (why)
                        return error_set(err, SBX_EINVAL,
                                         "history verify: broken at record %" PRIu64
                                         " (%s, line %" PRIu64 "): %s",
                                         survey->walk.seq + 1, segment->name, survey->line, why);
                survey->records += line.pruned ? 0 : 1;
                survey->pruned += line.pruned;
        }
        return 0;
}

static int verify_all(const struct archive *archive, struct survey *survey, struct error *err)
{
        AUTO_FREE struct segment *segments = NULL;
        size_t count = 0;
        int r = segments_list(archive->history.dir, &segments, &count, err);

        for (size_t i = 0; r == 0 && i < count; i++) {
                AUTO_FREE char *data = NULL;
                size_t length;

                r = segment_read(archive->history.dir, &segments[i], &data, &length, err);
                if (r == 0)
                        r = verify_bytes(survey, &segments[i], data, length, err);
        }
        return r;
}

int history_verify(struct archive *archive, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        struct survey survey = { 0 };
        uint64_t lost;
        int r = archive->history.dir >= 0 ? verify_all(archive, &survey, err) : 0;

        if (r < 0) {
                report_error(err);
                return 1;
        }
        lost = history_lost(&archive->history);
        strbuf_addf(&out, "ok: %" PRIu64 " records", survey.records);
        if (survey.pruned)
                strbuf_addf(&out, ", %" PRIu64 " pruned", survey.pruned);
        if (survey.torn)
                strbuf_addf(&out, ", an unfinished end of %" PRIu64 " bytes", survey.torn);
        if (lost)
                strbuf_addf(&out, ", %" PRIu64 " could not be written", lost);
        if (survey.walk.seq)
                strbuf_addf(&out, "; the last is %" PRIu64 ", %s", survey.walk.seq,
                            survey.walk.hash);
        strbuf_adds(&out, "\n");
        if (out.failed)
                return error_set_nomem(err);
        return report_write(archive->cli, out.data, out.length, err);
}
