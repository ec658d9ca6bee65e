/* Finding a language's tool on this machine. With a remembered version this is a handful of system
 * calls and no process. */
#include "languages/languages.h"
#include "languages/languages_find.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASON_MAX = 256 };

/* ---- a '*' in a candidate ---- */

/* What the '*' of `pattern` stands for in `name`, or NULL. It stands for digits and dots alone: a
 * 'python3*' must not mean python3-config. */
static const char *match_star(const char *name, const char *pattern, char version[VERSION_MAX])
{
        size_t before = strcspn(pattern, "*"), after = strlen(pattern) - before - 1;
        size_t length = strlen(name), middle;

        if (length < before + after + 1 || memcmp(name, pattern, before) != 0 ||
            memcmp(name + length - after, pattern + before + 1, after) != 0)
                return NULL;
        middle = length - before - after;
        if (middle >= VERSION_MAX || strspn(name + before, "0123456789.") < middle ||
            !isdigit((unsigned char)name[before]))
                return NULL;
        memcpy(version, name + before, middle);
        version[middle] = '\0';
        return version;
}

/* Replaces the pattern by the path of the highest version. False when nothing matches. */
static bool expand_star(const char *candidate, char path[PATH_MAX])
{
        const char *pattern = strrchr(candidate, '/') + 1;
        int folder_length = (int)(pattern - candidate);
        char folder[PATH_MAX], best[VERSION_MAX] = "", version[VERSION_MAX];
        struct dirent *entry;
        DIR *dir;

        if ((size_t)snprintf(folder, sizeof(folder), "%.*s", folder_length, candidate) >=
            sizeof(folder))
                return false;
        dir = opendir(folder);
        if (!dir)
                return false;
        while ((entry = readdir(dir)))
                if (match_star(entry->d_name, pattern, version) &&
                    (!best[0] || version_compare(version, best) > 0) &&
                    snprintf(path, PATH_MAX, "%s%s", folder, entry->d_name) < PATH_MAX)
                        (void)snprintf(best, sizeof(best), "%s", version);
        (void)closedir(dir);
        return best[0] != '\0';
}

/* ---- whether a file may be run by us ---- */

/* Whether anybody could have put another file at this real path. `owner` is the file's. */
static bool is_replaceable(const char *path, uid_t owner)
{
        char folder[PATH_MAX];
        char *slash;
        struct stat st;

        (void)snprintf(folder, sizeof(folder), "%s", path);
        while ((slash = strrchr(folder, '/')) && slash != folder) {
                *slash = '\0';
                if (stat(folder, &st) < 0)
                        return true;
                /* In a sticky folder everybody makes files, and nobody replaces another's. */
                if ((st.st_mode & S_IWOTH) && (!(st.st_mode & S_ISVTX) || owner != 0))
                        return true;
        }
        return false;
}

/* Gives the reason why the file is not used, or NULL. */
static const char *refuse_file(const char *path, struct stat *ret_st)
{
        if (stat(path, ret_st) < 0)
                return strerror(errno);
        if (!S_ISREG(ret_st->st_mode))
                return "not a regular file";
        if (access(path, X_OK) < 0)
                return "not executable";
        /* Root would run what any user of the machine has put there. */
        if (geteuid() == 0 && ((ret_st->st_mode & S_IWOTH) || is_replaceable(path, ret_st->st_uid)))
                return "writable by others, which root does not run";
        return NULL;
}

/* ---- the version ---- */

static void find_version(const struct language *language, const char *cache_dir,
                         const struct stat *st, struct language_tool *tool)
{
        tool->version[0] = '\0';
        if (!language->version_arguments[0])
                return;
        if (cache_dir && version_cache_get(cache_dir, tool->path, st, tool->version))
                return;
        if (version_ask(tool->path, language->version_arguments, VERSION_TIMEOUT_MS,
                        tool->version) &&
            cache_dir)
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

/* Fills `tool` when the candidate is usable; else `reason`, or nothing where it is absent. */
static bool try_candidate(const struct language *language, const char *candidate,
                          const char *cache_dir, struct language_tool *tool,
                          char reason[REASON_MAX])
{
        char expanded[PATH_MAX];
        const char *why;
        struct stat st;

        if (strchr(candidate, '*')) {
                if (!expand_star(candidate, expanded))
                        return false;
                candidate = expanded;
        }
        _Static_assert(sizeof(tool->path) >= PATH_MAX, "realpath() needs the room");
        if (!realpath(candidate, tool->path)) {
                if (errno != ENOENT && errno != ENOTDIR)
                        (void)snprintf(reason, REASON_MAX, "%s", strerror(errno));
                return false;
        }
        why = refuse_file(tool->path, &st);
        if (why) {
                (void)snprintf(reason, REASON_MAX, "%s", why);
                return false;
        }
        find_version(language, cache_dir, &st, tool);
        return is_new_enough(language, tool, reason);
}

int language_find(const struct language *language, const char *cache_dir,
                  struct language_tool *ret_tool, struct error *err)
{
        struct language_tool tool;
        char why[ERROR_MESSAGE_MAX / 2] = "";
        char shown[256];

        tool.path[0] = tool.version[0] = '\0';
        if (!language->candidates[0]) {
                *ret_tool = tool;
                return 0;
        }
        for (const char *const *candidate = language->candidates; *candidate; candidate++) {
                char reason[REASON_MAX] = "";

                if (try_candidate(language, *candidate, cache_dir, &tool, reason)) {
                        memcpy(ret_tool, &tool, sizeof(tool));
                        return 0;
                }
                if (reason[0] && !why[0]) /* the first is the best one, so its reason is told */
                        (void)snprintf(why, sizeof(why), " ('%s': %s)",
                                       str_printable(*candidate, shown, sizeof(shown)), reason);
        }
        error_set(err, SBX_ELANGUAGE, "language '%s' is not installed%s", language->name, why);
        if (language->install)
                error_hint(err, "%s", language->install);
        return SBX_ELANGUAGE;
}
