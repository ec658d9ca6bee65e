/*
 * Modules: in some languages a file can know its neighbours as parts of a package, and then must be
 * started by its name. A project that is a package itself gets a link of its folder's name.
 */
#include "engine/passage.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char unnamed[] = "project";

static bool has_file(const struct bundle *sources, const char *folder, size_t length,
                     const char *name)
{
        char path[BUNDLE_PATH_MAX + 1];
        int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, folder, length ? "/" : "",
                         name);

        return n > 0 && (size_t)n < sizeof(path) && bundle_find(sources, path);
}

/* Where the last part of a path begins, and how long what is before it is, without the slash. */
static const char *split(const char *path, size_t *ret_folder)
{
        const char *slash = strrchr(path, '/');

        *ret_folder = slash ? (size_t)(slash - path) : 0;
        return slash ? slash + 1 : path;
}

/* The file of a language that a name stands for: "a.b" is a/b.py, or the start of the package a/b.
 */
static const char *find_file(const struct language *language, const struct bundle *sources,
                             const char *name)
{
        char folder[BUNDLE_PATH_MAX + 1];
        const struct bundle_file *found;
        const char *const forms[] = { language->extensions[0] ? language->extensions[0] : "",
                                      language->project.modules.start };

        if (strlen(name) >= sizeof(folder) || strchr(name, '/'))
                return NULL;
        (void)snprintf(folder, sizeof(folder), "%s", name);
        for (char *dot = folder; (dot = strchr(dot, '.'));)
                *dot = '/';
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                AUTO_STRBUF struct strbuf path = { 0 };

                strbuf_addf(&path, "%s%s%s", folder, i && folder[0] ? "/" : "", forms[i]);
                found = path.failed ? NULL : bundle_find(sources, path.data);
                if (found)
                        return found->path;
        }
        return NULL;
}

/* The name of a project that is a package itself: its folder's, with nothing that separates. */
static void name_project(const struct passage *passage, char name[NAME_MAX + 1])
{
        const char *folder = passage->code->folder;

        (void)snprintf(name, NAME_MAX + 1, "%s", folder ? folder : unnamed);
        for (char *dot = name; (dot = strchr(dot, '.'));)
                *dot = '_';
}

static const char *find_in(const struct passage *passage, const struct language *language,
                           const char *asked)
{
        const struct bundle *sources = &passage->code->sources;
        char project[NAME_MAX + 1];
        const char *found;
        size_t length;

        if (!language->project.modules.package)
                return NULL;
        found = find_file(language, sources, asked);
        if (found || !has_file(sources, "", 0, language->project.modules.package))
                return found;
        name_project(passage, project); /* as one calls it from outside */
        length = strlen(project);
        if (!str_has_prefix(asked, project) || (asked[length] && asked[length] != '.'))
                return NULL;
        return find_file(language, sources, asked + length + (asked[length] == '.'));
}

const char *project_find_module(const struct passage *passage, const char *name)
{
        const struct languages *set = passage->engine->languages;
        const char *wanted = passage->code->language, *found = NULL;

        if (wanted) {
                const struct language *language = languages_by_name(set, wanted);

                return language ? find_in(passage, language, name) : NULL;
        }
        for (size_t i = 0; i < languages_count(set) && !found; i++)
                found = find_in(passage, languages_at(set, i), name);
        return found;
}

/* A folder whose name has a dot in it is no part of a module's name. */
static bool can_be_named(const char *path)
{
        size_t folder;

        (void)split(path, &folder);
        return !memchr(path, '.', folder);
}

int project_name_module(struct passage *passage, struct error *err)
{
        const struct language_modules *modules = &passage->language->project.modules;
        const struct bundle *sources = &passage->code->sources;
        const char *asked = passage->code->entry, *entry = passage->entry, *last;
        bool is_within, is_start, by_name;
        AUTO_STRBUF struct strbuf name = { 0 };
        char project[NAME_MAX + 1];
        size_t folder;

        if (!modules->package || !entry[0])
                return 0;
        last = split(entry, &folder);
        by_name = asked && !str_equal(asked, entry) && !strchr(asked, '/');
        is_start = str_equal(last, modules->start);
        is_within = has_file(sources, "", 0, modules->package);
        if ((!by_name && !(is_start && has_file(sources, entry, folder, modules->package))) ||
            !can_be_named(entry))
                return 0; /* a script */
        if (is_within) {
                name_project(passage, project);
                strbuf_adds(&name, project);
        }
        for (const char *part = entry; part < (is_start ? last : last + strlen(last));) {
                size_t length = strcspn(part, "/.");

                strbuf_addf(&name, "%s%.*s", name.length ? "." : "", (int)length, part);
                part += length;
                part += *part == '/' ? 1 : strlen(part);
        }
        if (name.failed)
                return error_set_nomem(err);
        if (!name.length)
                return 0; /* the start of a folder that is no package */
        passage->module = mem_strdup(name.data);
        if (!passage->module)
                return error_set_nomem(err);
        passage->is_package = is_within;
        return 0;
}

int project_link_package(struct passage *passage, struct error *err)
{
        const char *target = passage->workspace ? "." : "../workspace";
        char name[NAME_MAX + 1];

        if (!passage->is_package)
                return 0;
        name_project(passage, name);
        return bundle_add(&passage->package, name, S_IFLNK | 0777, target, strlen(target), err);
}
