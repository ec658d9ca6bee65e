/* The stage that compiles: by the cache, or by the compiler, contained. */
#include "engine/passage.h"
#include "engine/files.h"
#include "engine/watched.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPILED_MAX = 256 << 20, COMPILED_FILES_MAX = 10000, COMPILER_OUTPUT_MAX = 1 << 20 };

const struct language_compile *build_of(const struct passage *passage)
{
        const struct language *language = passage->language;

        return passage->is_project && language->project.compile.command[0]
                       ? &language->project.compile
                       : &language->compile;
}

struct limits build_limits(const struct passage *passage, const struct language_compile *build)
{
        struct limits limits = passage->policy.limits;

        limits_lay_over(&limits, &build->limits);
        limits.stdout_bytes = limits.stderr_bytes = COMPILER_OUTPUT_MAX;
        return limits;
}

/* ---- the key: all that a compiled program comes from ---- */

static int hash_project(struct hash *hash, const struct passage *passage)
{
        const struct bundle *sources = &passage->code->sources;

        hash_update_text(hash, passage->entry);
        for (size_t i = 0; i < sources->count; i++) {
                hash_update_text(hash, sources->files[i].path);
                hash_update_part(hash, &sources->files[i].mode, sizeof(sources->files[i].mode));
                hash_update_part(hash, &sources->files[i].length, sizeof(sources->files[i].length));
        }
        hash_update_text(hash, NULL);
        return hash_update_fd(hash, sources->fd);
}

/* What the compiler sees of the system: folders change with the files that they hold, and what
 * lies deeper and counts is listed by the language. */
static int hash_surroundings(struct hash *hash, const struct passage *passage,
                             const struct language_compile *build)
{
        const struct language *language = passage->language;
        const char *const *const lists[] = { language->paths, build->paths, language->compile.watch,
                                             build->watch };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(lists) && r == 0; i++)
                r = watched_hash(&passage->tool, lists[i], hash);
        return r;
}

static int make_key(const struct passage *passage, const struct language_compile *build,
                    char key[HASH_TEXT_MAX])
{
        const struct language *language = passage->language;
        struct hash hash;
        int r;

        hash_init(&hash);
        hash_update_text(&hash, "1"); /* of this form of key */
        hash_update_text(&hash, language->name);
        hash_update_text(&hash, language->file);
        hash_update_words(&hash, build->command);
        hash_update_words(&hash, build->env);
        hash_update_words(&hash, language->env);
        hash_update_text(&hash, build->output);
        hash_update_text(&hash, passage->deps.key);
        hash_update_text(&hash, passage->tool.version);
        r = passage->tool.path[0] ? hash_update_identity(&hash, passage->tool.path) : 0;
        if (r == 0 && passage->tool.runtime[0])
                r = hash_update_identity(&hash, passage->tool.runtime);
        if (r == 0)
                r = hash_surroundings(&hash, passage, build);
        if (r == 0 && passage->is_project)
                r = hash_project(&hash, passage);
        else if (r == 0 && passage->program_data)
                hash_update_part(&hash, passage->program_data, passage->program_bytes);
        else if (r == 0)
                r = hash_update_fd(&hash, passage->program_fd);
        hash_final(&hash, key);
        return r;
}

/* ---- what the compiler made ---- */

static int add_output(struct passage *passage, int workspace_fd, const char *name,
                      struct error *err)
{
        static const struct bundle_bounds bounds = { COMPILED_MAX, COMPILED_FILES_MAX };
        struct bundle *files = &passage->built.files;
        AUTO_CLOSE int from = -1;
        struct stat st;

        if (str_has_suffix(name, "/")) {
                from = files_open_folder(workspace_fd, name);
                return from < 0 ? error_set_errno(err, "fetch the compiled program")
                                : bundle_add_tree(files, from, name, &bounds, false, err);
        }
        from = files_open(workspace_fd, name);
        if (from < 0 || fstat(from, &st) < 0)
                return error_set_errno(err, "fetch the compiled program");
        if (st.st_size > COMPILED_MAX)
                return error_set(err, SBX_ETOOBIG, "the compiled program is larger than %d MiB",
                                 COMPILED_MAX >> 20);
        return bundle_add_fd(files, name, 0755, from, err);
}

/* What it left is copied before it is trusted to keep still. A compiler that was content and made
 * nothing has failed. */
static int fetch_program(struct passage *passage, int workspace_fd, struct error *err)
{
        struct result_step *compile = &passage->result->compile;
        int r;

        if (compile->outcome != OUTCOME_OK)
                return 0;
        r = add_output(passage, workspace_fd, build_of(passage)->output, err);
        if (r == SBX_ESYSTEM && (err->sys_errno == ENOENT || err->sys_errno == ENOTDIR)) {
                compile->outcome = OUTCOME_FAILED;
                compile->exit_code = 1;
                strbuf_adds(&compile->err.kept, "the compiler made no program\n");
                return 0;
        }
        if (r == 0)
                r = bundle_settle(&passage->built.files, err);
        return r;
}

static void tell_failure(struct result *result)
{
        bool cancelled = result->compile.outcome == OUTCOME_CANCELLED;

        result->run.outcome = cancelled ? OUTCOME_CANCELLED : OUTCOME_COMPILE_ERROR;
        result->run.exit_code = result->compile.exit_code;
        result->run.signal = result->compile.signal;
}

static int take_cached(struct passage *passage, struct error *err)
{
        struct result_step *compile = &passage->result->compile;

        compile->outcome = OUTCOME_OK;
        compile->exit_code = 0;
        compile->cached = true;
        strbuf_add(&compile->out.kept, passage->built.out.data, passage->built.out.length);
        strbuf_add(&compile->err.kept, passage->built.err.data, passage->built.err.length);
        compile->out.bytes = compile->out.kept.length;
        compile->err.bytes = compile->err.kept.length;
        passage->result->compiled = true;
        passage->program = &passage->built.files;
        return compile->out.kept.failed || compile->err.kept.failed ? error_set_nomem(err) : 0;
}

static int run_compiler(struct passage *passage, const struct language_compile *build,
                        struct error *err)
{
        struct result *result = passage->result;
        struct limits limits = build_limits(passage, build);
        struct step_order order = { .step = PLAN_STEP_COMPILE,
                                    .build = build,
                                    .limits = &limits,
                                    .outcome = &result->compile,
                                    .collect = fetch_program };
        int r = step_run_somewhere(passage, &order, err);

        if (r < 0)
                return r;
        result->compiled = true;
        result->violation_count = 0; /* the compiler's are not the program's */
        if (result->compile.outcome != OUTCOME_OK)
                tell_failure(result);
        else
                passage->program = &passage->built.files;
        return 0;
}

static void keep(struct passage *passage, const char *directory, const char *key)
{
        const struct result_step *compile = &passage->result->compile;
        struct cache_entry entry = { .files = passage->built.files,
                                     .out = compile->out.kept,
                                     .err = compile->err.kept };

        if (passage->program && !compile->out.truncated && !compile->err.truncated)
                cache_put(directory, key, &entry, passage->engine->cache_bytes);
}

int passage_compile(struct passage *passage, struct error *err)
{
        const struct language_compile *build = build_of(passage);
        const char *directory = passage->order->request->no_cache || docker_is_wanted(passage)
                                        ? NULL /* what an image's compiler made is that image's */
                                        : passage->engine->cache_dir;
        char key[HASH_TEXT_MAX];
        int r;

        if (!build->command[0] || passage->program)
                return 0; /* nothing to compile, or compiled before */
        if (directory && make_key(passage, build, key) < 0)
                return error_set_errno(err, "read the code");
        if (directory && cache_get(directory, key, &passage->built))
                return take_cached(passage, err);
        r = run_compiler(passage, build, err);
        if (r == 0 && directory)
                keep(passage, directory, key);
        return r;
}
