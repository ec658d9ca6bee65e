/* The stages before anything runs: language, policy, paths, tool, backend. */
#include "engine/passage.h"
#include "engine/elf.h"
#include "engine/handed_in.h"
#include "engine/tools.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CODE_INLINE_MAX = 256 << 10 };

static int unknown_language(const struct passage *passage, struct error *err)
{
        const struct request *request = passage->code;

        return engine_unknown_language(passage->engine, request->language, err);
}

int passage_identify(struct passage *passage, struct error *err)
{
        const struct request *request = passage->code;
        struct result *result = passage->result;

        passage->is_project = request->sources.count > 0;
        if (passage->is_project) {
                int r = project_identify(passage, err);

                if (r < 0)
                        return r;
        } else if (request->language)
                passage->language =
                        languages_by_name(passage->engine->languages, request->language);
        else
                passage->language = languages_detect(passage->engine->languages, request->file_name,
                                                     request->code, request->code_length);
        if (!passage->language)
                return unknown_language(passage, err);
        result->language = mem_strdup(passage->language->name);
        result->title = mem_strdup(passage->language->title);
        result->name = mem_strdup(passage->order->request->name);
        if (!result->language || !result->title || (passage->order->request->name && !result->name))
                return error_set_nomem(err);
        return 0;
}

/* What the policy can say that this build cannot do: refused, never passed over. */
int engine_check_policy(const struct policy_values *policy, struct error *err)
{
        if (policy->network_mode == NETWORK_HOST && policy->network_deny.count > 0)
                return error_set(err, SBX_EINVAL,
                                 "network mode 'host': nothing can be denied in it");
        return policy->network_mode == NETWORK_ALLOWLIST ? policy_check_network(policy, err) : 0;
}

static const char *asked_workspace(const struct passage *passage)
{
        const char *chosen = passage->order->request->workspace;

        return chosen ? chosen : passage->policy.workspace;
}

/* A run that did not begin leaves no folder behind that it made. */
void passage_forget_workspace(const struct passage *passage)
{
        if (passage->made_workspace)
                (void)handed_in_remove_folder(passage->workspace); /* what is in it is somebody's */
}

/* A workspace that is not there yet is made; its parent must be there. */
static int open_workspace(struct passage *passage, struct error *err)
{
        const char *path = asked_workspace(passage);
        char shown[256];
        int r;

        if (!path)
                return 0;
        r = handed_in_find("workspace", path, true, &passage->writable, &passage->workspace, err);
        if (r < 0)
                return r;
        if (handed_in_make_folder(passage->workspace, 0700) == 0)
                passage->made_workspace = true;
        else if (errno != EEXIST) {
                error_set_errno(err, "make workspace '%s'",
                                str_printable(path, shown, sizeof(shown)));
                return err ? (err->code = SBX_EINVAL) : SBX_EINVAL;
        }
        return handed_in_check("workspace", path, passage->workspace, true, err);
}

static int resolve_volume(const struct passage *passage, struct policy_mount *mount,
                          struct error *err)
{
        AUTO_FREE char *place = NULL;
        int r = handed_in_find("volume", mount->source, false, &passage->writable, &place, err);

        if (r == 0)
                r = handed_in_check("volume", mount->source, place, false, err);
        if (r < 0)
                return r;
        mem_free(mount->source);
        mount->source = TAKE(place);
        return 0;
}

static int resolve_paths(struct passage *passage, struct error *err)
{
        struct policy_values *policy = &passage->policy;
        int r = handed_in_writable(passage->order->layers, ARRAY_SIZE(passage->order->layers),
                                   passage->order->request->workspace, &passage->writable, err);

        if (r == 0)
                r = open_workspace(passage, err);
        for (size_t i = 0; i < policy->mount_count && r == 0; i++)
                r = resolve_volume(passage, &policy->mounts[i], err);
        if (r == 0 && passage->workspace) {
                mem_free(passage->policy.workspace);
                passage->policy.workspace = mem_strdup(passage->workspace);
                if (!passage->policy.workspace)
                        return error_set_nomem(err);
        }
        if (r == 0 && passage->policy.network_mode == NETWORK_HOST)
                passage->resolver =
                        realpath("/etc/resolv.conf", NULL); /* none: names do not resolve */
        return r;
}

static int check_size(const struct passage *passage, struct error *err)
{
        const struct request *request = passage->order->request;
        size_t total = 0;

        for (size_t i = 0; i < request->arguments.count; i++)
                total += strlen(request->arguments.items[i]) + 1;
        for (size_t i = 0; i < passage->policy.env.count; i++)
                total += strlen(passage->policy.env.items[i]) + 1;
        if (total > REQUEST_STRINGS_MAX)
                return error_set(err, SBX_ETOOBIG,
                                 "arguments and environment are larger than %d KiB",
                                 REQUEST_STRINGS_MAX >> 10);
        return 0;
}

/* Whether one of the policies is sealed; an engine whose requests are not trusted seals all. */
static bool has_sealed_policy(const struct engine_order *order)
{
        for (size_t i = 0; i < ARRAY_SIZE(order->layers); i++)
                if (order->layers[i] && order->layers[i] != &policy_seal &&
                    order->layers[i]->general.sealed)
                        return true;
        return false;
}

/* What a request asks for beside its policy is held to a seal as well. Dependencies have a network
 * of their own; whether an engine for untrusted requests takes them is its front end's choice. */
static int check_seal(const struct passage *passage, struct error *err)
{
        const struct policy_values *policy = &passage->policy;
        const struct request *request = passage->order->request;
        bool is_closed = has_sealed_policy(passage->order);
        const struct {
                bool is_wider;
                const char *what;
        } wishes[] = {
                /* What lives on between turns is a program of the caller's own, which reads the
                 * code of each turn before it hands it in. */
                { request->trusted && request->turn_fd < 0 && policy->analysis_mode != ANALYSIS_OFF,
                  "trusted: static analysis cannot be left out" },
                { request->no_record && policy->records_mode != RECORDS_OFF,
                  "no-record: the run cannot go without its record" },
                { is_closed && passage->code->deps && policy->network_mode < NETWORK_ALLOWLIST,
                  "deps: dependencies come over the network, which the ceiling does not allow" },
                { is_closed && passage->code->registries.count > 0 &&
                          policy->network_mode != NETWORK_HOST,
                  "registry: where dependencies come from cannot be chosen" },
        };

        for (size_t i = 0; policy->sealed && i < ARRAY_SIZE(wishes); i++)
                if (wishes[i].is_wider) {
                        int r = error_set(err, SBX_EPOLICY, "%s", wishes[i].what);

                        error_hint(err, "the policy is sealed: it can only be tightened");
                        return r;
                }
        return 0;
}

int passage_policy(struct passage *passage, struct error *err)
{
        const struct policy *layers[ENGINE_LAYERS_MAX + 1];
        struct policy suited;
        size_t count = 0;

        engine_language_layer(passage->language, &suited);
        layers[count++] = &suited;
        for (size_t i = 0; i < ARRAY_SIZE(passage->order->layers); i++)
                if (passage->order->layers[i])
                        layers[count++] = passage->order->layers[i];
        return policy_effective(layers, count, passage->language->name, &passage->policy, err);
}

int passage_allow(struct passage *passage, struct error *err)
{
        int r = passage_policy(passage, err);

        if (r == 0)
                r = engine_check_policy(&passage->policy, err);
        if (r == 0)
                r = check_seal(passage, err);
        if (r == 0)
                r = resolve_paths(passage, err);
        if (r == 0)
                r = passage_own_code(passage, err);
        if (r == 0)
                r = check_size(passage, err);
        if (r == 0)
                limits_list(&passage->policy.limits, passage->result);
        return r;
}

/* A program file that everybody may run is mounted as it is: nothing is copied. */
static char *mountable_path(const struct passage *passage)
{
        char link[64], path[PATH_MAX];
        struct stat open_file, named;
        ssize_t n;

        if (!passage->language->executable)
                return NULL;
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", passage->program_fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n <= 0)
                return NULL;
        path[n] = '\0';
        if (fstat(passage->program_fd, &open_file) < 0 || (open_file.st_mode & 0005) != 0005 ||
            lstat(path, &named) < 0 || named.st_dev != open_file.st_dev ||
            named.st_ino != open_file.st_ino)
                return NULL;
        return mem_strdup(path);
}

/* The code travels with the plan where it is small, as a file where it is one or is large. */
static int take_code(struct passage *passage, struct error *err)
{
        const struct request *request = passage->code;

        passage->program_bytes = request->code_size;
        if (request->code_fd >= 0) {
                passage->program_fd = fcntl(request->code_fd, F_DUPFD_CLOEXEC, 3);
                passage->program_path = passage->program_fd >= 0 ? mountable_path(passage) : NULL;
        } else if (request->code_size <= CODE_INLINE_MAX) {
                passage->program_data = request->code ? request->code : "";
                return 0;
        } else {
                passage->program_fd = fd_memfile("code", request->code, request->code_size);
        }
        return passage->program_fd < 0 ? error_set_errno(err, "keep the code") : 0;
}

/* A guest of the wasm backend brings its own interpreter, an image of the docker backend its own
 * tools: then the machine's is not looked for. */
static int find_tool(struct passage *passage, struct error *err)
{
        if (!docker_is_wanted(passage) &&
            (passage_first_backend(passage) != BACKEND_WASM || !wasm_has_guest(passage->language) ||
             passage->code->deps))
                return tools_find(passage->engine->tools, passage->language,
                                  passage->engine->cache_dir, &passage->tool, err);
        passage->tool.path[0] = passage->tool.runtime[0] = passage->tool.version[0] = '\0';
        return 0; /* its version is told once it runs */
}

int passage_find_tool(struct passage *passage, struct error *err)
{
        int r = find_tool(passage, err);

        if (r < 0)
                return r;
        if (passage->tool.version[0]) {
                passage->result->version = mem_strdup(passage->tool.version);
                if (!passage->result->version)
                        return error_set_nomem(err);
        }
        passage->is_static = passage->language->executable &&
                             elf_is_static(passage->code->code, passage->code->code_length);
        return passage->is_project ? 0 : take_code(passage, err);
}
