/*
 * Copying and measuring a tree. What is copied was left by a guest that is dead by now, but its
 * names, links and depth are hostile: every step is relative to an open folder and follows nothing.
 */
#include "engine/store.h"
#include "base/fd.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, NAMES_MAX = 1000000 };

/* ---- copying ---- */

struct copier {
        const struct store_bounds *bounds;
        uint64_t bytes, files;
        struct error *err;
};

static int copy_tree(struct copier *copier, int from, int to, unsigned depth);

static int too_large(struct copier *copier)
{
        return error_set(copier->err, SBX_ETOOBIG,
                         "the dependencies are more than %llu MiB or %llu files",
                         (unsigned long long)copier->bounds->bytes >> 20,
                         (unsigned long long)copier->bounds->files);
}

static int copy_file(struct copier *copier, int from, int to, const char *name)
{
        AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        AUTO_CLOSE int target = -1;
        struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { 0 } };
        struct stat st;
        off_t offset = 0;

        if (source < 0 || fstat(source, &st) < 0)
                return error_set_errno(copier->err, "read a dependency's file");
        if (!S_ISREG(st.st_mode))
                return 0;
        if ((uint64_t)st.st_size > copier->bounds->bytes - copier->bytes)
                return too_large(copier);
        copier->bytes += (uint64_t)st.st_size;
        target = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (target < 0)
                return error_set_errno(copier->err, "keep a dependency's file");
        while (offset < st.st_size)
                if (sendfile(target, source, &offset, (size_t)(st.st_size - offset)) <= 0)
                        return error_set_errno(copier->err, "keep a dependency's file");
        /* Compiled Python knows its source by the time of change. */
        times[1] = st.st_mtim;
        if (fchmod(target, st.st_mode & 0111 ? 0755 : 0644) < 0 || futimens(target, times) < 0)
                return error_set_errno(copier->err, "keep a dependency's file");
        return 0;
}

static int copy_link(struct copier *copier, int from, int to, const char *name)
{
        char target[PATH_MAX];
        ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

        if (n < 0)
                return error_set_errno(copier->err, "read a dependency's link");
        target[n] = '\0';
        if (symlinkat(target, to, name) < 0)
                return error_set_errno(copier->err, "keep a dependency's link");
        return 0;
}

static int copy_folder(struct copier *copier, int from, int to, const char *name, unsigned depth)
{
        AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_CLOSE int target = -1;

        if (source < 0 || mkdirat(to, name, 0755) < 0)
                return error_set_errno(copier->err, "keep a dependency's folder");
        target = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (target < 0 || fchmod(target, 0755) < 0) /* whatever the umask is */
                return error_set_errno(copier->err, "keep a dependency's folder");
        return copy_tree(copier, source, target, depth + 1);
}

static int copy_entry(struct copier *copier, int from, int to, const char *name, unsigned depth)
{
        struct stat st;

        if (copier->files == copier->bounds->files || depth == DEPTH_MAX)
                return too_large(copier);
        copier->files++;
        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return error_set_errno(copier->err, "read the dependencies");
        if (S_ISREG(st.st_mode))
                return copy_file(copier, from, to, name);
        if (S_ISLNK(st.st_mode))
                return copy_link(copier, from, to, name);
        return S_ISDIR(st.st_mode) ? copy_folder(copier, from, to, name, depth) : 0;
}

static int copy_tree(struct copier *copier, int from, int to, unsigned depth)
{
        int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = again < 0 ? NULL : fdopendir(again);
        const struct dirent *entry;
        int r = 0;

        if (!folder) {
                fd_close(again);
                return error_set_errno(copier->err, "read the dependencies");
        }
        while (r == 0 && (entry = readdir(folder)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = copy_entry(copier, from, to, entry->d_name, depth);
        (void)closedir(folder);
        return r;
}

int store_copy(int from, int to, const struct store_bounds *bounds, struct error *err)
{
        struct copier copier = { .bounds = bounds, .err = err };

        return copy_tree(&copier, from, to, 0);
}

/* ---- measuring ---- */

struct measurer {
        struct hash hash;
        uint64_t bytes;
};

static int measure_tree(struct measurer *measurer, int tree, unsigned depth);

static int compare_names(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of a folder, sorted: the order in which they are found means nothing. */
static int list_names(int tree, struct strlist *ret_names)
{
        int again = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = again < 0 ? NULL : fdopendir(again);
        const struct dirent *entry;
        int r = 0;

        if (!folder) {
                fd_close(again);
                return -1;
        }
        while (r == 0 && (entry = readdir(folder)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = ret_names->count == NAMES_MAX ? -1
                                                          : strlist_add(ret_names, entry->d_name);
        (void)closedir(folder);
        if (r == 0 && ret_names->count > 0)
                qsort(ret_names->items, ret_names->count, sizeof(char *), compare_names);
        return r;
}

static int measure_entry(struct measurer *measurer, int tree, const char *name, unsigned depth)
{
        AUTO_CLOSE int below = -1;
        struct stat st;
        int64_t facts[7];

        if (depth == DEPTH_MAX || fstatat(tree, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -1;
        facts[0] = st.st_mode;
        facts[1] = S_ISDIR(st.st_mode) ? 0 : st.st_size;
        facts[2] = st.st_mtim.tv_sec;
        facts[3] = st.st_mtim.tv_nsec;
        facts[4] = st.st_ctim.tv_sec; /* nobody but the kernel sets this one */
        facts[5] = st.st_ctim.tv_nsec;
        facts[6] = (int64_t)st.st_ino;
        hash_update_text(&measurer->hash, name);
        hash_update(&measurer->hash, facts, sizeof(facts));
        measurer->bytes += (uint64_t)st.st_blocks * 512;
        if (!S_ISDIR(st.st_mode))
                return 0;
        below = openat(tree, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return below < 0 ? -1 : measure_tree(measurer, below, depth + 1);
}

static int measure_tree(struct measurer *measurer, int tree, unsigned depth)
{
        struct strlist names = { 0 };
        int r = list_names(tree, &names);

        for (size_t i = 0; i < names.count && r == 0; i++)
                r = measure_entry(measurer, tree, names.items[i], depth);
        hash_update_text(&measurer->hash, NULL);
        strlist_done(&names);
        return r;
}

int store_measure(int tree, char hash[HASH_TEXT_MAX], uint64_t *ret_bytes)
{
        struct measurer measurer = { 0 };
        int r;

        hash_init(&measurer.hash);
        r = measure_tree(&measurer, tree, 0);
        hash_final(&measurer.hash, hash);
        *ret_bytes = measurer.bytes;
        return r;
}
