#include "api/api.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LANGUAGE_FILE_MAX = 256 << 10, LANGUAGE_FILES_MAX = 256 };

static int add_language_file(struct engine *engine, int dir, const char *folder, const char *name,
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
        return r < 0 ? r : languages_add_yaml(engine->languages, text, length, path.data, err);
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

static int add_languages(struct engine *engine, const char *folder, struct error *err)
{
        AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent **entries = NULL;
        int count, r = 0;

        if (dir < 0)
                return error_set_errno(err, "open languages folder '%s'", folder);
        count = scandir(folder, &entries, is_language_file, by_name);
        if (count < 0)
                return error_set_errno(err, "read languages folder '%s'", folder);
        for (int i = 0; i < count; i++) {
                if (r == 0 && i < LANGUAGE_FILES_MAX)
                        r = add_language_file(engine, dir, folder, entries[i]->d_name, err);
                free(entries[i]);
        }
        free(entries);
        return r;
}

/* A user's own languages: a folder that is not there is no error. */
static int add_own_languages(struct engine *engine, struct error *err)
{
        const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
        AUTO_STRBUF struct strbuf path = { 0 };

        if (config && config[0] == '/')
                strbuf_addf(&path, "%s/sandbox/languages", config);
        else if (home && home[0] == '/')
                strbuf_addf(&path, "%s/.config/sandbox/languages", home);
        if (path.failed)
                return error_set_nomem(err);
        return path.length && access(path.data, F_OK) == 0 ? add_languages(engine, path.data, err)
                                                           : 0;
}

sbx_engine *sbx_engine_new(const sbx_engine_options *options, sbx_error **err)
{
        sbx_engine_options given = { 0 };
        struct engine_options inner;
        struct error error;
        sbx_engine *engine = mem_alloc(sizeof(*engine));
        int r;

        if (!engine) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
                return NULL;
        }
        /* A caller of an older version knows fewer members, one of a newer version more. */
        if (options)
                memcpy(&given, options,
                       options->size < sizeof(given) ? options->size : sizeof(given));
        inner = (struct engine_options){ .init_path = given.init_path,
                                         .max_runs = given.max_runs,
                                         .early_start = given.early_start };
        engine->untrusted_requests = given.untrusted_requests;
        r = engine_init(&engine->engine, &inner, &error);
        if (r < 0) {
                mem_free(engine);
                (void)api_fail(&error, err);
                return NULL;
        }
        r = add_own_languages(&engine->engine, &error);
        if (r == 0 && given.languages_dir)
                r = add_languages(&engine->engine, given.languages_dir, &error);
        if (r < 0) {
                sbx_engine_free(engine);
                (void)api_fail(&error, err);
                return NULL;
        }
        return engine;
}

void sbx_engine_free(sbx_engine *engine)
{
        if (!engine)
                return;
        engine_done(&engine->engine);
        mem_free(engine);
}

char *sbx_languages_json(sbx_engine *engine, sbx_error **err)
{
        struct error error;
        char *text = engine_languages_json(&engine->engine, &error);

        if (!text)
                (void)api_fail(&error, err);
        return text;
}

char *sbx_doctor_json(sbx_engine *engine, sbx_error **err)
{
        struct error error = { 0 };
        char *text = engine_doctor_json(&engine->engine, &error);

        if (!text)
                (void)api_fail(&error, err);
        return text;
}
