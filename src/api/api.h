/* The handles of sandbox.h, and how errors leave the library. */
#ifndef API_API_H
#define API_API_H

#include "base/error.h"
#include "engine/engine.h"
#include "policy/policy.h"
#include "request/request.h"
#include "sandbox.h"
#include "templates/templates.h"

struct sbx_error {
        struct error inner;
};

struct sbx_engine {
        struct engine engine;
        bool untrusted_requests; /* what a request sets can only tighten its policy */
        void (*slot_handler)(const sbx_event *event, void *userdata); /* or NULL */
        void *slot_userdata;
};

enum { API_POLICY_FILES_MAX = 16 };

struct sbx_policy {
        struct policy *files; /* owned; what each file, text, profile or seal said, in order */
        size_t file_count;
        size_t file_capacity;
        struct policy environment; /* what SANDBOX_* said */
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
        struct template_use template;
        int cancel_fd;
        int turn_fds[2]; /* owned: reading and writing end, or -1 each */
        sbx_event_handler handler;
        void *userdata;
        sbx_event_handler log_handler;
        void *log_userdata;
        sbx_wait_handler wait_handler;
        void *wait_userdata;
        struct sbx_execution *execution; /* borrowed: which runs it on a thread, or NULL */
};

/* run.c: an event of the engine's as the caller sees it. */
sbx_event api_event(const struct engine_event *inner);
/* Hands an error to the caller; returns its code. `err` may be NULL. */
int api_fail(const struct error *error, sbx_error **err);
/* For a NULL argument: our caller's mistake. */
int api_fail_null(const char *function, sbx_error **err);

/* run.c: what the engine is to do for a request; borrows from it. */
int api_order(sbx_engine *engine, sbx_request *req, struct engine_order *ret_order,
              struct error *err);

void api_policy_init(struct sbx_policy *policy);
void api_policy_done(struct sbx_policy *policy);
/* Lists the layers, environment included; the count. */
size_t api_policy_layers(const struct sbx_policy *policy,
                         const struct policy *layers[ENGINE_LAYERS_MAX]);
/* The effective policy of some layers in a form; NULL with an error. */
char *api_policy_show(const struct policy *const *layers, size_t count, const char *language,
                      const char *form, sbx_error **err);
/* policy_toml.c: the record of a TOML text. Caller frees. */
int api_toml_record(const char *text, size_t length, char **ret_record, size_t *ret_length,
                    struct error *err);
int api_policy_copy(struct sbx_policy *to, const struct sbx_policy *from, struct error *err);

/* languages.c: adds the language files of a folder; those of the user's own folder, which need not
 * be there. */
int api_languages_add(struct languages *set, const char *folder, struct error *err);
int api_languages_add_own(struct languages *set, struct error *err);

#endif
