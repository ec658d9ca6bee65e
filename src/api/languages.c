/* Folders of further language files. */
#include "api/api.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LANGUAGE_FILE_MAX = 256 << 10, LANGUAGE_FILES_MAX = 256 };

static int add_language_file(struct languages *set, int dir, const char *folder, const char *name,
                             struct error *err)
{
        AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        AUTO_FREE char *text = NULL;
        AUTO_STRBUF struct strbuf path = { 0 };
        struct stat st;
        size_t length;
        int r;

        strbuf_addf(&path, "%s/%s", folder, name);
        if (path.failed)
                return error_set_nomem(err);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_set_errno(err, "open language file '%s'", path.data);
        if (!S_ISREG(st.st_mode) || (st.st_mode & S_IWOTH))
                return error_set(err, SBX_ELANGUAGE, "language file '%s' is %s", path.data,
                                 S_ISREG(st.st_mode) ? "writable by everybody"
                                                     : "not a regular file");
        r = fd_read_all(fd, LANGUAGE_FILE_MAX, path.data, &text, &length, err);
        return r < 0 ? r : languages_add_yaml(set, text, length, path.data, err);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
        return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_language_file(const struct dirent *entry)
{
        return entry->d_name[0] != '.' &&
               (str_has_suffix(entry->d_name, ".yaml") || str_has_suffix(entry->d_name, ".yml"));
}

int api_languages_add(struct languages *set, const char *folder, struct error *err)
{
        AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent **entries = NULL;
        int count, r = 0;

        if (dir < 0) {
                r = error_set_errno(err, "open languages folder '%s'", folder);
                error_hint(err,
                           "name a folder of language files (NAME.yaml) that this user can read");
                return r;
        }
        count = scandir(folder, &entries, is_language_file, by_name);
        if (count < 0)
                return error_set_errno(err, "read languages folder '%s'", folder);
        for (int i = 0; i < count; i++) {
                if (r == 0 && i < LANGUAGE_FILES_MAX)
                        r = add_language_file(set, dir, folder, entries[i]->d_name, err);
                free(entries[i]);
        }
        free(entries);
        return r;
}

int api_languages_add_own(struct languages *set, struct error *err)
{
        const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
        AUTO_STRBUF struct strbuf path = { 0 };

        if (config && config[0] == '/')
                strbuf_addf(&path, "%s/sandbox/languages", config);
        else if (home && home[0] == '/')
                strbuf_addf(&path, "%s/.config/sandbox/languages", home);
        if (path.failed)
                return error_set_nomem(err);
        return path.length && access(path.data, F_OK) == 0 ? api_languages_add(set, path.data, err)
                                                           : 0;
}
