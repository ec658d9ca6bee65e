/* `sandbox top`: what is drawn, apart from how it is looked up. */
#ifndef HISTORIAN_TOP_H
#define HISTORIAN_TOP_H

#include "historian/historian.h"
#include "history/running.h"

struct top {
        struct archive archive;
        struct running_page *pages; /* owned: what is running */
        size_t count;
        size_t chosen;
        char notice[160]; /* what became of the last key */
        int rows, columns;
};

/* top_screen.c: the whole screen as text, lines ended with "\r\n" or "\n". */
void top_draw(const struct top *top, bool on_terminal, struct strbuf *out);
int top_print_json(const struct top *top, struct error *err);

#endif
