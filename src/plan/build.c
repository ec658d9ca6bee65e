#include "plan/build.h"
#include "base/str.h"

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

/* What every program finds in its environment before the language and the policy have their say. */
static const char *const common_environment[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "USER=sandbox",
        "LOGNAME=sandbox",
        "SHELL=/bin/sh",
};

static const char *keep(struct plan_draft *draft, const char *first, const char *second)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        strbuf_adds(&text, first);
        strbuf_adds(&text, second);
        if (text.failed || strlist_add(&draft->strings, text.data) < 0)
                return NULL;
        return draft->strings.items[draft->strings.count - 1];
}

/* Where code and workspace are: fixed in a container, below the scratch directory in a local run.
 */
static const char *place(const struct plan_input *input, struct plan_draft *draft, const char *path)
{
        return keep(draft, input->kind == PLAN_LOCAL ? input->scratch : "", path);
}

/* Name of the file that is put into /code: the source, or what was compiled from it. */
static const char *file_name(const struct plan_input *input)
{
        bool compiled = input->language->compile.command[0] != NULL;

        return input->step == PLAN_STEP_RUN && compiled ? input->language->compile.output
                                                        : input->language->file;
}

static int add_argument(const struct plan_input *input, struct plan_draft *draft, const char *word)
{
        AUTO_STRBUF struct strbuf path = { 0 };
        const char *placed;

        if (str_equal(word, "{tool}"))
                return strlist_add(&draft->arguments, input->tool);
        if (str_equal(word, "{file}"))
                strbuf_addf(&path, "/code/%s", input->language->file);
        else if (str_equal(word, "{output}"))
                strbuf_addf(&path, "%s/%s",
                            input->step == PLAN_STEP_COMPILE ? "/workspace" : "/code",
                            input->language->compile.output);
        else
                return strlist_add(&draft->arguments, word);
        placed = path.failed ? NULL : place(input, draft, path.data);
        return placed ? strlist_add(&draft->arguments, placed) : -1;
}

static int add_arguments(const struct plan_input *input, struct plan_draft *draft)
{
        bool compiling = input->step == PLAN_STEP_COMPILE;
        const char *const *command =
                compiling ? input->language->compile.command : input->language->run;

        for (; *command; command++) {
                if (!str_equal(*command, "{args}")) {
                        if (add_argument(input, draft, *command) < 0)
                                return -1;
                        continue;
                }
                for (size_t i = 0; !compiling && i < input->arguments->count; i++)
                        if (strlist_add(&draft->arguments, input->arguments->items[i]) < 0)
                                return -1;
        }
        return 0;
}

/* Adds "K=V", or replaces the K among the first `known` ones. */
static int set_variable(struct strlist *environment, size_t known, const char *variable)
{
        size_t name = strcspn(variable, "=") + 1;

        for (size_t i = 0; i < known; i++)
                if (strncmp(environment->items[i], variable, name) == 0) {
                        char *copy = mem_strdup(variable);

                        if (!copy)
                                return -1;
                        mem_free(environment->items[i]);
                        environment->items[i] = copy;
                        return 0;
                }
        return strlist_add(environment, variable);
}

/* A variable of the language's; "{workspace}" at its end is where the program starts. */
static int set_language_variable(struct plan_draft *draft, const char *variable, const char *home)
{
        AUTO_STRBUF struct strbuf text = { 0 };
        size_t known = draft->environment.count;

        if (!str_has_suffix(variable, "{workspace}"))
                return set_variable(&draft->environment, known, variable);
        strbuf_add(&text, variable, strlen(variable) - strlen("{workspace}"));
        strbuf_adds(&text, home);
        return text.failed ? -1 : set_variable(&draft->environment, known, text.data);
}

static int add_environment(const struct plan_input *input, struct plan_draft *draft)
{
        const char *home = place(input, draft, "/workspace"),
                   *temporary = place(input, draft, "/tmp");
        const char *variables[2];
        size_t fixed;

        if (!home || !temporary)
                return -1;
        variables[0] = keep(draft, "HOME=", home);
        variables[1] = keep(draft, "TMPDIR=", temporary);
        if (!variables[0] || !variables[1])
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(common_environment); i++)
                if (strlist_add(&draft->environment, common_environment[i]) < 0)
                        return -1;
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
                if (strlist_add(&draft->environment, variables[i]) < 0)
                        return -1;
        for (const char *const *variable = input->language->env; *variable; variable++)
                if (set_language_variable(draft, *variable, home) < 0)
                        return -1;
        /* The policy's are unique among themselves: ten thousand of them meet only the few above.
         */
        fixed = draft->environment.count;
        for (size_t i = 0; i < input->policy->env.count; i++)
                if (set_variable(&draft->environment, fixed, input->policy->env.items[i]) < 0)
                        return -1;
        return 0;
}

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

static int add_mounts(const struct plan_input *input, struct plan_draft *draft)
{
        const struct language *language = input->language;
        bool compiling = input->step == PLAN_STEP_COMPILE;
        size_t most = count_paths(language->paths) + count_paths(language->compile.paths) +
                      input->policy->mount_count + 2;
        const char *program = keep(draft, "/code/", file_name(input));

        draft->mounts = mem_alloc(most * sizeof(*draft->mounts));
        if (!draft->mounts || !program)
                return -1;
        for (const char *const *path = language->paths; *path && !input->self_contained; path++)
                add_mount(draft, PLAN_MOUNT_SYSTEM, *path, *path);
        for (const char *const *path = language->compile.paths; compiling && *path; path++)
                add_mount(draft, PLAN_MOUNT_SYSTEM, *path, *path);
        if (input->program_path)
                add_mount(draft, PLAN_MOUNT_PLAIN, input->program_path, program);
        if (input->resolver)
                add_mount(draft, PLAN_MOUNT_PLAIN, input->resolver, "/etc/resolv.conf");
        /* Volumes are for the program; the compiler sees none. */
        for (size_t i = 0; !compiling && i < input->policy->mount_count; i++)
                add_mount(draft,
                          input->policy->mounts[i].writable ? PLAN_MOUNT_WRITE : PLAN_MOUNT_READ,
                          input->policy->mounts[i].source, input->policy->mounts[i].target);
        draft->plan.mounts = draft->mounts;
        return 0;
}

static int add_files(const struct plan_input *input, struct plan_draft *draft)
{
        bool program = input->language->executable ||
                       (input->step == PLAN_STEP_RUN && input->language->compile.command[0]);
        const char *relative = keep(draft, "/code/", file_name(input));
        const char *path = relative ? place(input, draft, relative) : NULL;
        uint32_t count = 0;

        draft->files = mem_alloc((ARRAY_SIZE(etc_files) + 1) * sizeof(*draft->files));
        if (!draft->files || !path)
                return -1;
        if (!input->program_path)
                draft->files[count++] = (struct plan_file){
                        .path = path,
                        .mode = program ? 0755 : 0644,
                        .fd_number = input->program_data ? 0 : 1,
                        .data = input->program_data ? input->program_data : "",
                        .length = input->program_data ? (uint32_t)input->program_bytes : 0,
                };
        for (size_t i = 0; i < ARRAY_SIZE(etc_files) && input->kind == PLAN_CONTAINER; i++)
                if (!etc_files[i].unless_host_network || !input->resolver)
                        draft->files[count++] = (struct plan_file){
                                .path = etc_files[i].path,
                                .mode = 0644,
                                .data = etc_files[i].text,
                                .length = (uint32_t)strlen(etc_files[i].text),
                        };
        draft->plan.files = draft->files;
        draft->plan.file_count = count;
        return 0;
}

static void set_limits(const struct plan_input *input, struct plan *plan)
{
        const struct limits *limits = input->limits;
        uint64_t inodes = limits->disk_bytes / INODE_BYTES + INODES_LEAST;

        plan->disk_bytes = limits->disk_bytes;
        plan->disk_inodes = inodes > INODES_MOST ? INODES_MOST : inodes;
        plan->root_bytes = input->program_bytes + ROOT_SLACK;
        plan->open_files = limits->open_files;
        plan->file_bytes = limits->disk_bytes;
        plan->cpu_seconds = (uint32_t)((limits->cpu_time_ms + 999) / 1000 + CPU_SECONDS_SLACK);
        plan->best_effort = input->policy->enforcement == ENFORCEMENT_BEST_EFFORT;
        plan->network = input->policy->network_mode == NETWORK_HOST        ? PLAN_NETWORK_HOST
                        : input->policy->network_mode == NETWORK_LOCALHOST ? PLAN_NETWORK_LOCALHOST
                                                                           : PLAN_NETWORK_NONE;
        if (input->step == PLAN_STEP_COMPILE)
                plan->network = PLAN_NETWORK_NONE;
}

int plan_build(const struct plan_input *input, struct plan_draft *draft, struct error *err)
{
        struct plan *plan = &draft->plan;
        bool persistent = input->policy->workspace && input->step == PLAN_STEP_RUN;

        *draft = (struct plan_draft){ 0 };
        plan->kind = input->kind;
        plan->full_proc = input->language->full_proc;
        plan->group_name = "";
        plan->scratch = input->kind == PLAN_LOCAL ? input->scratch : "";
        plan->workspace = persistent ? input->policy->workspace : "";
        plan->directory = input->kind == PLAN_LOCAL && persistent
                                  ? input->policy->workspace
                                  : place(input, draft, "/workspace");
        set_limits(input, plan);
        if (!plan->directory || add_arguments(input, draft) < 0 ||
            add_environment(input, draft) < 0 || add_mounts(input, draft) < 0 ||
            add_files(input, draft) < 0) {
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
        strlist_done(&draft->strings);
        *draft = (struct plan_draft){ 0 };
}
