/* The streams of a run: between the pipes of the supervisor's and the attached container. */
#ifndef DOCKER_STREAMS_H
#define DOCKER_STREAMS_H

#include "docker/demux.h"
#include "base/str.h"

#include <curl/curl.h>
#include <poll.h>

enum { STREAMS_SLOTS = 4 };

struct streams {
        CURL *curl; /* owned: the attached connection */
        int fd;     /* of it, borrowed */
        int pipes[3];
        struct demux demux;
        struct strbuf to_send;
        size_t sent;
        struct strbuf waiting[3]; /* [1], [2]: output that the supervisor has not taken yet */
        size_t taken[3];
        bool input_has_ended;
        bool is_broken; /* the connection ended or made no sense */
        bool drops;     /* the run is being ended: what does not go on is dropped */
};

void streams_init(struct streams *streams);
/* The program's pipes, in place of those that it had. */
void streams_take(struct streams *streams, const int pipes[3]);
void streams_done(struct streams *streams);
/* Waits to be sent: the order, which goes before any input. */
void streams_send(struct streams *streams, const void *data, size_t length);
/* Fills in what to wait for, and deals with what came. */
void streams_fill(const struct streams *streams, struct pollfd slots[STREAMS_SLOTS]);
void streams_serve(struct streams *streams, const struct pollfd slots[STREAMS_SLOTS]);
/* What came together with the answer to attaching. */
void streams_feed(struct streams *streams, const void *data, size_t length);
/* Not 0 where output waits that is most likely not the beginning of the end, and nothing else keeps
 * more of it from being heard; the same number for as long as it is the same. And lets it go. */
uint64_t streams_hesitate(const struct streams *streams);
void streams_release(struct streams *streams);
/* Whether all output is with the supervisor. */
bool streams_are_empty(const struct streams *streams);

#endif
