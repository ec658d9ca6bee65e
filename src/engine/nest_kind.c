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

/* What an interpreter reads when it starts, and what its copies therefore share: all of it is part
 * of the kind. Nothing else of a run's environment reaches it; the launcher sets the rest in each
 * copy. */
static const char *const start_variables[] = { "LANG=", "LC_ALL=", "LC_CTYPE=",
                                               "PYTHONDONTWRITEBYTECODE=", "PYTHONUTF8=" };
/* Set by the launcher, though an interpreter would read it when it starts. */
static const char *const launched_variables[] = { "PYTHONPATH=" };
/* Those that begin so change how a program starts, or what is loaded into it: such a run is
 * executed. */
static const char *const cold_variables[] = { "GCONV_PATH=", "GLIBC_",   "LD_",      "LOCPATH=",
                                              "MALLOC_",     "NLSPATH=", "OPENSSL_", "PYTHON" };

static bool is_among(const char *variable, const char *const *prefixes, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (str_has_prefix(variable, prefixes[i]))
                        return true;
        return false;
}

static bool is_start_variable(const char *variable)
{
        return is_among(variable, start_variables, ARRAY_SIZE(start_variables));
}

bool nest_kind_can_park(const struct plan *plan)
{
        for (uint32_t i = 0; i < plan->environment_count; i++)
                if (is_among(plan->environment[i], cold_variables, ARRAY_SIZE(cold_variables)) &&
                    !is_start_variable(plan->environment[i]) &&
                    !is_among(plan->environment[i], launched_variables,
                              ARRAY_SIZE(launched_variables)))
                        return false;
        return true;
}

static int park_environment(const struct engine *engine, const struct plan *plan,
                            struct strlist *ret_environment)
{
        AUTO_STRBUF struct strbuf preload = { 0 }, socket = { 0 };

        for (uint32_t i = 0; i < plan->environment_count; i++)
                if (is_start_variable(plan->environment[i]) &&
                    strlist_add(ret_environment, plan->environment[i]) < 0)
                        return -1;
        strbuf_addf(&preload, "LD_PRELOAD=%s", engine->park_path);
        strbuf_addf(&socket, PARK_VARIABLE "=%d:/sandbox/park", PARK_SOCKET);
        if (preload.failed || socket.failed ||
            strlist_add(ret_environment, "PATH=/usr/local/bin:/usr/bin:/bin") < 0 ||
            strlist_add(ret_environment, "HOME=/") < 0 ||
            strlist_add(ret_environment, preload.data) < 0)
                return -1;
        return strlist_add(ret_environment, socket.data);
}

/* The interpreter with its launcher instead of a program, and the library that stops it. */
static void encode_park(const struct engine *engine, const struct plan *plan, const char *launcher,
                        struct strbuf *out)
{
        struct strlist environment = { 0 };
        const char *arguments[] = { plan->arguments[0], "-c", launcher, NULL };
        struct plan park = template_of(plan);

        if (park_environment(engine, plan, &environment) < 0)
                out->failed = true;
        park.program = plan->arguments[0];
        park.arguments = arguments;
        park.argument_count = 3;
        park.environment = (const char **)environment.items;
        park.environment_count = (uint32_t)environment.count;
        park.mount_count = park.file_count = 0;
        if (!out->failed)
                plan_encode(&park, out);
        strlist_done(&environment);
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
        hash_update_part(&hash, ret_kind->park_plan.data ? ret_kind->park_plan.data : "",
                         ret_kind->park_plan.length);
        hash_update_part(&hash, limits, sizeof(*limits));
        /* Both are of the files that they were made from; what is missing shows when it is used. */
        (void)hash_update_identity(&hash, engine->init_path);
        if (ret_kind->park_plan.length > 0) {
                (void)hash_update_identity(&hash, engine->park_path);
                (void)hash_update_identity(&hash, plan->arguments[0]);
        }
        hash_final(&hash, ret_kind->name);
        return 0;
}

void nest_kind_done(struct nest_kind *kind)
{
        strbuf_done(&kind->nest_plan);
        strbuf_done(&kind->park_plan);
}
