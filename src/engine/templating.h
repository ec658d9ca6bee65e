/*
 * A run of code in a template: before the pipeline the request's code becomes the program, and what
 * the program and its compiler say about lines is turned back on its way out.
 */
#ifndef ENGINE_TEMPLATING_H
#define ENGINE_TEMPLATING_H

#include "engine/engine.h"
#include "templates/templates.h"

/* A template with the code in it: the program. */
struct filled {
        struct template *builtin; /* owned, or NULL: the template is the caller's own */
        struct expansion expansion;
        const struct language *language; /* NULL where nobody tells it */
        struct request request;          /* a view of the caller's, with the program for its code */
};
void filled_free(struct filled *filled);

struct templating {
        struct engine_order order;        /* in the place of the caller's */
        struct request request;           /* a view of the caller's: for another place of output */
        const struct engine_order *outer; /* borrowed: the caller's */
        const struct request *code;       /* whose code is run */
        struct filled *own;               /* owned, or NULL: there is no template, or it was filled
                                           * when the program was compiled */
        const struct filled *filled;      /* that, or the program's; NULL: there is no template */
        struct line_mapper events;        /* of what listeners hear */
        struct line_mapper passed;        /* of what is passed on */
        pthread_t thread; /* passes standard error on, where the caller gave a place */
        bool has_thread;
        int pipe_fds[2]; /* owned, or -1: from the monitor to the thread */
};

/* Fills the template, if there is one; `templating->order` is then to be carried out. The caller
 * calls templating_end() in any case. */
int templating_begin(struct templating *templating, struct engine *engine,
                     const struct engine_order *order, struct error *err);
/* Gives out what was held back, and turns lines back in what was kept. */
int templating_finish(struct templating *templating, struct result *result, struct error *err);
void templating_end(struct templating *templating);

#endif
