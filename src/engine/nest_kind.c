/* The kinds of nests: what of a plan they are built by, and what a run brings itself. */
#include "engine/nests.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPLATE_ROOT_BYTES = 8 << 20, ONCE_START_SECONDS = 60 };

/* What a run brings itself, and what is different in each process, does not count. */
static struct plan template_of(const struct plan *plan)
{
        struct plan template = *plan;

        template.program = "";
        template.directory = "/";
        template.group_name = "";
        template.environment_count = 0;
        template.root_bytes = TEMPLATE_ROOT_BYTES;
        template.cpu_seconds = 0;
        template.supervisor_pid = 0;
        template.disk_bytes = template.disk_inodes = template.file_bytes = 0;
        template.open_files = template.memory_bytes = 0;
        template.join_count = template.has_into = template.parent_count = 0;
        template.adopts = 0;
        template.report_fd = plan->report_fd != 0; /* which one it is shows then */
        return template;
}

static void encode_nest(const struct plan *plan, struct strbuf *out)
{
        const char *arguments[] = { "nest", NULL };
        struct plan template = template_of(plan);
        AUTO_FREE struct plan_file *files =
                mem_alloc((plan->file_count + 1) * sizeof(*template.files));
        uint32_t count = 0;

        if (!files) {
                out->failed = true;
                return;
        }
        /* Of the files, those of /etc are the same for all. */
        for (uint32_t i = 0; i < plan->file_count; i++)
                if (str_has_prefix(plan->files[i].path, "/etc/"))
                        files[count++] = plan->files[i];
        template.files = files;
        template.file_count = count;
        template.arguments = arguments;
        template.argument_count = 1;
        plan_encode(&template, out);
}

/* What any interpreter reads when it starts, and what its copies therefore share: all of it is part
 * of the kind. Nothing else of a run's environment reaches it but what its language names; the rest
 * is set in each copy. */
static const char *const start_variables[] = { "LANG=", "LANGUAGE=", "LC_", "TZ=", NULL };
/* Those that begin so change how a program starts, or what is loaded into it: such a run is
 * executed. */
static const char *const cold_variables[] = { "GCONV_PATH=", "GLIBC_",       "LD_",
                                              "LOCPATH=",    "MALLOC_",      "NLSPATH=",
                                              "OPENSSL_",    "SANDBOX_PARK", NULL };

static bool begins_with_one(const char *variable, const char *const *prefixes)
{
        for (; *prefixes; prefixes++)
                if (str_has_prefix(variable, *prefixes))
                        return true;
        return false;
}

static bool is_one(const char *variable, const char *const *names)
{
        for (; *names; names++)
                if (str_has_prefix(variable, *names) && variable[strlen(*names)] == '=')
                        return true;
        return false;
}

static bool is_start_variable(const struct language_park *way, const char *variable)
{
        return begins_with_one(variable, start_variables) || is_one(variable, way->keeps);
}

/* A value of those that may name a file: the parked interpreter, whom nothing contains, would open
 * it.
 */
static bool names_a_file(const char *variable)
{
        const char *value = strchr(variable, '=');

        return value && (value[1] == '/' || value[1] == ':' || strstr(value, "..") != NULL);
}

/* The interpreter of a copy is the host's own file, on a mount that may be writable: only where the
 * guest is another user, or the file another's, and nobody else may write to it, is that no way to
 * change it, its times or its attributes. And where
 * the program that it stops at is a file here, an interpreter that did not stop would run it. */
static bool is_safe_to_park(const struct plan_draft *draft)
{
        struct stat st;

        if (access(draft->park.program, F_OK) == 0 || stat(draft->park.arguments.items[0], &st) < 0)
                return false;
        return (geteuid() == 0 || st.st_uid != geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Whether a parked interpreter can stand for one that starts with this environment. */
static bool can_park(const struct language_park *way, const struct plan *plan)
{
        if (plan->environment_count >= PARK_ENVIRONMENT_MAX)
                return false;
        for (uint32_t i = 0; i < plan->environment_count; i++) {
                const char *variable = plan->environment[i];

                if (begins_with_one(variable, start_variables) && names_a_file(variable))
                        return false;
                if ((begins_with_one(variable, cold_variables) ||
                     begins_with_one(variable, way->cold)) &&
                    !is_start_variable(way, variable) && !is_one(variable, way->sets))
                        return false;
        }
        return true;
}

/* "NAME=value", where there is a value. */
static int add_variable(struct strlist *environment, const char *name, const char *value)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        if (!value)
                return 0;
        strbuf_addf(&text, "%s=%s", name, value);
        return text.failed ? -1 : strlist_add(environment, text.data);
}

/* An operator who has switched them off means us as well, though the kernel would make them. */
static bool has_large_pages(void)
{
        char text[128];

        return fd_read_file_at(AT_FDCWD, "/sys/kernel/mm/transparent_hugepage/enabled", text,
                               sizeof(text)) > 0 &&
               !strstr(text, "[never]");
}

static int park_environment(const char *library, const struct plan_draft *draft, bool is_once,
                            bool is_whole, struct strlist *ret_environment)
{
        const struct language_park *way = draft->park.way;
        const struct {
                const char *name, *value;
        } own[] = {
                { "PATH", "/usr/local/bin:/usr/bin:/bin" },
                { "HOME", is_once ? "/workspace" : "/" },
                { "TMPDIR", is_once ? "/tmp" : "/" }, /* park_start() gives it those of its own */
                { PARK_PRELOAD, draft->park.preload[0] ? draft->park.preload : NULL },
                { PARK_LARGE,
                  draft->park.preload[0] && !is_once && has_large_pages() ? "yes" : NULL },
                { "LD_PRELOAD", library },
                { "LD_BIND_NOW", is_once ? NULL : "1" }, /* or every copy would look names up */
                { PARK_PROGRAM, draft->park.program },
                { PARK_LAUNCHER, is_whole ? way->launcher : NULL },
                { PARK_FORKS, way->forks ? "yes" : NULL },
                { PARK_POSES, way->poses ? "yes" : NULL },
                { PARK_ONCE, is_once ? "yes" : NULL },
        };

        for (uint32_t i = 0; i < draft->plan.environment_count; i++)
                if (is_start_variable(way, draft->plan.environment[i]) &&
                    strlist_add(ret_environment, draft->plan.environment[i]) < 0)
                        return -1;
        for (size_t i = 0; i < draft->park.environment.count; i++)
                if (strlist_add(ret_environment, draft->park.environment.items[i]) < 0)
                        return -1;
        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                if (add_variable(ret_environment, own[i].name, own[i].value) < 0)
                        return -1;
        return 0;
}

/* The interpreter as its language says it is parked, and the library that stops it; without the
 * text of the launcher where it is not the whole. */
static void encode_command(const struct plan_draft *draft, bool is_whole, const char *library,
                           struct plan *park, struct strbuf *out)
{
        struct strlist environment = { 0 }, whole = { 0 };
        const struct strlist *arguments = is_whole ? &whole : &draft->park.arguments;

        if (park_environment(library, draft, park->waits, is_whole, &environment) < 0 ||
            (is_whole && plan_park_words(&draft->park, &whole) < 0))
                out->failed = true;
        park->program = draft->park.arguments.items[0];
        park->arguments = (const char **)arguments->items;
        park->argument_count = (uint32_t)arguments->count;
        park->environment = (const char **)environment.items;
        park->environment_count = (uint32_t)environment.count;
        if (!out->failed)
                plan_encode(park, out);
        strlist_done(&environment);
        strlist_done(&whole);
}

static void encode_park(const struct engine *engine, const struct plan_draft *draft, bool is_whole,
                        struct strbuf *out)
{
        struct plan park = template_of(&draft->plan);

        park.mount_count = park.file_count = 0;
        encode_command(draft, is_whole, engine->park_path, &park, out);
}

/* One that waits in its container is confined as the run will be: all limits are part of it. Only
 * the CPU time that it takes to start is not the program's. */
static void encode_once(const struct plan_draft *draft, bool is_whole, struct strbuf *out)
{
        struct plan waiting = template_of(&draft->plan);

        waiting.waits = 1;
        waiting.file_count = 0;
        waiting.directory = draft->plan.directory;
        waiting.cpu_seconds = UINT32_MAX;
        if (draft->plan.cpu_seconds < UINT32_MAX - ONCE_START_SECONDS)
                waiting.cpu_seconds = draft->plan.cpu_seconds + ONCE_START_SECONDS;
        waiting.disk_bytes = draft->plan.disk_bytes;
        waiting.disk_inodes = draft->plan.disk_inodes;
        waiting.file_bytes = draft->plan.file_bytes;
        waiting.open_files = draft->plan.open_files;
        waiting.memory_bytes = draft->plan.memory_bytes;
        encode_command(draft, is_whole, PARK_LIBRARY_PATH, &waiting, out);
}

static void encode_key(const struct engine *engine, const struct plan_draft *draft,
                       const struct language *language, struct nest_kind *kind)
{
        const struct language_park *way = draft->park.way;

        if (draft->park.arguments.count == 0 || !engine->park_path || !can_park(way, &draft->plan))
                return;
        kind->is_once = str_equal(language->warm, "once");
        kind->way = way->is_passing ? NULL : way;
        if (kind->is_once)
                encode_once(draft, way->is_passing, &kind->key);
        else if (is_safe_to_park(draft))
                encode_park(engine, draft, way->is_passing, &kind->key);
}

int nest_kind_complete(struct nest_kind *kind)
{
        if (kind->key.length == 0 || kind->park_plan.length > 0)
                return 0;
        if (kind->is_once)
                encode_once(kind->draft, true, &kind->park_plan);
        else
                encode_park(kind->engine, kind->draft, true, &kind->park_plan);
        return kind->park_plan.failed ? -1 : 0;
}

int nest_kind_make(const struct engine *engine, const struct plan_draft *draft,
                   const struct language *language, const struct cgroup_limits *limits,
                   struct nest_kind *ret_kind)
{
        struct hash hash;

        *ret_kind = (struct nest_kind){ .limits = *limits, .engine = engine, .draft = draft };
        encode_nest(&draft->plan, &ret_kind->nest_plan);
        encode_key(engine, draft, language, ret_kind);
        if (ret_kind->key.length > 0)
                (void)snprintf(ret_kind->language, sizeof(ret_kind->language), "%s",
                               language->name);
        if (ret_kind->nest_plan.failed || ret_kind->key.failed) {
                nest_kind_done(ret_kind);
                return -1;
        }
        hash_init(&hash);
        hash_update_part(&hash, limits, sizeof(*limits));
        /* Both are of the files that they were made from; what is missing shows when it is used. */
        (void)hash_update_identity(&hash, engine->init_path);
        if (ret_kind->key.length > 0) {
                (void)hash_update_identity(&hash, engine->park_path);
                (void)hash_update_identity(&hash, draft->park.arguments.items[0]);
        }
        hash_final(&hash, ret_kind->name);
        return 0;
}

void nest_kind_done(struct nest_kind *kind)
{
        strbuf_done(&kind->nest_plan);
        strbuf_done(&kind->park_plan);
        strbuf_done(&kind->key);
}
