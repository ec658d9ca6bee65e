/*
 * The supervisor's side of the proxy (src/proxy): started for one step, with the places that it may
 * reach; ended after it. What it refused is then known.
 */
#ifndef ENGINE_GATEWAY_H
#define ENGINE_GATEWAY_H

#include "base/error.h"
#include "base/mem.h"
#include "result/result.h"

#include <stdbool.h>
#include <sys/types.h>

/* Where the proxy listens, inside. The namespace is new, so the port is free. */
enum { GATEWAY_PORT = 3128, GATEWAY_PLACES_MAX = 64 };

struct gateway {
        pid_t pid;
        int control; /* closing it tells the proxy to go */
        int lines;   /* what it says */
        int socket;  /* goes to the keeper, which sends the listening socket through it */
        char buffer[4096];
        size_t used; /* of the buffer: the beginning of a line */
};

/* Adds "near=HOST:PORT" or "far=HOST:PORT" unless it is there. `text` is a URL, "host" or
 * "host:port"; what is none of these is SBX_EINVAL. */
int gateway_add_place(struct strlist *places, const char *text, bool is_near, struct error *err);
/* Starts it and waits until it has tried the places. SBX_EREFUSED, with the remedy, where none of
 * the near ones answers. */
int gateway_open(const char *program, const struct strlist *places, int cancel_fd,
                 struct gateway *ret_gateway, struct error *err);
/* Ends it and adds what it refused to the result. */
void gateway_close(struct gateway *gateway, struct result *result);

#endif
