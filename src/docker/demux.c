#include "docker/demux.h"

#include <string.h>

void demux_init(struct demux *demux, const char secret[INSIDE_SECRET],
                const char seal[INSIDE_SECRET])
{
        memset(demux, 0, sizeof(*demux));
        memcpy(demux->secret, secret, INSIDE_SECRET);
        memcpy(demux->seal, seal, INSIDE_SECRET);
}

/* How many of the last of these bytes may be the beginning of a record, after as many as are to be
 * skipped. The usual answer of a search for one word. */
static size_t longest_beginning(const char *secret, const unsigned char *bytes, size_t length,
                                size_t skip)
{
        while (skip < length &&
               memcmp(bytes + skip, secret,
                      length - skip < INSIDE_SECRET ? length - skip : INSIDE_SECRET) != 0)
                skip++;
        return length - skip;
}

/* Passes on the first of the held bytes, but those that were passed on already. */
static void give(struct demux_output *output, size_t count, unsigned stream, demux_sink *sink,
                 void *context)
{
        size_t before = output->given < count ? output->given : count;

        if (count > before)
                sink(context, stream, output->held + before, count - before);
        output->given -= before;
}

/* Whether what is held, which begins like a record and is as long, is one. */
static bool is_sealed(const struct demux *demux, const struct demux_output *output)
{
        struct inside_end end;

        memcpy(&end, output->held, sizeof(end));
        return memcmp(end.seal, demux->seal, INSIDE_SECRET) == 0;
}

/* Takes one byte more. What cannot be the record is passed on. */
static void hold(struct demux *demux, unsigned stream, unsigned char byte, demux_sink *sink,
                 void *context)
{
        struct demux_output *output = &demux->outputs[stream];
        bool is_whole;
        size_t kept;

        output->held[output->held_length++] = byte;
        is_whole = output->held_length == sizeof(output->held);
        output->has_ended = is_whole && is_sealed(demux, output);
        if (output->has_ended)
                return;
        kept = longest_beginning(demux->secret, output->held, output->held_length, is_whole);
        if (kept < output->held_length) {
                give(output, output->held_length - kept, stream, sink, context);
                memmove(output->held, output->held + output->held_length - kept, kept);
                output->held_length = kept;
        }
}

/* Bytes up to the record are passed on, from it on they are kept. */
static void take_output(struct demux *demux, unsigned stream, const unsigned char *data,
                        size_t length, demux_sink *sink, void *context)
{
        struct demux_output *output = &demux->outputs[stream];
        size_t i = 0;

        output->taken += length;
        while (i < length && !output->has_ended) {
                if (output->held_length == 0) {
                        const unsigned char *first =
                                memchr(data + i, (unsigned char)demux->secret[0], length - i);
                        size_t plain = first ? (size_t)(first - data) - i : length - i;

                        if (plain > 0)
                                sink(context, stream, data + i, plain);
                        i += plain;
                        if (!first)
                                return;
                }
                hold(demux, stream, data[i++], sink, context);
        }
}

static void take_head(struct demux *demux)
{
        const unsigned char *head = demux->head;

        demux->stream = head[0];
        demux->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 |
                      head[7];
        demux->head_length = 0;
        if ((head[0] != 1 && head[0] != 2) || head[1] || head[2] || head[3] ||
            demux->left > DEMUX_FRAME_MAX)
                demux->is_broken = true;
}

bool demux_feed(struct demux *demux, const void *data, size_t length, demux_sink *sink,
                void *context)
{
        const unsigned char *bytes = data;

        while (length > 0 && !demux->is_broken) {
                size_t n;

                if (demux->left == 0) {
                        demux->head[demux->head_length++] = *bytes++;
                        length--;
                        if (demux->head_length == DEMUX_HEAD)
                                take_head(demux);
                        continue;
                }
                n = length < demux->left ? length : demux->left;
                take_output(demux, demux->stream, bytes, n, sink, context);
                demux->left -= (uint32_t)n;
                bytes += n;
                length -= n;
        }
        return !demux->is_broken;
}

const struct inside_end *demux_end(const struct demux *demux, struct inside_end *buffer)
{
        if (!demux->outputs[1].has_ended || !demux->outputs[2].has_ended)
                return NULL;
        memcpy(buffer, demux->outputs[2].held, sizeof(*buffer));
        return buffer;
}

static bool holds_few(const struct demux *demux, const struct demux_output *output)
{
        return demux->left == 0 && demux->head_length == 0 && output->held_length <= DEMUX_FEW &&
               output->given < output->held_length;
}

uint64_t demux_holds_few(const struct demux *demux)
{
        uint64_t sum = 0;

        for (unsigned stream = 1; stream <= 2; stream++)
                if (holds_few(demux, &demux->outputs[stream]))
                        sum += demux->outputs[stream].taken;
        return sum;
}

void demux_release(struct demux *demux, demux_sink *sink, void *context)
{
        for (unsigned stream = 1; stream <= 2; stream++) {
                struct demux_output *output = &demux->outputs[stream];

                if (!holds_few(demux, output))
                        continue;
                give(output, output->held_length, stream, sink, context);
                output->given = output->held_length;
        }
}

void demux_flush(struct demux *demux, demux_sink *sink, void *context)
{
        for (unsigned stream = 1; stream <= 2; stream++) {
                struct demux_output *output = &demux->outputs[stream];

                if (!output->has_ended)
                        give(output, output->held_length, stream, sink, context);
                output->held_length = output->has_ended ? output->held_length : 0;
        }
}
