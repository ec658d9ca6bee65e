#include "plan/build_words.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/report.h"

#include <stdio.h>
#include <string.h>

enum {
        ROOT_SLACK = 2 << 20, /* room for the root's own small files */
        INODE_BYTES = 4096,   /* one file for so many bytes of disk */
        INODES_LEAST = 64,
        INODES_MOST = 1000000,
        CPU_SECONDS_SLACK = 2, /* the monitor comes first */
};

/* The files of /etc that a program expects; nothing of them is the host's. */
static const struct {
        const char *path, *text;
        bool unless_host_network;
} etc_files[] = {
        { "/etc/passwd",
          "root:x:0:0:root:/root:/usr/sbin/nologin\n"
          "sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n"
          "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
          false },
        { "/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n", false },
        { "/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n", false },
        { "/etc/hostname", "sandbox\n", false },
        { "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", false },
        { "/etc/resolv.conf", "# no name server: the network is closed\n", true },
};

/* The supervisor answers there; see src/network. */
static const char asked_resolver[] = "nameserver 127.0.0.1\n";

static size_t count_paths(const char *const *paths)
{
        size_t count = 0;

        while (paths[count])
                count++;
        return count;
}

static void add_mount(struct plan_draft *draft, enum plan_mount_kind kind, const char *source,
                      const char *target)
{
        draft->mounts[draft->plan.mount_count++] = (struct plan_mount){ kind, source, target };
}

/* Whether the path is mounted already, by itself or with a directory above it: what lies below
 * {root} may be listed as a path of the system as well. */
static bool is_visible(const struct plan_draft *draft, const char *path)
{
        for (uint32_t i = 0; i < draft->plan.mount_count; i++)
                if (draft->mounts[i].kind == PLAN_MOUNT_SYSTEM &&
                    path_is_within(path, draft->mounts[i].target))
                        return true;
        return false;
}

/* A path of the language's; the toolchain's own directory may be part of it. */
static int add_system(const struct plan_input *input, struct plan_draft *draft, const char *path)
{
        const char *expanded = strchr(path, '{') ? words_expand(input, draft, path) : path;

        if (!expanded)
                return -1;
        if (expanded[0] == '/' && !is_visible(draft, expanded))
                add_mount(draft, PLAN_MOUNT_SYSTEM, expanded, expanded);
        return 0;
}

/* The installed dependencies, and parts of them where a language looks for them by itself. */
static int add_deps(const struct plan_input *input, struct plan_draft *draft)
{
        add_mount(draft, PLAN_MOUNT_READ, input->deps, "/deps");
        for (const char *const *mount = input->language->deps.mounts; *mount; mount++) {
                AUTO_STRBUF struct strbuf source = { 0 };
                const char *target = strchr(*mount, '=') + 1, *kept;

                strbuf_addf(&source, "%s/%.*s", input->deps, (int)(target - *mount - 1), *mount);
                kept = source.failed ? NULL : words_keep(draft, source.data, "");
                if (!kept)
                        return -1;
                add_mount(draft, PLAN_MOUNT_READ, kept, target);
        }
        return 0;
}

/* One that lies within another comes after it, however they were named: else it would be hidden. */
static void add_volumes(const struct policy_values *policy, struct plan_draft *draft)
{
        uint32_t first = draft->plan.mount_count;

        for (size_t i = 0; i < policy->mount_count; i++) {
                const struct policy_mount *mount = &policy->mounts[i];
                uint32_t last = draft->plan.mount_count, at = first;
                struct plan_mount added;

                add_mount(draft, mount->writable ? PLAN_MOUNT_WRITE : PLAN_MOUNT_READ,
                          mount->source, mount->target);
                added = draft->mounts[last];
                while (at < last && !path_is_below(draft->mounts[at].target, mount->target))
                        at++;
                memmove(&draft->mounts[at + 1], &draft->mounts[at], (last - at) * sizeof(added));
                draft->mounts[at] = added;
        }
}

static int add_mounts(const struct plan_input *input, struct plan_draft *draft)
{
        const struct language *language = input->language;
        static const char *const none[] = { NULL };
        const char *const *build_paths = input->build ? input->build->paths : none;
        size_t most = count_paths(language->paths) + count_paths(build_paths) +
                      input->policy->mount_count + 4 + input->part_count +
                      count_paths(language->deps.mounts) +
                      (input->extra_paths ? input->extra_paths->count : 0);
        const char *program = words_placed(input, draft, input->source_place, input->file);

        draft->mounts = mem_alloc(most * sizeof(*draft->mounts));
        if (!draft->mounts || !program)
                return -1;
        for (const char *const *path = language->paths; *path && !input->self_contained; path++)
                if (add_system(input, draft, *path) < 0)
                        return -1;
        for (const char *const *path = build_paths; *path; path++)
                if (add_system(input, draft, *path) < 0)
                        return -1;
        for (size_t i = 0; input->extra_paths && i < input->extra_paths->count; i++)
                if (add_system(input, draft, input->extra_paths->items[i]) < 0)
                        return -1;
        for (size_t i = 0; i < input->part_count; i++)
                add_mount(draft, PLAN_MOUNT_PLAIN, input->parts[i].source, input->parts[i].target);
        if (input->program_path)
                add_mount(draft, PLAN_MOUNT_PLAIN, input->program_path, program);
        if (input->prepared)
                add_mount(draft, PLAN_MOUNT_READ, input->prepared, "/prepared");
        if (input->deps && add_deps(input, draft) < 0)
                return -1;
        if (input->resolver)
                add_mount(draft, PLAN_MOUNT_PLAIN, input->resolver, "/etc/resolv.conf");
        /* Volumes are for the program; the compiler sees none. */
        if (!input->build)
                add_volumes(input->policy, draft);
        draft->plan.mounts = draft->mounts;
        return 0;
}

/* A local run's workspace may be one of the host's. */
static const char *below_directory(struct plan_draft *draft, const char *name)
{
        AUTO_STRBUF struct strbuf path = { 0 };

        strbuf_addf(&path, "%s/%s", draft->plan.directory, name);
        return path.failed ? NULL : words_keep(draft, path.data, "");
}

/* The bytes in a root that go with a bundle: files take whole pages. */
static uint64_t pages_of(const struct bundle *bundle)
{
        return bundle->bytes + (uint64_t)bundle->count * 2 * INODE_BYTES;
}

static int add_bundle(const struct plan_input *input, struct plan_draft *draft,
                      const struct plan_bundle *files, uint32_t *count)
{
        bool by_guest = str_equal(files->place, "/workspace");

        for (size_t i = 0; i < files->bundle->count; i++) {
                const struct bundle_file *file = &files->bundle->files[i];
                const char *path = by_guest && input->kind == PLAN_LOCAL
                                           ? below_directory(draft, file->path)
                                           : words_placed(input, draft, files->place, file->path);

                if (!path)
                        return -1;
                draft->files[(*count)++] = (struct plan_file){
                        .path = path,
                        .mode = file->mode,
                        .by_guest = by_guest,
                        .fd_number = files->fd_number,
                        .offset = file->offset,
                        .size = file->length,
                        .data = "",
                };
        }
        return 0;
}

static struct plan_file program_file(const struct plan_input *input, const char *path)
{
        bool inside = input->program_data != NULL;

        return (struct plan_file){
                .path = path,
                .mode = input->language->executable ? 0755 : 0644,
                .fd_number = inside ? 0 : 1,
                .size = inside ? 0 : input->program_bytes,
                .data = inside ? input->program_data : "",
                .length = inside ? (uint32_t)input->program_bytes : 0,
        };
}

static int add_files(const struct plan_input *input, struct plan_draft *draft)
{
        const char *path = words_placed(input, draft, input->source_place, input->file);
        size_t most = ARRAY_SIZE(etc_files) + 1;
        uint32_t count = 0;

        for (size_t i = 0; i < input->bundle_count; i++)
                most += input->bundles[i].bundle->count;
        draft->files = mem_alloc(most * sizeof(*draft->files));
        if (!draft->files || !path)
                return -1;
        if (input->has_program && !input->program_path)
                draft->files[count++] = program_file(input, path);
        for (size_t i = 0; i < ARRAY_SIZE(etc_files) && input->kind == PLAN_CONTAINER; i++) {
                bool is_resolver = etc_files[i].unless_host_network;
                const char *text = is_resolver && draft->plan.network == PLAN_NETWORK_ASKED
                                           ? asked_resolver
                                           : etc_files[i].text;

                if (!is_resolver || !input->resolver)
                        draft->files[count++] = (struct plan_file){
                                .path = etc_files[i].path,
                                .mode = 0644,
                                .data = text,
                                .length = (uint32_t)strlen(text),
                        };
        }
        for (size_t i = 0; i < input->bundle_count; i++)
                if (add_bundle(input, draft, &input->bundles[i], &count) < 0)
                        return -1;
        draft->plan.files = draft->files;
        draft->plan.file_count = count;
        return 0;
}

static uint64_t root_bytes(const struct plan_input *input)
{
        uint64_t bytes = input->program_bytes + ROOT_SLACK;

        for (size_t i = 0; i < input->bundle_count; i++)
                bytes += pages_of(input->bundles[i].bundle);
        return bytes;
}

static const enum plan_network networks[] = {
        [NETWORK_NONE] = PLAN_NETWORK_NONE, [NETWORK_LOCALHOST] = PLAN_NETWORK_LOCALHOST,
        [NETWORK_DNS] = PLAN_NETWORK_ASKED, [NETWORK_ALLOWLIST] = PLAN_NETWORK_ASKED,
        [NETWORK_HOST] = PLAN_NETWORK_HOST,
};

static void set_limits(const struct plan_input *input, struct plan *plan)
{
        const struct limits *limits = input->limits;
        uint64_t inodes = limits->disk_bytes / INODE_BYTES + INODES_LEAST;

        plan->disk_bytes = limits->disk_bytes;
        plan->disk_inodes = inodes > INODES_MOST ? INODES_MOST : inodes;
        plan->root_bytes = root_bytes(input);
        plan->open_files = limits->open_files;
        plan->file_bytes = limits->disk_bytes;
        plan->cpu_seconds = (uint32_t)((limits->cpu_time_ms + 999) / 1000 + CPU_SECONDS_SLACK);
        plan->best_effort = input->policy->enforcement == ENFORCEMENT_BEST_EFFORT;
        for (size_t i = 0; i < input->policy->network_allow.count && !input->build; i++)
                if (str_has_suffix(input->policy->network_allow.items[i], "/udp"))
                        plan->relay_udp = REPORT_RELAYS_MAX;
        plan->network = input->build ? PLAN_NETWORK_NONE : networks[input->policy->network_mode];
        plan->report_fd = input->report_fd;
        if (input->proxy_port) {
                plan->network = PLAN_NETWORK_LOCALHOST;
                plan->listener_port = input->proxy_port;
                plan->listener_fd = input->proxy_fd;
                plan->relay_udp = 0;
        }
}

int plan_build(const struct plan_input *input, struct plan_draft *draft, struct error *err)
{
        struct plan *plan = &draft->plan;
        bool persistent = input->policy->workspace && input->step == PLAN_STEP_RUN;

        *draft = (struct plan_draft){ 0 };
        plan->kind = input->kind;
        plan->full_proc = input->language->full_proc;
        plan->group_name = "";
        plan->docker = input->docker ? input->docker : "";
        plan->scratch = input->kind == PLAN_LOCAL ? input->scratch : "";
        plan->workspace = persistent ? input->policy->workspace : "";
        plan->directory = input->kind == PLAN_LOCAL && persistent
                                  ? input->policy->workspace
                                  : words_place(input, draft, "/workspace");
        set_limits(input, plan);
        if (!plan->directory || words_add_arguments(input, draft) < 0 ||
            words_add_environment(input, draft) < 0 || words_add_park(input, draft) < 0 ||
            add_mounts(input, draft) < 0 || add_files(input, draft) < 0) {
                plan_draft_done(draft);
                return error_set_nomem(err);
        }
        plan->arguments = (const char **)draft->arguments.items;
        plan->argument_count = (uint32_t)draft->arguments.count;
        plan->environment = (const char **)draft->environment.items;
        plan->environment_count = (uint32_t)draft->environment.count;
        plan->program = plan->arguments[0];
        return 0;
}

void plan_draft_done(struct plan_draft *draft)
{
        mem_free(draft->mounts);
        mem_free(draft->files);
        strlist_done(&draft->arguments);
        strlist_done(&draft->environment);
        strlist_done(&draft->park.arguments);
        strlist_done(&draft->park.environment);
        strlist_done(&draft->strings);
        *draft = (struct plan_draft){ 0 };
}
