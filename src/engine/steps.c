/* Which backend a step runs on, and the stage in which the program runs. */
#include "engine/passage.h"
#include "engine/files.h"
#include "base/fd.h"
#include "base/str.h"
#include "kernel/sys.h"
#include "monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAYS_MAX = 2 };

/* Each with the ways in which it can be had, the best first. */
static const struct {
        enum policy_backend id;
        const struct backend *ways[WAYS_MAX]; /* NULL: not in this build */
} known_backends[] = {
        { BACKEND_CONTAINER, { &backend_container } },
        { BACKEND_LOCAL, { &backend_local } },
        { BACKEND_DOCKER, { &backend_docker } },
        { BACKEND_WASM, { &backend_wasm, &backend_wasm_bare } },
};

/* What holds where nobody asks for anything. */
static const struct limits default_limits = {
#define X(field, key, kind, def, min, max, what) .field = (def),
#include "policy/limits.def"
#undef X
};

static const struct backend *find_backend(enum policy_backend id, size_t way)
{
        for (size_t i = 0; i < ARRAY_SIZE(known_backends) && way < WAYS_MAX; i++)
                if (known_backends[i].id == id)
                        return known_backends[i].ways[way];
        return NULL;
}

/* Whether a budget of instructions was asked for: one that is not what everybody has, which a whole
 * policy also holds that is for other backends. */
static bool asks_for_fuel(const struct passage *passage)
{
        return (passage->policy.given & UINT64_C(1) << FIELD_fuel) &&
               passage->policy.limits.fuel != default_limits.fuel;
}

/* Where the machine allows no container, a guest of the wasm backend that was built is the next
 * best; a module has nothing else, and nothing else counts instructions. */
static size_t add_automatic(struct passage *passage, enum policy_backend *list, size_t count)
{
        bool takes_less = passage->policy.enforcement == ENFORCEMENT_BEST_EFFORT;
        bool is_module = str_equal(passage->language->name, "wasm");
        bool is_first = is_module || asks_for_fuel(passage);

        if (is_first)
                list[count++] = BACKEND_WASM;
        if (!is_module && (!is_first || takes_less))
                list[count++] = BACKEND_CONTAINER;
        if (!is_first && wasm_has_guest(passage->language) && !passage->code->deps &&
            wasm_check(passage, NULL) == 0)
                list[count++] = BACKEND_WASM;
        /* A network that is to be controlled only the container has: its reason is the one to tell.
         */
        if (!is_module && takes_less && passage->policy.network_mode != NETWORK_DNS &&
            passage->policy.network_mode != NETWORK_ALLOWLIST)
                list[count++] = BACKEND_LOCAL;
        return count;
}

enum policy_backend passage_first_backend(const struct passage *passage)
{
        enum policy_backend first = passage->policy.backends[0];

        if (first != BACKEND_AUTO)
                return first;
        return str_equal(passage->language->name, "wasm") || asks_for_fuel(passage)
                       ? BACKEND_WASM
                       : BACKEND_CONTAINER;
}

/* A limit that nobody would hold is refused, unless less is accepted. */
static int check_fuel(const struct passage *passage, enum policy_backend id, struct error *err)
{
        int r;

        if (id == BACKEND_WASM || !asks_for_fuel(passage) ||
            passage->policy.enforcement == ENFORCEMENT_BEST_EFFORT)
                return 0;
        r = error_set(err, SBX_EREFUSED, "backend '%s' does not count instructions ('fuel')",
                      policy_backend_name(id));
        error_hint(err, "use '--backend wasm' for python and javascript, or '--cpu-time' instead");
        return r;
}

/* The backends to try, in order. "auto" is the container; one who accepts less also gets `local`.
 */
static size_t list_candidates(struct passage *passage, enum policy_backend *ret_list)
{
        const struct policy_values *policy = &passage->policy;
        size_t count = 0;

        for (size_t i = 0; i < policy->backend_count; i++) {
                if (policy->backends[i] != BACKEND_AUTO) {
                        ret_list[count++] = policy->backends[i];
                        continue;
                }
                count = add_automatic(passage, ret_list, count);
        }
        if (policy->fallback != BACKEND_NONE && policy->fallback != BACKEND_AUTO)
                ret_list[count++] = policy->fallback;
        return count;
}

static void tell_fallback(const struct passage *passage, const struct error *err)
{
        char text[256];

        (void)snprintf(text, sizeof(text), "%s instead: %.200s", passage->backend->name,
                       err ? err->message : "");
        mem_free(passage->result->fallback);
        passage->result->fallback = mem_strdup(text); /* without memory the event says it alone */
        passage_tell(passage, "backend.fallback", text);
}

static int unavailable(enum policy_backend id, struct error *err)
{
        int r = error_set(err, SBX_EUNAVAILABLE, "backend '%s' is not available in this build",
                          policy_backend_name(id));

        error_hint(err, "use '--backend container', or '--fallback container'");
        return r;
}

/* Why that backend, and no other, was to be it. */
static void explain_fuel(const struct passage *passage, struct error *err)
{
        error_prefix(err, "'fuel' is counted by backend 'wasm' alone");
        if (!wasm_has_guest(passage->language))
                error_hint(err, "limit CPU time instead of 'fuel': --cpu-time");
}

/* One backend, in the first way that this machine allows. */
static int try_backend(struct passage *passage, const struct step_order *order,
                       enum policy_backend id, bool is_first, struct error *err)
{
        int r = SBX_EREFUSED;

        if (!find_backend(id, 0))
                return unavailable(id, err);
        if (check_fuel(passage, id, err) < 0)
                return r;
        if (id == BACKEND_WASM) {
                r = wasm_check(passage, err);
                if (r < 0 && asks_for_fuel(passage))
                        explain_fuel(passage, err);
                if (r < 0)
                        return r;
                r = SBX_EREFUSED;
        }
        if (id == BACKEND_DOCKER) {
                r = docker_check(passage, err);
                if (r < 0)
                        return r;
                r = SBX_EREFUSED;
        }
        /* The machine's own interpreter was not looked for where a guest was wanted. */
        if (id != BACKEND_WASM && id != BACKEND_DOCKER && !passage->tool.path[0]) {
                r = language_find(passage->language, passage->engine->cache_dir, &passage->tool,
                                  err);
                if (r < 0)
                        return r;
                r = SBX_EREFUSED;
        }
        for (size_t way = 0; r == SBX_EREFUSED && find_backend(id, way); way++) {
                passage->backend = find_backend(id, way);
                if (!is_first && way == 0)
                        tell_fallback(passage, err);
                r = step_run(passage, order, err);
        }
        if (r == 0 && id == BACKEND_WASM) {
                mem_free(passage->result->version);
                passage->result->version = wasm_version(passage);
        }
        return r;
}

int step_run_somewhere(struct passage *passage, const struct step_order *order, struct error *err)
{
        enum policy_backend candidates[3 * POLICY_BACKENDS_MAX + 1];
        size_t count = list_candidates(passage, candidates);
        int r = error_set(err, SBX_EUNAVAILABLE, "no backend is given");

        if (passage->backend)
                return step_run(passage, order, err);
        if (order->step != PLAN_STEP_RUN && count > 0 && candidates[0] == BACKEND_WASM) {
                /* What installs is native, and contained; the program is not. */
                passage->backend = &backend_container;
                r = step_run(passage, order, err);
                passage->backend = NULL;
                return r;
        }
        for (size_t i = 0; i < count; i++) {
                r = try_backend(passage, order, candidates[i], i == 0, err);
                if (r != SBX_EREFUSED && r != SBX_EUNAVAILABLE)
                        return r;
                passage->backend = NULL;
        }
        return r;
}

static int open_counted(struct passage *passage, const char *path, struct error *err)
{
        int fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, SYS_RESOLVE_NO_SYMLINKS), r;

        if (fd < 0 && errno == ENOTDIR)
                return 0; /* a single file: RLIMIT_FSIZE bounds it */
        if (fd < 0) {
                r = error_set_errno(err, "open '%s'", path);
                error_hint(err,
                           "this user must be able to look into what the program may write to");
                return r;
        }
        passage->counted_fds[passage->counted_count++] = fd;
        return 0;
}

/* What the guest can write on the host is opened and measured before it runs. */
static int open_writable(struct passage *passage, struct error *err)
{
        const struct policy_values *policy = &passage->policy;
        int r = passage->workspace ? open_counted(passage, passage->workspace, err) : 0;

        for (size_t i = 0; i < policy->mount_count && r == 0; i++)
                if (policy->mounts[i].writable)
                        r = open_counted(passage, policy->mounts[i].source, err);
        if (r < 0)
                return r;
        passage->counted_before = (struct monitor_space){ .file_bytes = policy->limits.disk_bytes };
        passage->disk_is_known = monitor_measure(passage->counted_fds, passage->counted_count,
                                                 false, &passage->counted_before) &&
                                 !passage->counted_before.has_closed;
        if (passage->disk_is_known || policy->enforcement == ENFORCEMENT_BEST_EFFORT)
                return 0;
        r = error_set(
                err, SBX_EREFUSED,
                "cannot hold the disk limit: a writable directory holds too much, is too deep, "
                "or is closed to this user");
        error_hint(err, "hand in a smaller directory, open up with 'chmod -R u+rX' what is closed, "
                        "or accept less with '--enforcement best-effort'");
        return r;
}

static int list_before(struct passage *passage, struct error *err)
{
        struct stat st;

        if (!passage->workspace)
                return 0;
        if (fstat(passage->counted_fds[0], &st) < 0)
                return error_set_errno(err, "look at workspace '%s'", passage->workspace);
        passage->workspace_mode = st.st_mode & 07777;
        return files_list(passage->counted_fds[0], false, &passage->files_before, err);
}

/* A guest may have closed its workspace, to us too; the next run must be able to enter it. */
static void reopen_workspace(const struct passage *passage)
{
        if (passage->workspace)
                (void)fchmod(passage->counted_fds[0],
                             passage->workspace_mode); /* not ours to change: it was not changed */
}

static int compare_files(struct passage *passage, int workspace_fd, struct error *err)
{
        struct file_list after;
        int r;

        reopen_workspace(passage);
        r = files_list(workspace_fd, passage->workspace != NULL, &after, err);

        if (r < 0)
                return r;
        if (passage->order->request->collect_fd >= 0)
                r = passage->order->request->collect_all
                            ? collect_tree(passage, workspace_fd, err)
                            : collect_files(passage, workspace_fd, &after, err);
        inputs_forgive(passage, workspace_fd, &after);
        if (r == 0)
                r = files_compare(&passage->files_before, &after, passage->result, err);
        if (r == 0)
                record_files(passage, workspace_fd);
        files_done(&after);
        return r;
}

int passage_run(struct passage *passage, struct error *err)
{
        const struct request *request = passage->order->request;
        struct result_step *run = &passage->result->run;
        struct step_order order = { .step = PLAN_STEP_RUN,
                                    .limits = &passage->policy.limits,
                                    .outcome = run,
                                    .collect = compare_files };
        int r = open_writable(passage, err);

        if (r == 0)
                r = project_link_package(passage, err);
        if (r == 0)
                r = list_before(passage, err);
        if (r == 0)
                r = inputs_note(passage, err);
        if (r < 0)
                return r;
        run->out.passed_through = request->output_fds[1] >= 0;
        run->err.passed_through = request->output_fds[2] >= 0;
        return step_run_somewhere(passage, &order, err);
}
