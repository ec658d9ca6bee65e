/* The kinds of nests: what of a plan they are built by, and what a run brings itself. */
#include "engine/nests.h"
#include "base/mem.h"
#include "base/str.h"

enum { TEMPLATE_ROOT_BYTES = 8 << 20 };

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

/* The interpreter starts with what every program of this kind finds, its launcher instead of a
 * program, and the library that stops it. */
static void encode_park(const struct engine *engine, const struct plan *plan, const char *launcher,
                        struct strbuf *out)
{
        AUTO_STRBUF struct strbuf preload = { 0 }, socket = { 0 };
        struct strlist environment = { 0 };
        const char *arguments[] = { plan->arguments[0], "-c", launcher, NULL };
        struct plan park = template_of(plan);
        bool failed = false;

        strbuf_addf(&preload, "LD_PRELOAD=%s", engine->park_path);
        strbuf_addf(&socket, PARK_VARIABLE "=%d:/sandbox/park", PARK_SOCKET);
        for (uint32_t i = 0; i < plan->environment_count && !failed; i++)
                failed = strlist_add(&environment, plan->environment[i]) < 0;
        failed = failed || preload.failed || socket.failed ||
                 strlist_add(&environment, preload.data) < 0 ||
                 strlist_add(&environment, socket.data) < 0;
        park.program = plan->arguments[0];
        park.arguments = arguments;
        park.argument_count = 3;
        park.environment = (const char **)environment.items;
        park.environment_count = (uint32_t)environment.count;
        park.mount_count = park.file_count = 0;
        if (failed)
                out->failed = true;
        else
                plan_encode(&park, out);
        strlist_done(&environment);
}

/* What interpreters read when they start, and so before a run's own environment is known: runs that
 * differ in these have different interpreters. */
static const char *const start_variables[] = { "LANG", "LC_", "PYTHON" };

static void hash_start_variables(struct hash *hash, const struct plan *plan)
{
        for (uint32_t i = 0; i < plan->environment_count; i++)
                for (size_t j = 0; j < ARRAY_SIZE(start_variables); j++)
                        if (str_has_prefix(plan->environment[i], start_variables[j]))
                                hash_update_text(hash, plan->environment[i]);
}

int nest_kind_make(const struct engine *engine, const struct plan *plan,
                   const struct cgroup_limits *limits, const char *launcher,
                   struct nest_kind *ret_kind)
{
        struct hash hash;

        *ret_kind = (struct nest_kind){ .limits = *limits };
        encode_nest(plan, &ret_kind->nest_plan);
        if (launcher && engine->park_path)
                encode_park(engine, plan, launcher, &ret_kind->park_plan);
        if (ret_kind->nest_plan.failed || ret_kind->park_plan.failed) {
                nest_kind_done(ret_kind);
                return -1;
        }
        hash_init(&hash);
        hash_update_part(&hash, ret_kind->nest_plan.data, ret_kind->nest_plan.length);
        hash_update_part(&hash, limits, sizeof(*limits));
        hash_update_text(&hash, launcher);
        hash_update_text(&hash, launcher ? plan->arguments[0] : NULL);
        if (launcher)
                hash_start_variables(&hash, plan);
        hash_final(&hash, ret_kind->name);
        return 0;
}

void nest_kind_done(struct nest_kind *kind)
{
        strbuf_done(&kind->nest_plan);
        strbuf_done(&kind->park_plan);
}
