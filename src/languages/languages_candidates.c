/* Where a candidate of a language file leads: the caller's home, the highest version, $PATH. */
#include "languages/languages_find.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the '*' of `pattern` stands for in `name`, or NULL. It stands for digits and dots alone: a
 * 'python3*' must not mean python3-config. */
static const char *match_star(const char *name, const char *pattern, size_t pattern_length,
                              char version[VERSION_MAX])
{
        size_t before = strcspn(pattern, "*"), after = pattern_length - before - 1;
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

/* Replaces the part with the '*' by the one of the highest version below which the rest is there.
 * False when nothing matches. */
static bool expand_star(const char *candidate, char path[PATH_MAX])
{
        const char *star = strchr(candidate, '*'), *pattern = star;
        char folder[PATH_MAX], found[PATH_MAX], best[VERSION_MAX] = "", version[VERSION_MAX];
        size_t length = strcspn(star, "/");
        struct dirent *entry;
        DIR *dir;

        while (pattern[-1] != '/') {
                pattern--;
                length++;
        }
        if (snprintf(folder, sizeof(folder), "%.*s", (int)(pattern - candidate), candidate) >=
            PATH_MAX)
                return false;
        dir = opendir(folder);
        if (!dir)
                return false;
        while ((entry = readdir(dir))) {
                if (!match_star(entry->d_name, pattern, length, version) ||
                    (best[0] && version_compare(version, best) <= 0) ||
                    snprintf(found, sizeof(found), "%s%s%s", folder, entry->d_name,
                             pattern + length) >= PATH_MAX ||
                    access(found, F_OK) < 0)
                        continue;
                (void)snprintf(best, sizeof(best), "%s", version);
                (void)snprintf(path, PATH_MAX, "%s", found);
        }
        (void)closedir(dir);
        return best[0] != '\0';
}

bool candidate_expand(const char *candidate, char path[PATH_MAX])
{
        const char *home = secure_getenv("HOME");
        char absolute[PATH_MAX];

        if (candidate[0] == '~') {
                if (!home || home[0] != '/' || strchr(home, '*') ||
                    snprintf(absolute, sizeof(absolute), "%s%s", home, candidate + 1) >= PATH_MAX)
                        return false;
                candidate = absolute;
        }
        if (strchr(candidate, '*'))
                return expand_star(candidate, path);
        return snprintf(path, PATH_MAX, "%s", candidate) < PATH_MAX;
}

bool candidate_in_path(const char *candidate, size_t index, char path[PATH_MAX])
{
        const char *base = strrchr(candidate, '/') + 1;
        const char *at = secure_getenv("PATH");

        if (!at || strchr(base, '*'))
                return false;
        for (; *at; at += *at == ':') {
                size_t length = strcspn(at, ":");
                const char *folder = at;

                at += length;
                /* A folder that depends on where we are is not meant for us. */
                if (folder[0] != '/' ||
                    snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folder, base) >= PATH_MAX ||
                    access(path, X_OK) < 0)
                        continue;
                if (index-- == 0)
                        return true;
        }
        return false;
}
