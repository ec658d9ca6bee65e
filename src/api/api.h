/* The handles of sandbox.h, and how errors leave the library. */
#ifndef API_API_H
#define API_API_H

#include "base/error.h"
#include "engine/engine.h"
#include "policy/policy.h"
#include "request/request.h"
#include "sandbox.h"

struct sbx_error {
        struct error inner;
};

struct sbx_engine {
        struct engine engine;
};

struct sbx_policy {
        struct policy file;        /* what files said */
        struct policy environment; /* what SANDBOX_* said */
        char *file_name;           /* owned: of the last file, for messages; or NULL */
};

struct sbx_program {
        struct engine_program program;
        struct result *result; /* how compiling went */
};

struct sbx_request {
        struct request request;
        const sbx_program *program; /* borrowed: what is run instead of its own code, or NULL */
        struct sbx_policy policy;
        struct policy settings; /* what the request itself set: the topmost layer */
        int cancel_fd;
        sbx_event_handler handler;
        void *userdata;
};

/* Hands an error to the caller; returns its code. `err` may be NULL. */
int api_fail(const struct error *error, sbx_error **err);
/* For a NULL argument: our caller's mistake. */
int api_fail_null(const char *function, sbx_error **err);

void api_policy_init(struct sbx_policy *policy);
void api_policy_done(struct sbx_policy *policy);
int api_policy_copy(struct sbx_policy *to, const struct sbx_policy *from, struct error *err);

#endif
