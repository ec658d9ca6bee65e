/* What a client wants to have run, read from the arguments of a tool. All is borrowed from those.
 */
#ifndef MCP_TASK_H
#define MCP_TASK_H

#include "mcp/session.h"

struct task {
        const json_t *code;                                /* a string */
        const char *language;                              /* the language's own name */
        const json_t *stdin_text, *args, *files, *globals; /* or NULL */
        double timeout;                                    /* seconds; 0: not given */
        struct strlist packages;                           /* owned */
};

/* tool_run.c: in a fresh process. `session` may be NULL: nothing is kept. */
int task_run(struct call *call, const struct task *task, struct session *session,
             struct answer *answer);
/* tool_live.c: in the live interpreter of a session. */
int task_run_live(struct call *call, const struct task *task, struct session *session,
                  struct answer *answer);

#endif
