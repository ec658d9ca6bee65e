#include "engine/files.h"
#include "base/entries.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "kernel/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES_MAX = 20000, DEPTH_MAX = 64, PATH_BYTES_MAX = 8192 };

static const uint64_t beneath = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS |
                                SYS_RESOLVE_NO_MAGICLINKS | SYS_RESOLVE_NO_XDEV;

static int64_t nanoseconds(struct timespec time)
{
        return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int add_entry(struct file_list *list, const char *path, const struct stat *st)
{
        struct file_entry *entry;

        if (MEM_GROW(list->items, list->count, list->capacity) < 0)
                return -1;
        entry = &list->items[list->count];
        *entry = (struct file_entry){ mem_strdup(path), st->st_ino, st->st_size,
                                      nanoseconds(st->st_ctim), nanoseconds(st->st_mtim) };
        if (!entry->path)
                return -1;
        list->count++;
        return 0;
}

static void strip_privileges(int dirfd, const char *name, const struct stat *st)
{
        AUTO_CLOSE int fd = -1;

        if (!S_ISREG(st->st_mode) || !(st->st_mode & (S_ISUID | S_ISGID)))
                return;
        fd = sys_openat2(dirfd, name, O_RDONLY | O_NONBLOCK, beneath);
        if (fd >= 0)
                (void)fchmod(fd,
                             st->st_mode &
                                     0777); /* not ours to change: then not ours to run either */
}

struct walk {
        struct file_list *list;
        size_t most;
        bool strip;
        char path[PATH_BYTES_MAX];
};

static int walk_directory(struct walk *walk, int dirfd, size_t prefix, int depth);

static int walk_entry(struct walk *walk, int dirfd, const char *name, size_t prefix, int depth)
{
        size_t length = strlen(name);
        struct stat st;

        if (prefix + length + 2 > sizeof(walk->path) || walk->list->count >= walk->most ||
            depth > DEPTH_MAX) {
                walk->list->truncated = true;
                return 0;
        }
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        memcpy(walk->path + prefix, name, length + 1);
        if (S_ISDIR(st.st_mode)) {
                AUTO_CLOSE int below = sys_openat2(dirfd, name, O_RDONLY | O_DIRECTORY, beneath);

                walk->path[prefix + length] = '/';
                return below < 0 ? 0 : walk_directory(walk, below, prefix + length + 1, depth + 1);
        }
        if (walk->strip)
                strip_privileges(dirfd, name, &st);
        return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? add_entry(walk->list, walk->path, &st)
                                                          : 0;
}

static int walk_directory(struct walk *walk, int dirfd, size_t prefix, int depth)
{
        AUTO_CLOSE int dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct entries entries;
        const char *name;
        int r = 0;

        if (dir < 0) {
                walk->list->truncated = true;
                return 0;
        }
        entries_begin(&entries, dir);
        while (r == 0 && (name = entries_next(&entries)))
                r = walk_entry(walk, dirfd, name, prefix, depth);
        return r;
}

static int by_path(const void *a, const void *b)
{
        return strcmp(((const struct file_entry *)a)->path, ((const struct file_entry *)b)->path);
}

static int list_tree(int dirfd, size_t most, bool strip, struct file_list *ret_list,
                     struct error *err)
{
        struct walk walk;

        walk.list = ret_list;
        walk.most = most;
        walk.strip = strip;
        *ret_list = (struct file_list){ 0 };
        if (walk_directory(&walk, dirfd, 0, 0) < 0) {
                files_done(ret_list);
                return error_set_nomem(err);
        }
        if (ret_list->count > 1)
                qsort(ret_list->items, ret_list->count, sizeof(*ret_list->items), by_path);
        return 0;
}

int files_list(int dirfd, bool strip, struct file_list *ret_list, struct error *err)
{
        return list_tree(dirfd, ENTRIES_MAX, strip, ret_list, err);
}

int files_list_most(int dirfd, size_t most, struct file_list *ret_list, struct error *err)
{
        return list_tree(dirfd, most, false, ret_list, err);
}

void files_done(struct file_list *list)
{
        for (size_t i = 0; i < list->count; i++)
                mem_free(list->items[i].path);
        mem_free(list->items);
        *list = (struct file_list){ 0 };
}

static bool differs(const struct file_entry *a, const struct file_entry *b)
{
        return a->inode != b->inode || a->size != b->size || a->modified_ns != b->modified_ns ||
               a->changed_ns != b->changed_ns;
}

static int note(struct result *result, struct strlist *list, const char *path)
{
        if (list->count >= RESULT_FILES_MAX) {
                result->files_truncated = true;
                return 0;
        }
        return strlist_add(list, path);
}

int files_compare(const struct file_list *before, const struct file_list *after,
                  struct result *result, struct error *err)
{
        size_t b = 0, a = 0;
        int r = 0;

        result->files_truncated |= before->truncated || after->truncated;
        while (r == 0 && (b < before->count || a < after->count)) {
                int order = b == before->count ? 1
                            : a == after->count
                                    ? -1
                                    : strcmp(before->items[b].path, after->items[a].path);

                if (order < 0) {
                        r = note(result, &result->deleted, before->items[b++].path);
                } else if (order > 0) {
                        r = note(result, &result->created, after->items[a++].path);
                } else {
                        if (differs(&before->items[b], &after->items[a]))
                                r = note(result, &result->modified, after->items[a].path);
                        a++;
                        b++;
                }
        }
        return r < 0 ? error_set_nomem(err) : 0;
}

int files_open(int dirfd, const char *name)
{
        AUTO_CLOSE int fd = sys_openat2(dirfd, name, O_RDONLY | O_NONBLOCK, beneath);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -1;
        if (!S_ISREG(st.st_mode)) {
                errno = EINVAL;
                return -1;
        }
        return fd_take(&fd);
}

ssize_t files_read_link(int dirfd, const char *path, char *buffer, size_t size)
{
        AUTO_CLOSE int fd = sys_openat2(dirfd, path, O_PATH | O_NOFOLLOW, beneath);

        return fd < 0 ? -1 : readlinkat(fd, "", buffer, size);
}

int files_open_folder(int dirfd, const char *path)
{
        return sys_openat2(dirfd, path, O_RDONLY | O_DIRECTORY, beneath);
}
