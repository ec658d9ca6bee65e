/* Finding a language's tool on this machine. With a remembered version this is a handful of system
 * calls and no process. */
#include "languages/languages.h"
#include "languages/languages_find.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASON_MAX = 256 };

/* ---- the version ---- */

/* A tool that something else runs is asked through that. */
static bool ask_version(const struct language *language, struct language_tool *tool)
{
        const char *arguments[TOOL_ARGUMENTS_MAX] = { tool->path };

        if (!tool->runtime[0])
                return version_ask(tool->path, language->version_arguments, VERSION_TIMEOUT_MS,
                                   tool->version);
        for (size_t i = 0; language->version_arguments[i] && i + 2 < TOOL_ARGUMENTS_MAX; i++)
                arguments[i + 1] = language->version_arguments[i];
        return version_ask(tool->runtime, arguments, VERSION_TIMEOUT_MS, tool->version);
}

static void find_version(const struct language *language, const char *cache_dir,
                         const struct stat *st, struct language_tool *tool)
{
        tool->version[0] = '\0';
        if (!language->version_arguments[0])
                return;
        if (cache_dir && version_cache_get(cache_dir, tool->path, st, tool->version))
                return;
        if (ask_version(language, tool) && cache_dir)
                version_cache_put(cache_dir, tool->path, st, tool->version);
}

static bool is_new_enough(const struct language *language, const struct language_tool *tool,
                          char reason[REASON_MAX])
{
        if (!language->minimum_version)
                return true;
        if (!tool->version[0]) {
                (void)snprintf(reason, REASON_MAX, "does not tell its version");
                return false;
        }
        if (version_compare(tool->version, language->minimum_version) < 0) {
                (void)snprintf(reason, REASON_MAX, "version %s, at least %s is needed",
                               tool->version, language->minimum_version);
                return false;
        }
        return true;
}

/* ---- one path ---- */

/* Why what is at `path` cannot be run, or NULL; then `real` is its real path. Nothing to say about
 * what is absent: the reason is empty. */
static const char *look_at(const char *path, bool is_private, const char *cache_dir,
                           char real[PATH_MAX], struct stat *ret_st)
{
        char target[PATH_MAX];

        if (access(path, F_OK) < 0)
                return errno == ENOENT || errno == ENOTDIR ? "" : strerror(errno);
        if (shim_resolve(path, cache_dir, target)) {
                if (!target[0])
                        return "its version manager has chosen none";
                path = target;
                is_private = true;
        }
        if (!realpath(path, real))
                return errno == ENOENT || errno == ENOTDIR ? "" : strerror(errno);
        return tool_refuse(real, is_private, ret_st);
}

/* Fills `tool` when the file is usable; else `reason`, or nothing where it is absent. */
static bool try_path(const struct language *language, const char *path, bool is_private,
                     const char *cache_dir, struct language_tool *tool, char reason[REASON_MAX])
{
        const char *why;
        struct stat st;

        _Static_assert(sizeof(tool->path) >= PATH_MAX, "realpath() needs the room");
        why = look_at(path, is_private, cache_dir, tool->path, &st);
        if (why) {
                (void)snprintf(reason, REASON_MAX, "%s", why);
                return false;
        }
        find_version(language, cache_dir, &st, tool);
        return is_new_enough(language, tool, reason);
}

/* ---- all of them ---- */

/* What no candidate gave may stand in the caller's PATH, where other people's programs stand too:
 * hence it comes last. */
static bool try_search_path(const struct language *language, const char *cache_dir,
                            struct language_tool *tool)
{
        char path[PATH_MAX], reason[REASON_MAX];

        for (const char *const *candidate = language->candidates; *candidate; candidate++)
                for (size_t i = 0; candidate_in_path(*candidate, i, path); i++)
                        if (try_path(language, path, true, cache_dir, tool, reason))
                                return true;
        return false;
}

/* The real path of what runs the tool. Its version is the tool's business. */
static bool find_runtime(const struct language *language, const char *cache_dir,
                         char runtime[PATH_MAX])
{
        char path[PATH_MAX];
        struct stat st;

        for (const char *const *candidate = language->runtime; *candidate; candidate++)
                if (candidate_expand(*candidate, path) &&
                    !look_at(path, (*candidate)[0] == '~', cache_dir, runtime, &st))
                        return true;
        for (const char *const *candidate = language->runtime; *candidate; candidate++)
                for (size_t i = 0; candidate_in_path(*candidate, i, path); i++)
                        if (!look_at(path, true, cache_dir, runtime, &st))
                                return true;
        runtime[0] = '\0';
        return !language->runtime[0];
}

/* To ask a tool for its version takes two pipes and more. */
static bool descriptors_are_out(void)
{
        int fds[6], count = 0;
        bool are_out;

        while (count < 6 && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
                count++;
        are_out = count < 6 && (errno == EMFILE || errno == ENFILE);
        while (count > 0)
                fd_close(fds[--count]);
        return are_out;
}

static int missing(const struct language *language, const char *why, struct error *err)
{
        if (descriptors_are_out()) {
                int r = error_set(err, SBX_ESYSTEM,
                                  "language '%s': too few descriptors to look for it",
                                  language->name);

                error_hint(err, "allow more open files: ulimit -n 256");
                return r;
        }
        error_set(err, SBX_ELANGUAGE, "language '%s' is not installed%s", language->name, why);
        if (language->install)
                error_hint(err, "%s", language->install);
        return SBX_ELANGUAGE;
}

int language_find(const struct language *language, const char *cache_dir,
                  struct language_tool *ret_tool, struct error *err)
{
        struct language_tool tool;
        char why[ERROR_MESSAGE_MAX / 2] = "";
        char path[PATH_MAX], shown[256];

        tool.path[0] = tool.runtime[0] = tool.version[0] = '\0';
        if (!language->candidates[0]) {
                *ret_tool = tool;
                return 0;
        }
        if (!find_runtime(language, cache_dir, tool.runtime)) {
                (void)snprintf(why, sizeof(why), " ('%s' is missing)",
                               strrchr(language->runtime[0], '/') + 1);
                return missing(language, why, err);
        }
        for (const char *const *candidate = language->candidates; *candidate; candidate++) {
                char reason[REASON_MAX] = "";

                if (candidate_expand(*candidate, path) &&
                    try_path(language, path, (*candidate)[0] == '~', cache_dir, &tool, reason)) {
                        memcpy(ret_tool, &tool, sizeof(tool));
                        return 0;
                }
                if (reason[0] && !why[0]) /* the first is the best one, so its reason is told */
                        (void)snprintf(why, sizeof(why), " ('%s': %s)",
                                       str_printable(*candidate, shown, sizeof(shown)), reason);
        }
        if (!try_search_path(language, cache_dir, &tool))
                return missing(language, why, err);
        memcpy(ret_tool, &tool, sizeof(tool));
        return 0;
}
