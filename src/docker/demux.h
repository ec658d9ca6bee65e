/*
 * The stream of an attached container, taken apart as it comes: frames of eight bytes (which
 * output, how many bytes) and that many bytes. At the end of each output stands the record of
 * sandbox-inside, which is found by its secret and kept back. Nothing here allocates or waits.
 */
#ifndef DOCKER_DEMUX_H
#define DOCKER_DEMUX_H

#include "docker/inside.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEMUX_HEAD = 8, DEMUX_FRAME_MAX = 16 << 20, DEMUX_FEW = 2 };

struct demux_output {
        /* What may be the beginning of the record. */
        unsigned char held[sizeof(struct inside_end)];
        size_t held_length;
        size_t given;   /* of these, passed on nevertheless */
        uint64_t taken; /* bytes of this output so far */
        bool has_ended; /* `held` is the record */
};

struct demux {
        unsigned char head[DEMUX_HEAD];
        size_t head_length;
        uint32_t left; /* bytes of the frame */
        unsigned stream;
        bool is_broken; /* this is no such stream */
        char secret[INSIDE_SECRET], seal[INSIDE_SECRET];
        struct demux_output outputs[3]; /* [1], [2] */
};

/* Hears of bytes of an output, 1 or 2. */
typedef void demux_sink(void *context, unsigned stream, const void *data, size_t length);

void demux_init(struct demux *demux, const char secret[INSIDE_SECRET],
                const char seal[INSIDE_SECRET]);
/* Takes the next bytes; false once the stream makes no sense. */
bool demux_feed(struct demux *demux, const void *data, size_t length, demux_sink *sink,
                void *context);
/* The record once both outputs have ended with it, or NULL. */
const struct inside_end *demux_end(const struct demux *demux, struct inside_end *buffer);
/* Not 0 where a program may be waiting for an answer to bytes that are held back: the few that
 * happen to be how the secret begins, at the end of a frame. The record is written as one piece, so
 * that it hardly ever stops there for long. The same number for as long as it is about the same
 * bytes. */
uint64_t demux_holds_few(const struct demux *demux);
/* Passes these on. Where they were the record's after all, they were passed on in error. */
void demux_release(struct demux *demux, demux_sink *sink, void *context);
/* What was held back and is no record, at the end of a stream that broke off. */
void demux_flush(struct demux *demux, demux_sink *sink, void *context);

#endif
