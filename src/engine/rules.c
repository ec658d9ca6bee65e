/* Folders of further rules for static analysis: LANGUAGE/NAME.yaml and LANGUAGE/NAME.scm. */
#include "engine/analysis.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { RULES_FILE_MAX = 256 << 10, RULES_FILES_MAX = 256 };

/* The text of a file of a folder; `*ret_text` stays NULL where it is not there and may be so. */
static int read_text(int folder, const char *name, const char *shown, bool may_be_missing,
                     char **ret_text, struct error *err)
{
        AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        AUTO_FREE char *text = NULL;
        size_t length = 0;
        int r;

        if (fd < 0 && errno == ENOENT && may_be_missing)
                return 0;
        if (fd < 0)
                return error_set(err, SBX_EINVAL, "read '%s': %s", shown, strerror(errno));
        r = fd_read_all(fd, RULES_FILE_MAX, shown, &text, &length, err);
        if (r < 0)
                return r;
        if (!str_is_utf8(text, length) || memchr(text, '\0', length))
                return error_set(err, SBX_EINVAL, "read '%s': not a text in UTF-8", shown);
        *ret_text = TAKE(text);
        return 0;
}

static char *joined(const char *a, const char *b, const char *c)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        strbuf_addf(&text, "%s/%s/%s", a, b, c);
        return strbuf_take(&text);
}

static int add_file(struct request_rule_list *list, int folder, const char *path,
                    const char *language, const char *name, struct error *err)
{
        struct request_rules rules = { 0 };
        AUTO_FREE char *stem = mem_strndup(name, strlen(name) - strlen(".yaml"));
        AUTO_STRBUF struct strbuf queries = { 0 };
        int r;

        if (list->count >= RULES_FILES_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d files of rules", RULES_FILES_MAX);
        strbuf_addf(&queries, "%s.scm", stem ? stem : "");
        if (!stem || queries.failed)
                return error_set_nomem(err);
        rules.file = joined(path, language, name);
        rules.name = joined(path, language, stem);
        rules.language = mem_strdup(language);
        r = rules.file ? read_text(folder, name, rules.file, false, &rules.yaml, err)
                       : error_set_nomem(err);
        if (r == 0)
                r = read_text(folder, queries.data, queries.data, true, &rules.queries, err);
        if (r == 0)
                return request_rules_add(list, &rules, err);
        mem_free(rules.file);
        mem_free(rules.name);
        mem_free(rules.language);
        mem_free(rules.yaml);
        mem_free(rules.queries);
        return r;
}

static int compare(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(int fd, struct strlist *names)
{
        int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy < 0 ? NULL : fdopendir(copy);
        const struct dirent *entry;
        int r = 0;

        if (!dir) {
                fd_close(copy);
                return -1;
        }
        while (r == 0 && (entry = readdir(dir)) != NULL)
                if (entry->d_name[0] != '.')
                        r = strlist_add(names, entry->d_name);
        (void)closedir(dir); /* it was only read */
        if (names->count > 1)
                qsort(names->items, names->count, sizeof(names->items[0]), compare);
        return r;
}

/* Calls for each name in the folder, sorted, that does not begin with a dot. */
static int each(int fd, const char *shown,
                int (*visit)(void *context, int folder, const char *name, struct error *err),
                void *context, struct error *err)
{
        struct strlist names = { 0 };
        int r = list_names(fd, &names) < 0 ? error_set_errno(err, "read folder '%s'", shown) : 0;

        for (size_t i = 0; r == 0 && i < names.count; i++)
                r = visit(context, fd, names.items[i], err);
        strlist_done(&names);
        return r;
}

struct place {
        struct request_rule_list *list;
        const char *path;     /* as given */
        const char *language; /* the folder within it */
        bool found;
};

static int visit_file(void *context, int folder, const char *name, struct error *err)
{
        struct place *place = context;

        if (!str_has_suffix(name, ".yaml") || strlen(name) <= strlen(".yaml"))
                return 0;
        place->found = true;
        return add_file(place->list, folder, place->path, place->language, name, err);
}

static int visit_language(void *context, int folder, const char *name, struct error *err)
{
        struct place *place = context;
        AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0)
                return 0; /* a file beside the folders, such as a README */
        place->language = name;
        return each(fd, name, visit_file, place, err);
}

int rules_read_folder(struct request_rule_list *list, const char *folder, struct error *err)
{
        struct place place = { .list = list, .path = folder };
        char shown[256];
        int fd, r;

        str_printable(folder, shown, sizeof(shown));
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return error_set(err, SBX_EINVAL, "open rules folder '%s': %s", shown,
                                 strerror(errno));
        r = each(fd, shown, visit_language, &place, err);
        fd_close(fd);
        if (r == 0 && !place.found)
                r = error_set(err, SBX_EINVAL, "rules folder '%s' has no LANGUAGE/NAME.yaml in it",
                              shown);
        return r;
}
