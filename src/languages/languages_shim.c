/*
 * Version managers put programs of their own into PATH that start the one that was chosen: a script
 * (pyenv, rbenv, asdf) or a proxy (rustup, volta). Inside a sandbox such a shim finds nothing of
 * its manager, so that it is resolved to the tool it stands for.
 *
 * Theory of operation. The manager, which must be the caller's or root's, is asked `which NAME`,
 * outside of any sandbox like a tool for its version: in the root directory, so that no folder's
 * settings take part, with HOME and nothing else of the caller's environment. Its answer is
 * remembered as long as the file in which it keeps its choice stays the same.
 */
#include "languages/languages_find.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct manager {
        const char *folder;   /* how the path of the folder of its shims ends */
        const char *proxy;    /* a shim is this very file, in the same folder; NULL: any file is */
        const char *program;  /* from that folder */
        const char *settings; /* the file that tells what was chosen, from that folder */
};

static const struct manager managers[] = {
        { "/.cargo/bin", "rustup", "rustup", "../../.rustup/settings.toml" },
        { "/.volta/bin", "volta-shim", "volta", "../tools/user/platform.json" },
        { "/.pyenv/shims", NULL, "../bin/pyenv", "../version" },
        { "/.rbenv/shims", NULL, "../bin/rbenv", "../version" },
        { "/.nodenv/shims", NULL, "../bin/nodenv", "../version" },
        { "/.goenv/shims", NULL, "../bin/goenv", "../version" },
        { "/.plenv/shims", NULL, "../bin/plenv", "../version" },
        { "/.phpenv/shims", NULL, "../bin/phpenv", "../version" },
        { "/.asdf/shims", NULL, "../bin/asdf", "../../.tool-versions" },
};

static bool is_same_file(const char *a, const char *b)
{
        struct stat first, second;

        return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
}

static bool is_in_folder(const char *path, const char *ending)
{
        size_t folder = (size_t)(strrchr(path, '/') - path), length = strlen(ending);

        return folder > length && memcmp(path + folder - length, ending, length) == 0;
}

/* Appends a path from the folder of `path`. */
static bool beside(const char *path, const char *relative, char found[PATH_MAX])
{
        size_t folder = (size_t)(strrchr(path, '/') - path), rest = strlen(relative) + 1;

        if (folder + 1 + rest > PATH_MAX)
                return false;
        memcpy(found, path, folder);
        found[folder] = '/';
        memcpy(found + folder + 1, relative, rest);
        return true;
}

static const struct manager *find_manager(const char *path)
{
        char proxy[PATH_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(managers); i++) {
                const struct manager *manager = &managers[i];

                if (!is_in_folder(path, manager->folder))
                        continue;
                if (!manager->proxy ||
                    (beside(path, manager->proxy, proxy) && is_same_file(path, proxy)))
                        return manager;
        }
        return NULL;
}

/* The first line of the answer that is a path. */
static void take_path(const char *answer, size_t length, char target[PATH_MAX])
{
        const char *end = memchr(answer, '\n', length);
        size_t line = end ? (size_t)(end - answer) : length;

        target[0] = '\0';
        if (line > 1 && line < PATH_MAX && answer[0] == '/' && !memchr(answer, '\0', line)) {
                memcpy(target, answer, line);
                target[line] = '\0';
        }
}

static bool ask(const char *program, const char *name, char target[PATH_MAX])
{
        const char *home_value = secure_getenv("HOME");
        char home[PATH_MAX + 8], answer[VERSION_OUTPUT_MAX];
        const char *const argv[] = { program, "which", name, NULL };
        const char *const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", home, NULL };
        size_t used;
        bool ended;

        target[0] = '\0';
        if (!home_value || snprintf(home, sizeof(home), "HOME=%s", home_value) >= (int)sizeof(home))
                return false;
        ended = tool_ask(argv, environment, VERSION_TIMEOUT_MS, answer, &used);
        take_path(answer, used, target);
        return ended;
}

bool shim_resolve(const char *path, const char *cache_dir, char target[PATH_MAX])
{
        const struct manager *manager = find_manager(path);
        char place[PATH_MAX], program[PATH_MAX], settings[PATH_MAX];
        struct stat st, chosen;

        if (!manager)
                return false;
        target[0] = '\0';
        if (!beside(path, manager->program, place) || !realpath(place, program) ||
            tool_refuse(program, true, &st))
                return true;
        /* Without settings the manager's own file stands for them: it has a choice built in. */
        if (!beside(path, manager->settings, settings) || stat(settings, &chosen) < 0)
                chosen = st;
        if (cache_dir && shim_cache_get(cache_dir, path, &chosen, target) &&
            access(target, X_OK) == 0)
                return true;
        if (ask(program, strrchr(path, '/') + 1, target) && target[0] && cache_dir)
                shim_cache_put(cache_dir, path, &chosen, target);
        return true;
}
