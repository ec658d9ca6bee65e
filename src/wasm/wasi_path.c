/*
 * Paths. Each is resolved beneath the directory it is given with (beneath.c), so that neither
 * "..", nor a link, nor a rename in the middle of it leads out. What changes a directory does so by
 * a plain name in a directory that was resolved in that way.
 */
#include "wasm/wasi.h"
#include "wasm/beneath.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        FOLLOW = 1,
        OPEN_CREATE = 1,
        OPEN_DIRECTORY = 2,
        OPEN_EXCLUSIVE = 4,
        OPEN_TRUNCATE = 8,
        FLAG_APPEND = 1,
        FLAG_DSYNC = 2,
        FLAG_SYNC = 16,
        FLAGS_KEPT = FLAG_APPEND,
        MODE_FILE = 0666,
        MODE_DIRECTORY = 0777,
};

#define RIGHT_READ  (UINT64_C(1) << 1 | UINT64_C(1) << 14)
#define RIGHT_WRITE (UINT64_C(1) << 6 | UINT64_C(1) << 8 | UINT64_C(1) << 22)

/* Copies a path out of the module's memory: what is looked at must not change any more. */
static uint32_t take_path(const struct wasi *wasi, union wasm_raw at, union wasm_raw length,
                          char path[WASI_PATH_MAX])
{
        uint32_t n = wasi_u32(length);
        const char *from = wasi_at(wasi, wasi_u32(at), n);

        if (!from)
                return WASI_EFAULT;
        if (n >= WASI_PATH_MAX)
                return WASI_ENAMETOOLONG;
        if (memchr(from, '\0', n))
                return WASI_EINVAL;
        memcpy(path, from, n);
        path[n] = '\0';
        return path[0] ? WASI_OK : WASI_ENOENT;
}

/* The directory of that number and the path; why not. */
static uint32_t take_place(struct wasi *wasi, const union wasm_raw *number,
                           const union wasm_raw *path_at, bool to_write,
                           const struct wasi_file **ret_directory, char path[WASI_PATH_MAX])
{
        const struct wasi_file *directory = wasi_file(wasi, wasi_u32(*number));

        if (!directory)
                return WASI_EBADF;
        if (directory->kind != WASI_DIR && directory->kind != WASI_SHELF)
                return WASI_ENOTDIR;
        *ret_directory = directory;
        if (to_write && !directory->writable)
                return WASI_EROFS;
        return take_path(wasi, path_at[0], path_at[1], path);
}

static int resolve(int directory, const char *path, uint64_t flags)
{
        return beneath_open(directory, path, flags & O_PATH ? flags : flags | O_NOCTTY | O_NONBLOCK,
                            MODE_FILE);
}

/* Resolves the directory that holds the last name of the path. `path` is cut there; the name is
 * one: no slash, no dots. A path that ends in a slash means a directory. */
static uint32_t open_parent(const struct wasi_file *directory, char path[WASI_PATH_MAX],
                            int *ret_fd, const char **ret_name)
{
        size_t length = strlen(path);
        char *slash;

        if (path[0] == '/')
                return WASI_ENOTCAPABLE;
        while (length > 1 && path[length - 1] == '/')
                path[--length] = '\0';
        slash = strrchr(path, '/');
        *ret_name = slash ? slash + 1 : path;
        if (strcmp(*ret_name, ".") == 0 || strcmp(*ret_name, "..") == 0)
                return WASI_EINVAL;
        if (slash)
                *slash = '\0';
        *ret_fd = resolve(directory->fd, slash ? path : ".", O_PATH | O_DIRECTORY);
        return *ret_fd < 0 ? wasi_errno(errno) : WASI_OK;
}

/* ---- opening ---- */

static bool is_library(const char *path)
{
        return strcmp(path, WASI_LIBRARY_NAME) == 0;
}

static uint32_t open_library(struct wasi *wasi, const char *path, struct wasi_file *ret_file)
{
        bool is_shelf = strcmp(path, ".") == 0;

        (void)wasi;
        if (!is_shelf && !is_library(path))
                return WASI_ENOENT;
        *ret_file = (struct wasi_file){ .kind = is_shelf ? WASI_SHELF : WASI_LIBRARY,
                                        .fd = -1,
                                        .readable = !is_shelf };
        return WASI_OK;
}

static uint64_t open_flags(uint32_t follow, uint32_t how, uint32_t fdflags, bool reads, bool writes)
{
        uint64_t flags = writes ? (reads ? O_RDWR : O_WRONLY) : O_RDONLY;

        flags |= (how & OPEN_CREATE ? O_CREAT : 0) | (how & OPEN_EXCLUSIVE ? O_EXCL : 0) |
                 (how & OPEN_TRUNCATE ? O_TRUNC : 0) | (how & OPEN_DIRECTORY ? O_DIRECTORY : 0);
        flags |= (fdflags & FLAG_APPEND ? O_APPEND : 0) | (fdflags & FLAG_DSYNC ? O_DSYNC : 0) |
                 (fdflags & FLAG_SYNC ? O_SYNC : 0);
        return follow & FOLLOW ? flags : flags | O_NOFOLLOW;
}

/* Files and directories alone: no device, pipe or socket that lies in a volume. */
static uint32_t open_host_file(const struct wasi_file *directory, const char *path, uint64_t flags,
                               bool reads, bool writes, struct wasi_file *ret_file)
{
        AUTO_CLOSE int fd = resolve(directory->fd, path, flags);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return wasi_errno(errno);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                return WASI_EPERM;
        if (S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, (int)(flags & O_APPEND)) < 0)
                return wasi_errno(errno); /* without O_NONBLOCK */
        *ret_file = (struct wasi_file){
                .kind = S_ISDIR(st.st_mode) ? WASI_DIR : WASI_FILE,
                .readable = S_ISREG(st.st_mode) && (reads || !writes),
                .writable = S_ISDIR(st.st_mode) ? directory->writable : writes,
        };
        ret_file->fd = fd_take(&fd);
        return WASI_OK;
}

static uint32_t path_open(struct wasi *wasi, const union wasm_raw *in)
{
        uint32_t how = wasi_u32(in[4]), fdflags = wasi_u32(in[7]), error;
        bool reads = (uint64_t)in[5].i64 & RIGHT_READ, writes = (uint64_t)in[5].i64 & RIGHT_WRITE;
        bool changes = how & (OPEN_CREATE | OPEN_TRUNCATE);
        const struct wasi_file *directory;
        struct wasi_file file = { .fd = -1 };
        char path[WASI_PATH_MAX];
        int number;

        error = take_place(wasi, &in[0], &in[2], false, &directory, path);
        if (error)
                return error;
        if (how & OPEN_DIRECTORY) /* a directory is opened to be looked through */
                writes = false;
        if ((changes || writes) && !directory->writable)
                return WASI_EROFS;
        if (how & OPEN_TRUNCATE)
                writes = true;
        error = directory->kind == WASI_SHELF
                        ? open_library(wasi, path, &file)
                        : open_host_file(directory, path,
                                         open_flags(wasi_u32(in[1]), how, fdflags, reads, writes),
                                         reads, writes, &file);
        if (error)
                return error;
        file.fdflags = fdflags & FLAGS_KEPT;
        number = wasi_add(wasi, &file);
        if (number >= 0 && wasi_put32(wasi, wasi_u32(in[8]), (uint32_t)number))
                return WASI_OK;
        if (number >= 0)
                wasi_drop(&wasi->files[number]);
        else
                fd_close(file.fd);
        return number >= 0 ? WASI_EFAULT : WASI_EMFILE;
}

/* ---- looking ---- */

static uint32_t path_filestat_get(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *directory;
        AUTO_CLOSE int fd = -1;
        char path[WASI_PATH_MAX];
        struct stat st;
        uint32_t error = take_place(wasi, &in[0], &in[2], false, &directory, path);

        if (error)
                return error;
        if (directory->kind == WASI_SHELF) {
                if (!is_library(path) && strcmp(path, ".") != 0)
                        return WASI_ENOENT;
                return wasi_put_library_stat(wasi, wasi_u32(in[4]), !is_library(path))
                               ? WASI_OK
                               : WASI_EFAULT;
        }
        fd = resolve(directory->fd, path, wasi_u32(in[1]) & FOLLOW ? O_PATH : O_PATH | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &st) < 0)
                return wasi_errno(errno);
        return wasi_put_stat(wasi, wasi_u32(in[4]), &st) ? WASI_OK : WASI_EFAULT;
}

static uint32_t path_readlink(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *directory;
        AUTO_CLOSE int fd = -1;
        char path[WASI_PATH_MAX], link[WASI_PATH_MAX];
        uint32_t room = wasi_u32(in[4]), n;
        uint32_t error = take_place(wasi, &in[0], &in[1], false, &directory, path);
        void *to = wasi_at(wasi, wasi_u32(in[3]), room);
        ssize_t length;

        if (error)
                return error;
        if (!to)
                return WASI_EFAULT;
        if (directory->kind == WASI_SHELF)
                return WASI_EINVAL;
        fd = resolve(directory->fd, path, O_PATH | O_NOFOLLOW);
        length = fd < 0 ? -1 : readlinkat(fd, "", link, sizeof(link));
        if (length < 0)
                return errno == ENOENT && fd >= 0 ? WASI_EINVAL : wasi_errno(errno);
        n = (uint32_t)length < room ? (uint32_t)length : room;
        memcpy(to, link, n);
        return wasi_put32(wasi, wasi_u32(in[5]), n) ? WASI_OK : WASI_EFAULT;
}

/* ---- changing ---- */

static uint32_t path_filestat_set_times(struct wasi *wasi, const union wasm_raw *in)
{
        const struct wasi_file *directory;
        AUTO_CLOSE int fd = -1;
        char path[WASI_PATH_MAX];
        uint32_t error = take_place(wasi, &in[0], &in[2], true, &directory, path);

        if (error)
                return error;
        fd = resolve(directory->fd, path, wasi_u32(in[1]) & FOLLOW ? O_PATH : O_PATH | O_NOFOLLOW);
        if (fd < 0)
                return wasi_errno(errno);
        return wasi_set_times(fd, (uint64_t)in[4].i64, (uint64_t)in[5].i64, wasi_u32(in[6]));
}

/* The parent and the name of a path that is to be changed. */
static uint32_t take_target(struct wasi *wasi, const union wasm_raw *number,
                            const union wasm_raw *path_at, char path[WASI_PATH_MAX], int *ret_fd,
                            const char **ret_name)
{
        const struct wasi_file *directory;
        uint32_t error = take_place(wasi, number, path_at, true, &directory, path);

        return error ? error : open_parent(directory, path, ret_fd, ret_name);
}

static uint32_t path_create_directory(struct wasi *wasi, const union wasm_raw *in)
{
        AUTO_CLOSE int parent = -1;
        char path[WASI_PATH_MAX];
        const char *name;
        uint32_t error = take_target(wasi, &in[0], &in[1], path, &parent, &name);

        if (error)
                return error;
        return mkdirat(parent, name, MODE_DIRECTORY) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t remove_name(struct wasi *wasi, const union wasm_raw *in, int flags)
{
        AUTO_CLOSE int parent = -1;
        char path[WASI_PATH_MAX];
        const char *name;
        uint32_t error = take_target(wasi, &in[0], &in[1], path, &parent, &name);

        if (error)
                return error;
        return unlinkat(parent, name, flags) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t path_unlink_file(struct wasi *wasi, const union wasm_raw *in)
{
        return remove_name(wasi, in, 0);
}

static uint32_t path_remove_directory(struct wasi *wasi, const union wasm_raw *in)
{
        return remove_name(wasi, in, AT_REMOVEDIR);
}

typedef int change_two(int from, const char *old_name, int to, const char *new_name);

static int link_plain(int from, const char *old_name, int to, const char *new_name)
{
        return linkat(from, old_name, to, new_name, 0);
}

static uint32_t change(struct wasi *wasi, const union wasm_raw *old_in,
                       const union wasm_raw *old_path, const union wasm_raw *new_in,
                       change_two *way)
{
        AUTO_CLOSE int from = -1, to = -1;
        char old_text[WASI_PATH_MAX], new_text[WASI_PATH_MAX];
        const char *old_name, *new_name;
        uint32_t error = take_target(wasi, old_in, old_path, old_text, &from, &old_name);

        if (!error)
                error = take_target(wasi, new_in, new_in + 1, new_text, &to, &new_name);
        if (error)
                return error;
        return way(from, old_name, to, new_name) < 0 ? wasi_errno(errno) : WASI_OK;
}

static uint32_t path_link(struct wasi *wasi, const union wasm_raw *in)
{
        return change(wasi, &in[0], &in[2], &in[4], link_plain);
}

static uint32_t path_rename(struct wasi *wasi, const union wasm_raw *in)
{
        return change(wasi, &in[0], &in[1], &in[3], renameat);
}

static uint32_t path_symlink(struct wasi *wasi, const union wasm_raw *in)
{
        AUTO_CLOSE int parent = -1;
        char target[WASI_PATH_MAX], path[WASI_PATH_MAX];
        const char *name;
        uint32_t error = take_path(wasi, in[0], in[1], target);

        if (!error)
                error = take_target(wasi, &in[2], &in[3], path, &parent, &name);
        if (error)
                return error;
        /* It would lead nowhere in here, and elsewhere for whoever looks at the files later. */
        if (target[0] == '/')
                return WASI_ENOTCAPABLE;
        return symlinkat(target, parent, name) < 0 ? wasi_errno(errno) : WASI_OK;
}

const struct wasi_function wasi_path_functions[] = {
        { "path_create_directory", "iii", path_create_directory },
        { "path_filestat_get", "iiiii", path_filestat_get },
        { "path_filestat_set_times", "iiiiIIi", path_filestat_set_times },
        { "path_link", "iiiiiii", path_link },
        { "path_open", "iiiiiIIii", path_open },
        { "path_readlink", "iiiiii", path_readlink },
        { "path_remove_directory", "iii", path_remove_directory },
        { "path_rename", "iiiiii", path_rename },
        { "path_symlink", "iiiii", path_symlink },
        { "path_unlink_file", "iii", path_unlink_file },
        { NULL, NULL, NULL },
};
