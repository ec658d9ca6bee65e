/*
 * The stream of an attached container from foreign bytes, in pieces: however it is cut, the same
 * comes out, and no more than came in. What is let go early adds a few bytes of the record at most.
 */
#include "docker/demux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[INSIDE_SECRET] = "aab-secret-aab-secret-ab";
static const char seal[INSIDE_SECRET] = "";

struct sum {
        uint64_t bytes, value[3];
};

static void add(void *context, unsigned stream, const void *data, size_t length)
{
        struct sum *sum = context;

        if (stream != 1 && stream != 2)
                abort();
        sum->bytes += length;
        for (size_t i = 0; i < length; i++)
                sum->value[stream] = sum->value[stream] * 31 + ((const unsigned char *)data)[i] + 1;
}

static bool feed(const uint8_t *data, size_t size, size_t piece, bool releases, struct sum *sum,
                 struct inside_end *end)
{
        struct demux demux;

        demux_init(&demux, secret, seal);
        for (size_t at = 0; at < size; at += piece) {
                (void)demux_feed(&demux, data + at, size - at < piece ? size - at : piece, add,
                                 sum);
                if (releases)
                        demux_release(&demux, add, sum);
        }
        demux_flush(&demux, add, sum);
        return demux_end(&demux, end) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct sum whole = { 0 }, cut = { 0 }, early = { 0 };
        struct inside_end ends[3] = { 0 };
        bool found = feed(data, size, size ? size : 1, false, &whole, &ends[0]);

        if (found != feed(data, size, 1 + size % 7, false, &cut, &ends[1]) ||
            memcmp(&whole, &cut, sizeof(whole)) != 0 ||
            memcmp(&ends[0], &ends[1], sizeof(ends[0])) != 0 || whole.bytes > size ||
            found != feed(data, size, 1 + size % 5, true, &early, &ends[2]) ||
            early.bytes < whole.bytes || early.bytes > whole.bytes + 2 * DEMUX_FEW) {
                (void)fprintf(stderr, "the pieces make a difference\n");
                abort();
        }
        return 0;
}
