/* Projects: which language a set of files is in, and which of them is run. */
#include "engine/passage.h"
#include "base/str.h"

#include <string.h>
#include <unistd.h>

enum { SHOWN_MAX = 256 };

static const char *first_of(const char *const *paths, const struct bundle *sources)
{
        for (; *paths; paths++)
                if (bundle_find(sources, *paths))
                        return *paths;
        return NULL;
}

static bool is_of_language(const struct language *language, const char *path)
{
        for (const char *const *extension = language->extensions; *extension; extension++)
                if (str_has_suffix(path, *extension))
                        return true;
        return false;
}

/* Whether any file of the project's own folder, not of those below it, is of the language. */
static bool has_file_of(const struct language *language, const struct bundle *sources)
{
        for (size_t i = 0; i < sources->count; i++)
                if (!strchr(sources->files[i].path, '/') &&
                    is_of_language(language, sources->files[i].path))
                        return true;
        return false;
}

static bool has_marker(const struct language *language, const struct bundle *sources)
{
        return first_of(language->project.markers, sources) != NULL;
}

static bool has_entry(const struct language *language, const struct bundle *sources)
{
        return first_of(language->project.entries, sources) != NULL;
}

static bool is_over(const struct language *language, const char *other)
{
        for (const char *const *name = language->project.over; *name; name++)
                if (str_equal(*name, other))
                        return true;
        return false;
}

/* A TypeScript project is a Node package too, and is known by its tsconfig.json, or where nothing
 * but TypeScript can be started: the one of two languages that the project is of, or NULL. */
static const struct language *special_of(const struct language *a, const struct language *b,
                                         const struct bundle *sources)
{
        const struct language *special = is_over(a, b->name) ? a : b;
        const struct language *general = special == a ? b : a;

        if (!is_over(special, general->name))
                return NULL;
        return has_marker(special, sources) ||
                               (has_entry(special, sources) && !has_entry(general, sources))
                       ? special
                       : general;
}

/* What lies over the language that was found, if the project is rather of that. */
static const struct language *most_special(const struct languages *set,
                                           const struct language *found,
                                           const struct bundle *sources)
{
        for (size_t i = 0; i < languages_count(set); i++) {
                const struct language *other = languages_at(set, i);

                if (is_over(other, found->name))
                        return special_of(other, found, sources);
        }
        return found;
}

static int unclear(const char *what, struct error *err)
{
        int r = error_set(err, SBX_ELANGUAGE, "cannot tell %s", what);

        error_hint(err, "give the language with --lang and the file to run with --entry");
        return r;
}

/* By what says most: a project file (Cargo.toml), a usual entry (main.py), the files there are. */
static int find_language(struct passage *passage, const struct bundle *sources, struct error *err)
{
        static bool (*const signs[])(const struct language *,
                                     const struct bundle *) = { has_marker, has_entry,
                                                                has_file_of };
        const struct languages *set = passage->engine->languages;

        for (size_t sign = 0; sign < ARRAY_SIZE(signs); sign++) {
                const struct language *found = NULL;
                bool is_clear = true;

                for (size_t i = 0; i < languages_count(set) && is_clear; i++) {
                        const struct language *next = languages_at(set, i);

                        if (!signs[sign](next, sources))
                                continue;
                        found = found ? special_of(found, next, sources) : next;
                        is_clear = found != NULL;
                }
                if (!is_clear)
                        break;
                if (found) {
                        passage->language = most_special(set, found, sources);
                        return 0;
                }
        }
        return unclear("the language of the project", err);
}

/* The first bytes of a file may name its language in a "#!" line. */
static const struct language *detect(const struct passage *passage, const struct bundle *sources,
                                     const struct bundle_file *file)
{
        char first[256];
        size_t wanted = file->length < sizeof(first) ? (size_t)file->length : sizeof(first);
        ssize_t n = pread(sources->fd, first, wanted, (off_t)file->offset);

        return languages_detect(passage->engine->languages, file->path, first,
                                n > 0 ? (size_t)n : 0);
}

static const char *only_file_of(const struct language *language, const struct bundle *sources)
{
        const char *found = NULL;

        for (size_t i = 0; i < sources->count; i++)
                if (is_of_language(language, sources->files[i].path)) {
                        if (found)
                                return NULL;
                        found = sources->files[i].path;
                }
        return found;
}

static int find_entry(struct passage *passage, const struct bundle *sources, struct error *err)
{
        const struct language *language = passage->language;

        if (passage->entry[0])
                return 0; /* asked for */
        passage->entry = first_of(language->project.entries, sources);
        if (!passage->entry)
                passage->entry = only_file_of(language, sources);
        if (passage->entry)
                return 0;
        passage->entry = "";
        /* A tool that builds projects knows the way by itself. */
        if (language->project.compile.command[0] || language->project.run[0])
                return 0;
        return unclear("which file of the project is run", err);
}

/* A path as one writes it from outside, with the name of the project's folder in front. */
static const char *from_outside(const struct passage *passage, const char *asked)
{
        const char *folder = passage->code->folder;
        size_t length = folder ? strlen(folder) : 0;

        if (!length || !str_has_prefix(asked, folder) || asked[length] != '/')
                return NULL;
        asked += length + 1;
        return bundle_find(&passage->code->sources, asked) ? asked : NULL;
}

/* What was asked for: a path, or the name of a module. */
static int take_entry(struct passage *passage, struct error *err)
{
        const char *asked = passage->code->entry;
        char shown[SHOWN_MAX];
        int r;

        if (!asked)
                return 0;
        passage->entry = bundle_find(&passage->code->sources, asked)
                                 ? asked
                                 : project_find_module(passage, asked);
        if (!passage->entry)
                passage->entry = from_outside(passage, asked);
        if (passage->entry)
                return 0;
        passage->entry = "";
        r = error_set(err, SBX_EINVAL, "the project has no file '%s'",
                      str_printable(asked, shown, sizeof(shown)));
        error_hint(err, "the entry is a path inside the project, or the name of a Python module");
        return r;
}

static int list_sources(struct passage *passage, const struct bundle *sources, struct error *err)
{
        for (size_t i = 0; i < sources->count; i++)
                if (is_of_language(passage->language, sources->files[i].path) &&
                    strlist_add(&passage->sources, sources->files[i].path) < 0)
                        return error_set_nomem(err);
        return 0;
}

int project_identify(struct passage *passage, struct error *err)
{
        const struct request *request = passage->code;
        const struct bundle *sources = &request->sources;
        int r = take_entry(passage, err);

        if (r < 0)
                return r;
        if (request->language)
                passage->language =
                        languages_by_name(passage->engine->languages, request->language);
        else if (request->entry)
                passage->language = detect(passage, sources, bundle_find(sources, passage->entry));
        if (!passage->language && request->language)
                return 0; /* unknown: said by the caller */
        if (!passage->language)
                r = find_language(passage, sources, err);
        if (r == 0)
                r = find_entry(passage, sources, err);
        if (r == 0)
                r = project_name_module(passage, err);
        return r < 0 ? r : list_sources(passage, sources, err);
}
