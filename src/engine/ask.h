/*
 * Asking a tool of the machine something, outside of any sandbox: the tool is as trusted as the
 * language file that names it, and never the guest's. It sees the caller's environment, because
 * that is part of the answer, no input, and starts at "/", so that no file of a project answers in
 * its place.
 */
#ifndef ENGINE_ASK_H
#define ENGINE_ASK_H

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

enum { ASK_OUTPUT_MAX = 64 << 10 };

struct ask_answer {
        struct strbuf out, err; /* each up to ASK_OUTPUT_MAX */
        int wait_status;
};

/* Runs it; 0 whatever it answered. `cancel_fd` (or -1) ends it early, as does the deadline: both
 * are errors. */
int ask(const struct strlist *command, unsigned timeout_ms, int cancel_fd,
        struct ask_answer *ret_answer, struct error *err);
void ask_answer_done(struct ask_answer *answer);

#endif
