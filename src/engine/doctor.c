/*
 * The doctor: runs a real sandbox, accepting less, and tells what was in force; then a strict one,
 * to know whether a default run is possible. Nothing is guessed from versions or settings.
 */
#include "engine/engine.h"
#include "engine/docker.h"
#include "engine/wasm.h"
#include "backend/backend.h"
#include "base/fd.h"

#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { HELPER_MAX = 8 << 20 };

#define DELEGATE_FIX                                                                               \
        "for limits by control group: run as root, or 'systemd-run --user --scope -p "             \
        "Delegate=yes "                                                                            \
        "sandbox ...' (the system needs cgroup v2 and a user manager: 'loginctl enable-linger')"

/* Runs a program of a language. */
static int try_program(struct engine *engine, const char *enforcement, const char *backend,
                       const char *network, const char *language, const void *code, size_t length,
                       struct result **ret_result, struct error *err)
{
        struct request request;
        struct policy policy;
        struct engine_order order = { .request = &request, .layers = { &policy }, .cancel_fd = -1 };
        int r;

        request_init(&request);
        request.no_record = true; /* nobody asked for a run */
        policy_init(&policy);
        r = request_set_language(&request, language, err);
        if (r == 0)
                r = request_set_code(&request, code, length, err);
        if (r == 0)
                r = policy_set(&policy.general, "enforcement", enforcement, err);
        if (r == 0)
                r = policy_set(&policy.general, "backend", backend, err);
        if (r == 0)
                r = policy_set(&policy.general, "network.mode", network, err);
        if (r == 0)
                r = engine_run(engine, &order, ret_result, err);
        request_done(&request);
        policy_done(&policy);
        return r;
}

/* Runs the helper itself as a program: it finds no order and ends at once. */
static int try_run(struct engine *engine, const char *enforcement, const char *backend,
                   const char *network, struct result **ret_result, struct error *err)
{
        AUTO_CLOSE int fd = open(engine->init_path, O_RDONLY | O_CLOEXEC);
        AUTO_FREE char *code = NULL;
        size_t length;
        int r;

        if (fd < 0)
                return error_set_errno(err, "open the helper '%s'", engine->init_path);
        r = fd_read_all(fd, HELPER_MAX, "the helper", &code, &length, err);
        if (r < 0)
                return r;
        return try_program(engine, enforcement, backend, network, "binary", code, length,
                           ret_result, err);
}

static bool has_run(const struct result *result)
{
        return result->run.outcome != OUTCOME_REFUSED &&
               result->run.outcome != OUTCOME_INTERNAL_ERROR;
}

static json_t *text_or_null(const char *text)
{
        return text && *text ? json_string(text) : json_null();
}

/* `instead` mends everything that is missing, where no container starts; else NULL. */
static json_t *describe_protection(const struct result *result, enum protection id, bool as_root,
                                   const char *instead)
{
        const struct result_protection *found = &result->protections[id];
        bool available = found->state == STATE_ENFORCED;
        const char *remedy = instead ? instead : backend_remedy(id, as_root);
        const char *fix = available ? NULL : remedy;

        /* Enforced, but by the second best: the better way is worth knowing. */
        if (available && found->by &&
            (strcmp(found->by, "monitor") == 0 || strcmp(found->by, "affinity") == 0) &&
            (id == PROTECTION_MEMORY || id == PROTECTION_PROCESSES || id == PROTECTION_CPUS))
                fix = DELEGATE_FIX;
        if (!available && !fix)
                fix = result->hint;
        return json_pack("{s:s, s:s, s:b, s:o, s:o, s:o}", "name", protection_name(id), "sentence",
                         protection_sentence(id), "available", available, "by",
                         text_or_null(found->by), "detail", text_or_null(found->detail), "fix",
                         text_or_null(fix));
}

static json_t *describe_backend(const char *name, const struct result *strict)
{
        bool available = has_run(strict);

        return json_pack("{s:s, s:b, s:o, s:o}", "name", name, "available", available, "reason",
                         text_or_null(available ? NULL : strict->message), "fix",
                         text_or_null(available ? NULL : strict->hint));
}

/* Whether an engine listens; which images it has is a run's question. */
static json_t *describe_docker(void)
{
        struct error err = { 0 };
        bool available = docker_reach(&err) == 0;

        return json_pack("{s:s, s:b, s:o, s:o}", "name", "docker", "available", available, "reason",
                         text_or_null(available ? NULL : err.message), "fix",
                         text_or_null(available ? NULL : err.hint));
}

/* The smallest module there is: a function "_start" that does nothing. */
static const uint8_t empty_module[] = {
        0,  'a', 's', 'm', 1,   0,   0,   0,                   /* a module, version 1 */
        1,  4,   1,   96,  0,   0,                             /* a type: nothing to nothing */
        3,  2,   1,   0,                                       /* a function of it */
        7,  10,  1,   6,   '_', 's', 't', 'a', 'r', 't', 0, 0, /* its name */
        10, 4,   1,   2,   0,   11,                            /* its body: the end */
};

/* Runs it, and tells what was built. */
static json_t *describe_wasm(struct engine *engine)
{
        AUTO_FREE char *parts = NULL;
        AUTO_FREE char *about = wasm_about(engine, &parts);
        struct result *result = NULL;
        struct error err = { 0 };
        int r = try_program(engine, "strict", "wasm", "none", "wasm", empty_module,
                            sizeof(empty_module), &result, &err);
        bool available = r == 0 && has_run(result);
        json_t *json =
                json_pack("{s:s, s:b, s:o, s:o}", "name", "wasm", "available", available, "reason",
                          text_or_null(available ? NULL
                                       : result  ? result->message
                                                 : err.message),
                          "fix",
                          text_or_null(available ? NULL
                                       : result  ? result->hint
                                                 : err.hint));

        (void)json_object_set_new(json, "built", about ? json_loads(about, 0, NULL) : json_null());
        (void)json_object_set_new(json, "path", text_or_null(parts));
        result_free(result);
        return json;
}

static const char *cgroup_word(const struct engine *engine)
{
        if (engine->site.version == CGROUP_NONE)
                return "none";
        if (cgroup_site_is_hybrid(&engine->site))
                return "hybrid";
        return engine->site.version == CGROUP_V1 ? "v1" : "v2";
}

static json_t *build(struct engine *engine, const struct result *strict,
                     const struct result *lenient, const struct result *local,
                     const struct result *asked)
{
        const struct passwd *user = getpwuid(geteuid());
        bool as_root = !engine->identity.user_namespace;
        bool starts = has_run(strict) || has_run(lenient);
        const struct result *told = has_run(strict) ? strict : starts ? lenient : local;
        const char *hint = lenient->hint ? lenient->hint : "mend what is said of the container";
        json_t *protections = json_array(), *backends = json_array(), *networks = json_array();
        struct utsname kernel;

        if (uname(&kernel) < 0)
                strcpy(kernel.release, "unknown");
        /* The last is a backend's of its own, which is listed below. */
        for (int id = 0; id < PROTECTION_WEBASSEMBLY; id++)
                (void)json_array_append_new(protections,
                                            describe_protection(told, (enum protection)id, as_root,
                                                                starts ? NULL : hint));
        (void)json_array_append_new(backends, describe_backend("container", strict));
        (void)json_array_append_new(backends, describe_backend("local", local));
        (void)json_array_append_new(networks, describe_backend("dns, allowlist", asked));
        (void)json_array_append_new(backends, describe_docker());
        (void)json_array_append_new(backends, describe_wasm(engine));
        return json_pack(
                "{s:s, s:o, s:i, s:s, s:o, s:o, s:o, s:s, s:o, s:b}", "kernel", kernel.release,
                "user", text_or_null(user ? user->pw_name : NULL), "uid", (int)geteuid(), "cgroup",
                cgroup_word(engine), "cgroup_reason",
                text_or_null(engine->site.version == CGROUP_NONE ? engine->site.reason : NULL),
                "backends", backends, "network_modes", networks, "protections_of",
                starts ? "container" : "local", "protections", protections, "strict_run_possible",
                has_run(strict));
}

char *engine_doctor_json(struct engine *engine, struct error *err)
{
        struct result *strict = NULL, *lenient = NULL, *local = NULL, *asked = NULL;
        json_t *json = NULL;
        char *text = NULL;

        if (try_run(engine, "strict", "container", "none", &strict, err) == 0 &&
            try_run(engine, "best-effort", "container", "none", &lenient, err) == 0 &&
            try_run(engine, "best-effort", "local", "none", &local, err) == 0 &&
            try_run(engine, "strict", "container", "dns", &asked, err) == 0)
                json = build(engine, strict, lenient, local, asked);
        if (json)
                text = json_dumps(json, JSON_INDENT(2));
        if (json && !text)
                (void)error_set_nomem(err);
        json_decref(json);
        result_free(strict);
        result_free(lenient);
        result_free(local);
        result_free(asked);
        return text;
}
