/*
 * What tools told, in small files: `versions`, and `shims` with the tools that version managers
 * named. A line of them is `path dev ino size mtime_ns answer`.
 *
 * It stands on the path of every run, so it is read with one read and replaced as a whole by
 * rename. A version decides nothing but its text and whether that is new enough, and a tool that a
 * shim stands for is looked at like any other before it is used; still, a folder or file that
 * somebody else can write is not believed. Whatever goes wrong here only means that the tool is
 * asked again.
 */
#include "languages/languages_find.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_MAX = 16 << 10, CACHE_LINE_MAX = PATH_MAX + 192 };

static const char versions_name[] = "versions", shims_name[] = "shims";

/* The whole file as a string; false where there is none, or none to be trusted. */
static bool read_cache(int folder, const char *name, char content[CACHE_MAX])
{
        AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        ssize_t length;

        if (fd < 0 || !folder_is_own(fd, S_IFREG))
                return false;
        length = read(fd, content, CACHE_MAX);
        if (length < 0 || length == CACHE_MAX) /* grown too large: begun anew */
                return false;
        content[length] = '\0';
        return true;
}

/* All of a line but the version: it names one state of one file. */
static bool make_key(const char *path, const struct stat *st, char key[CACHE_LINE_MAX])
{
        int length = snprintf(key, CACHE_LINE_MAX, "%s %llu %llu %llu %lld%09ld ", path,
                              (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                              (unsigned long long)st->st_size, (long long)st->st_mtim.tv_sec,
                              (long)st->st_mtim.tv_nsec);

        return length > 0 && length < CACHE_LINE_MAX && !strchr(path, '\n');
}

/* Finds what follows the key. */
static bool get(const char *directory, const char *name, const char *path, const struct stat *st,
                char *answer, size_t size)
{
        AUTO_CLOSE int folder = folder_open(directory);
        char content[CACHE_MAX], key[CACHE_LINE_MAX];
        const char *line = content;

        if (folder < 0 || !make_key(path, st, key) || !read_cache(folder, name, content))
                return false;
        while (*line) {
                size_t length = strcspn(line, "\n"), before = strlen(key);

                if (str_has_prefix(line, key)) {
                        if (length == before || length - before >= size)
                                return false;
                        memcpy(answer, line + before, length - before);
                        answer[length - before] = '\0';
                        return true;
                }
                line += length + (line[length] == '\n');
        }
        return false;
}

/* "-" stands for a tool that does not tell its version. */
bool version_cache_get(const char *directory, const char *path, const struct stat *st,
                       char version[VERSION_MAX])
{
        if (!get(directory, versions_name, path, st, version, VERSION_MAX))
                return false;
        if (str_equal(version, "-"))
                version[0] = '\0';
        return version[strspn(version, "0123456789.")] == '\0';
}

bool shim_cache_get(const char *directory, const char *path, const struct stat *st,
                    char target[PATH_MAX])
{
        return get(directory, shims_name, path, st, target, PATH_MAX) && target[0] == '/';
}

/* ---- writing ---- */

/* Keeps the whole lines about other files. */
static void copy_others(struct strbuf *to, const char *content, const char *path)
{
        size_t path_length = strlen(path);

        for (const char *line = content; *line;) {
                size_t length = strcspn(line, "\n");
                bool is_same = strncmp(line, path, path_length) == 0 && line[path_length] == ' ';

                if (line[0] == '/' && line[length] == '\n' && !is_same)
                        strbuf_add(to, line, length + 1);
                line += length + (line[length] == '\n');
        }
}

static void replace_cache(int folder, const char *cache_name, const struct strbuf *content)
{
        char id[CLOCK_ULID_MAX], name[64];
        AUTO_CLOSE int fd = -1;

        if (content->failed || clock_ulid(id) < 0)
                return;
        (void)snprintf(name, sizeof(name), "%s.%s", cache_name, id);
        fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return;
        if (fd_write_all(fd, content->data, content->length) < 0 ||
            renameat(folder, name, folder, cache_name) < 0)
                (void)unlinkat(folder, name, 0);
}

static void put(const char *directory, const char *name, const char *path, const struct stat *st,
                const char *answer)
{
        AUTO_STRBUF struct strbuf content = { 0 };
        AUTO_CLOSE int folder = -1;
        char old[CACHE_MAX], key[CACHE_LINE_MAX];

        if (!make_key(path, st, key))
                return;
        folder_make(directory);
        folder = folder_open(directory);
        if (folder < 0)
                return;
        if (read_cache(folder, name, old))
                copy_others(&content, old, path);
        strbuf_addf(&content, "%s%s\n", key, answer);
        replace_cache(folder, name, &content);
}

void version_cache_put(const char *directory, const char *path, const struct stat *st,
                       const char *version)
{
        put(directory, versions_name, path, st, *version ? version : "-");
}

void shim_cache_put(const char *directory, const char *path, const struct stat *st,
                    const char *target)
{
        if (!strchr(target, '\n'))
                put(directory, shims_name, path, st, target);
}
