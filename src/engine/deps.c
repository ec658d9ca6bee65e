/* The stage that installs what the program needs: from the store, or by the tool, contained. */
#include "engine/passage.h"
#include "engine/files.h"
#include "engine/handed_in.h"
#include "engine/watched.h"
#include "base/fd.h"
#include "base/str.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPS_FILE_MAX = 8 << 20, DEPS_FILES_MAX = 200000, INSTALLER_OUTPUT_MAX = 1 << 20 };

void deps_init(struct deps *deps)
{
        *deps = (struct deps){ .entry = { .lock = -1 },
                               .gateway = { .pid = -1, .control = -1, .lines = -1, .socket = -1 } };
        bundle_init(&deps->files);
        bundle_init(&deps->copies);
}

void deps_done(struct passage *passage)
{
        struct deps *deps = &passage->deps;

        bundle_done(&deps->files);
        bundle_done(&deps->copies);
        store_entry_done(&deps->entry);
        strlist_done(&deps->places);
        strlist_done(&deps->env);
        strlist_done(&deps->paths);
}

void deps_tell(const struct passage *passage)
{
        const struct deps *deps = &passage->deps;

        for (size_t i = 0; i < deps->refused_count; i++)
                result_add_violation(passage->result, deps->refused[i].kind, deps->refused[i].what,
                                     deps->refused[i].why, deps->refused[i].count);
}

/* ---- the files ---- */

/* Under which of its names the language knows the file: by name, else by the extension. */
static const char *known_name(const struct language_deps *deps, const char *base)
{
        const char *extension = strrchr(base, '.');

        for (const char *const *name = deps->files; *name; name++)
                if (str_equal(*name, base))
                        return *name;
        for (const char *const *name = deps->files; extension && *name; name++)
                if (str_has_suffix(*name, extension))
                        return *name;
        return NULL;
}

static int refuse_file(const struct passage *passage, const char *base, struct error *err)
{
        const struct language *language = passage->language;
        AUTO_STRBUF struct strbuf names = { 0 };
        char shown[160];
        int r;

        if (!language->deps.files[0])
                return error_set(err, SBX_EINVAL, "dependencies: not known how %s gets them",
                                 language->title);
        for (const char *const *name = language->deps.files; *name; name++)
                strbuf_addf(&names, "%s%s", names.length ? ", " : "", *name);
        r = error_set(err, SBX_EINVAL, "dependencies: '%s' is no list of %s's",
                      str_printable(base, shown, sizeof(shown)), language->title);
        error_hint(err, "it is called %s", names.data ? names.data : "otherwise");
        return r;
}

static int open_failed(const char *shown, struct error *err)
{
        int r = error_set_errno(err, "dependencies: open '%s'", shown);

        return err ? (err->code = SBX_EINVAL) : r;
}

/* Adds an open file under the name that the tool knows it by. */
static int add_file(struct passage *passage, int fd, const char *from, const char *name,
                    struct error *err)
{
        char shown[256];
        struct stat st;

        str_printable(from, shown, sizeof(shown));
        if (fd < 0 || fstat(fd, &st) < 0)
                return open_failed(shown, err);
        if (!S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "dependencies: '%s' is not a regular file",
                                 shown);
        if (st.st_size > DEPS_FILE_MAX)
                return error_set(err, SBX_ETOOBIG, "dependencies: '%s' is larger than %d MiB",
                                 shown, DEPS_FILE_MAX >> 20);
        return bundle_add_fd(&passage->deps.files, name, 0644, fd, err);
}

/* The list is named by the caller; what lies beside it is not, and may be a stranger's: through a
 * link there the installer would get any file that the caller can read. */
static int add_lock(struct passage *passage, int folder, const char *name, struct error *err)
{
        AUTO_CLOSE int fd = sys_openat2(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                                        SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS);
        int r;

        if (fd < 0 && errno == ENOENT)
                return 0;
        if (fd >= 0 || errno != ELOOP)
                return add_file(passage, fd, name, name, err);
        r = error_set(err, SBX_EINVAL, "dependencies: '%s' beside the list is a link", name);
        error_hint(err, "put the file itself there: a link could lead to any file of yours");
        return r;
}

static int read_files(struct passage *passage, struct error *err)
{
        static const char what[] = "the list of dependencies";
        const struct language_deps *deps = &passage->language->deps;
        const char *path = passage->code->deps;
        const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        const char *name = known_name(deps, base);
        char folder_path[PATH_MAX], shown[256];
        AUTO_CLOSE int folder = -1, list = -1;
        int r;

        if (!name)
                return refuse_file(passage, base, err);
        if ((size_t)snprintf(folder_path, sizeof(folder_path), "%.*s",
                             slash ? (int)(slash - path + 1) : 1,
                             slash ? path : ".") >= sizeof(folder_path))
                return error_set(err, SBX_EINVAL, "dependencies: the path is too long");
        r = handed_in_open(what, folder_path, O_PATH | O_DIRECTORY, 0, &passage->writable, &folder,
                           err);
        if (r == SBX_ESYSTEM)
                return open_failed(str_printable(path, shown, sizeof(shown)), err);
        if (r == 0)
                r = handed_in_open(what, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
                                   &passage->writable, &list, err);
        if (r == 0 || r == SBX_ESYSTEM)
                r = add_file(passage, list, base, name, err);
        for (const char *const *lock = deps->locks; *lock && r == 0; lock++)
                r = add_lock(passage, folder, *lock, err);
        return r < 0 ? r : bundle_settle(&passage->deps.files, err);
}

/* ---- the key: all that the installed tree comes from ---- */

/* Variables of the caller's by which the tool is steered. */
static void hash_variables(struct hash *hash, const char *const *prefixes)
{
        for (; *prefixes; prefixes++)
                for (char *const *variable = environ; *variable; variable++)
                        if (str_has_prefix(*variable, *prefixes))
                                hash_update_text(hash, *variable);
        hash_update_text(hash, NULL);
}

static int make_key(struct passage *passage, struct error *err)
{
        const struct language *language = passage->language;
        const struct bundle *files = &passage->deps.files;
        const struct strlist *registries = &passage->code->registries;
        struct hash hash;

        hash_init(&hash);
        if (hash_update_identity(&hash, passage->tool.path) < 0)
                return error_set_errno(err, "look at '%s'", passage->tool.path);
        hash_update_text(&hash, "1"); /* of this form of key */
        hash_update_text(&hash, language->name);
        hash_update_words(&hash, language->deps.registry);
        hash_update_words(&hash, language->deps.install.command);
        hash_update_words(&hash, language->deps.install.env);
        hash_update_words(&hash, language->env);
        hash_update_words(&hash, wasm_installs(passage));
        hash_variables(&hash, language->deps.variables);
        if (watched_hash(&passage->tool, language->deps.watch, &hash) < 0)
                return error_set_nomem(err);
        for (size_t i = 0; i < registries->count; i++)
                hash_update_text(&hash, registries->items[i]);
        hash_update_text(&hash, passage->tool.version);
        for (size_t i = 0; i < files->count; i++) {
                hash_update_text(&hash, files->files[i].path);
                hash_update_part(&hash, &files->files[i].length, sizeof(files->files[i].length));
        }
        if (hash_update_fd(&hash, files->fd) < 0)
                return error_set_errno(err, "read the dependencies");
        hash_final(&hash, passage->deps.key);
        return 0;
}

/* ---- installing ---- */

/* The installer's network is the proxy: every client knows these variables by one of their names.
 */
static int set_proxy(struct strlist *env, struct error *err)
{
        static const char *const names[] = { "http_proxy", "https_proxy", "all_proxy",
                                             "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY" };
        char variable[64];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                (void)snprintf(variable, sizeof(variable), "%s=http://127.0.0.1:%d", names[i],
                               GATEWAY_PORT);
                if (strlist_add(env, variable) < 0)
                        return error_set_nomem(err);
        }
        return strlist_add(env, "no_proxy=") < 0 || strlist_add(env, "NO_PROXY=") < 0
                       ? error_set_nomem(err)
                       : 0;
}

/* What was left cannot be kept: that is the installer's failure, and it is told as such. */
static int blame_installer(struct passage *passage, const char *why)
{
        struct result_step *deps = &passage->result->deps;

        deps->outcome = OUTCOME_FAILED;
        deps->exit_code = 1;
        strbuf_addf(&deps->err.kept, "error: %s\n", why);
        deps->err.bytes = deps->err.kept.length;
        return 0;
}

/* Whether somebody made the tree so that it cannot be read. */
static bool is_made_so(const struct error *err)
{
        static const int reasons[] = { EACCES, ELOOP, ENOTDIR, ENOENT, ENAMETOOLONG };

        for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
                if (err->code == SBX_ESYSTEM && err->sys_errno == reasons[i])
                        return true;
        return err->code == SBX_ETOOBIG;
}

/* What is mounted by itself must be a folder: a link would lead into the host, and nowhere. */
static bool has_mounted_folders(const struct passage *passage, int tree)
{
        for (const char *const *mount = passage->language->deps.mounts; *mount; mount++) {
                AUTO_STRBUF struct strbuf name = { 0 };
                AUTO_CLOSE int folder = -1;

                strbuf_add(&name, *mount, strcspn(*mount, "="));
                folder = name.failed ? -1 : files_open_folder(tree, name.data);
                if (folder < 0)
                        return false;
        }
        return true;
}

/* What the installer left in {deps}; where the list is empty that may be nothing at all. */
static int keep_tree(struct passage *passage, int workspace_fd, struct error *err)
{
        const struct store_bounds bounds = {
                .bytes = build_limits(passage, &passage->language->deps.install).disk_bytes,
                .files = DEPS_FILES_MAX,
        };
        AUTO_CLOSE int tree = -1;
        int r;

        if (passage->result->deps.outcome != OUTCOME_OK)
                return 0;
        tree = files_open_folder(workspace_fd, "deps/");
        if (tree < 0 && errno != ENOENT)
                return blame_installer(passage, "the folder of the packages cannot be read");
        if (tree >= 0 && !has_mounted_folders(passage, tree))
                return blame_installer(passage, "a folder of the packages is none");
        r = store_put(passage->engine->cache_dir, passage->deps.key, tree, &bounds,
                      &passage->deps.entry, err);
        return r < 0 && is_made_so(err) ? blame_installer(passage, err->message) : r;
}

static void tell_failure(struct result *result)
{
        bool cancelled = result->deps.outcome == OUTCOME_CANCELLED;

        result->run.outcome = cancelled ? OUTCOME_CANCELLED : OUTCOME_COMPILE_ERROR;
        result->run.exit_code = result->deps.exit_code;
        result->run.signal = result->deps.signal;
}

static int run_installer(struct passage *passage, struct error *err)
{
        const struct language_compile *install = &passage->language->deps.install;
        struct result *result = passage->result;
        struct limits limits = build_limits(passage, install);
        struct step_order order = { .step = PLAN_STEP_DEPS,
                                    .build = install,
                                    .limits = &limits,
                                    .outcome = &result->deps,
                                    .collect = keep_tree };
        int r = step_run_somewhere(passage, &order, err);

        result->violation_count = 0; /* the tool's own are not the program's */
        gateway_close(&passage->deps.gateway, result);
        memcpy(passage->deps.refused, result->violations, sizeof(passage->deps.refused));
        passage->deps.refused_count = result->violation_count;
        result->violation_count = 0;
        if (r < 0)
                return r;
        result->has_deps = true;
        if (result->deps.outcome != OUTCOME_OK)
                tell_failure(result);
        return 0;
}

static bool is_cancelled(const struct passage *passage)
{
        struct pollfd item = { .fd = passage->order->cancel_fd, .events = POLLIN };

        return poll(&item, 1, 0) > 0 && item.revents;
}

static int install(struct passage *passage, struct error *err)
{
        struct deps *deps = &passage->deps;
        AUTO_FREE char *program =
                engine_need_beside(passage->engine, "sandbox-proxy", "proxy", err);
        int r;

        if (!program)
                return err->code;
        r = registry_ask(passage, err);
        if (r == 0)
                r = set_proxy(&deps->env, err);
        for (const char *const *one = wasm_installs(passage); *one && r == 0; one++)
                if (strlist_add(&deps->env, *one) < 0)
                        r = error_set_nomem(err);
        if (r == 0)
                r = gateway_open(program, &deps->places, passage->order->cancel_fd, &deps->gateway,
                                 err);
        if (r == 0)
                r = run_installer(passage, err);
        if (r == 0 || !is_cancelled(passage))
                return r;
        passage->result->run.outcome = OUTCOME_CANCELLED;
        return 0;
}

int passage_install(struct passage *passage, struct error *err)
{
        struct result *result = passage->result;
        int r;

        if (!passage->code->deps)
                return 0;
        r = read_files(passage, err);
        if (r < 0)
                return r;
        if (!passage->engine->cache_dir) {
                r = error_set(err, SBX_EREFUSED, "dependencies: there is no place to keep them");
                error_hint(err, "set HOME or XDG_CACHE_HOME");
                return r;
        }
        r = make_key(passage, err);
        if (r < 0)
                return r;
        /* What was compiled before runs with what it was compiled with. */
        if (passage->code->no_cache && !passage->order->program)
                store_remove(passage->engine->cache_dir, passage->deps.key);
        if (!store_get(passage->engine->cache_dir, passage->deps.key, &passage->deps.entry))
                return install(passage, err);
        result->has_deps = result->deps.cached = true;
        result->deps.outcome = OUTCOME_OK;
        result->deps.exit_code = 0;
        return 0;
}
