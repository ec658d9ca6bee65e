#include "mcp/workspace.h"
#include "mcp/mcp.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

void workspace_list_done(struct workspace_list *list)
{
        while (list->count > 0)
                mem_free(list->files[--list->count].path);
        mem_free(list->files);
        *list = (struct workspace_list){ 0 };
}

bool workspace_is_path(const char *path)
{
        size_t length = strlen(path);

        if (length == 0 || length > MCP_PATH_MAX || path[0] == '/' || path[length - 1] == '/' ||
            !str_is_utf8(path, length))
                return false;
        while (*path) {
                size_t part = strcspn(path, "/");

                if (part == 0 || part > NAME_MAX || (part == 1 && path[0] == '.') ||
                    (part == 2 && strncmp(path, "..", 2) == 0))
                        return false;
                path += part + (path[part] == '/');
        }
        return true;
}

static int add_file(struct workspace_list *list, const char *path, const struct stat *st)
{
        struct workspace_file *file;

        if (MEM_GROW(list->files, list->count, list->capacity) < 0)
                return -1;
        file = &list->files[list->count];
        *file = (struct workspace_file){
                .path = mem_strdup(path),
                .size = (uint64_t)st->st_size,
                .changed_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
                .inode = st->st_ino,
        };
        if (!file->path)
                return -1;
        list->count++;
        return 0;
}

static int walk(struct workspace_list *list, int folder, const char *prefix, int depth);

/* Names that are no UTF-8 cannot be asked for, and are left out. */
static int visit(struct workspace_list *list, int folder, const char *prefix, const char *name,
                 int depth)
{
        AUTO_STRBUF struct strbuf path = { 0 };
        struct stat st;
        int below;

        strbuf_addf(&path, "%s%s%s", prefix, *prefix ? "/" : "", name);
        if (path.failed)
                return -1;
        if (!workspace_is_path(path.data) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (S_ISREG(st.st_mode)) {
                list->truncated |= list->count >= MCP_FILES_LISTED;
                return list->truncated ? 0 : add_file(list, path.data, &st);
        }
        if (!S_ISDIR(st.st_mode))
                return 0;
        below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return below < 0 ? 0 : walk(list, below, path.data, depth + 1);
}

/* Takes the descriptor. */
static int walk(struct workspace_list *list, int folder, const char *prefix, int depth)
{
        DIR *dir = fdopendir(folder);
        const struct dirent *entry;
        int r = 0;

        if (!dir) {
                fd_close(folder);
                return -1;
        }
        if (depth > MCP_DEPTH_MAX)
                list->truncated = true;
        while (r == 0 && !list->truncated && (entry = readdir(dir)) != NULL)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = visit(list, dirfd(dir), prefix, entry->d_name, depth);
        (void)closedir(dir); /* it was only read */
        return r;
}

static int compare(const void *a, const void *b)
{
        return strcmp(((const struct workspace_file *)a)->path,
                      ((const struct workspace_file *)b)->path);
}

int workspace_list(int folder, struct workspace_list *ret_list, struct error *err)
{
        int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret_list = (struct workspace_list){ 0 };
        if (copy < 0)
                return error_set_errno(err, "open the workspace");
        if (walk(ret_list, copy, "", 0) < 0) {
                workspace_list_done(ret_list);
                return error_set_nomem(err);
        }
        if (ret_list->count > 1)
                qsort(ret_list->files, ret_list->count, sizeof(ret_list->files[0]), compare);
        return 0;
}

uint64_t workspace_bytes(const struct workspace_list *list)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < list->count; i++)
                sum += list->files[i].size;
        return sum;
}

/* The folder that a path's last name is in; `*ret_name` is that name, borrowed from the path. */
static int open_parent(int folder, const char *path, bool make, const char **ret_name,
                       struct error *err)
{
        AUTO_CLOSE int at = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *slash;

        if (!workspace_is_path(path))
                return error_set(err, SBX_EINVAL,
                                 "the path must be relative, without '.', '..' or empty parts");
        while (at >= 0 && (slash = strchr(path, '/')) != NULL) {
                char name[NAME_MAX + 1];
                int next;

                (void)snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
                if (make && mkdirat(at, name, 0755) < 0 && errno != EEXIST)
                        return error_set_errno(err, "make folder '%s'", name);
                next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                fd_close(at);
                at = next;
                path = slash + 1;
        }
        if (at < 0)
                return error_set_errno(err, "open the folder of the file");
        *ret_name = path;
        return fd_take(&at);
}

int workspace_read(int folder, const char *path, size_t max, char **ret_data, size_t *ret_length,
                   uint64_t *ret_size, struct error *err)
{
        const char *name = NULL;
        AUTO_CLOSE int parent = open_parent(folder, path, false, &name, err);
        AUTO_CLOSE int fd = -1;
        AUTO_FREE char *data = NULL;
        struct stat st;
        ssize_t n;

        if (parent < 0)
                return parent;
        fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_set_errno(err, "open '%s'", path);
        if (!S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "'%s' is not a regular file", path);
        if ((uint64_t)st.st_size < max)
                max = (size_t)st.st_size;
        data = mem_alloc(max + 1);
        if (!data)
                return error_set_nomem(err);
        n = fd_read_full(fd, data, max);
        if (n < 0)
                return error_set_errno(err, "read '%s'", path);
        *ret_data = TAKE(data);
        *ret_length = (size_t)n;
        *ret_size = (uint64_t)st.st_size;
        return 0;
}

/* A new file takes the old one's place, so that whatever stood there is not written through. */
int workspace_write(int folder, const char *path, const void *data, size_t length,
                    struct error *err)
{
        static const char temporary[] = ".sandbox-new-file";
        const char *name = NULL;
        AUTO_CLOSE int parent = open_parent(folder, path, true, &name, err);
        AUTO_CLOSE int fd = -1;

        if (parent < 0)
                return parent;
        (void)unlinkat(parent, temporary, 0); /* what a guest may have put there */
        fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd < 0)
                return error_set_errno(err, "make '%s'", path);
        if (fd_write_all(fd, data, length) < 0 || renameat(parent, temporary, parent, name) < 0) {
                int r = error_set_errno(err, "write '%s'", path);

                (void)unlinkat(parent, temporary, 0); /* already failing */
                return r;
        }
        return 0;
}

static const struct {
        const char *ending, *type, *magic; /* what an image of the kind begins with; NULL: a text */
        bool is_image;
} types[] = {
        { ".png", "image/png", "\x89PNG\r\n", true },
        { ".svg", "image/svg+xml", NULL, true },
        { ".jpg", "image/jpeg", "\xff\xd8\xff", true },
        { ".jpeg", "image/jpeg", "\xff\xd8\xff", true },
        { ".gif", "image/gif", "GIF8", true },
        { ".csv", "text/csv", NULL, false },
        { ".html", "text/html", NULL, false },
        { ".json", "application/json", NULL, false },
        { ".md", "text/markdown", NULL, false },
        { ".pdf", "application/pdf", NULL, false },
        { ".txt", "text/plain", NULL, false },
        { ".xml", "application/xml", NULL, false },
};

static bool ends_with(const char *path, const char *ending)
{
        size_t length = strlen(path), tail = strlen(ending);

        return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

const char *workspace_type(const char *path)
{
        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                if (ends_with(path, types[i].ending))
                        return types[i].type;
        return NULL;
}

const char *workspace_image_type(const char *path, const char *data, size_t length)
{
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                const char *magic = types[i].magic;

                if (!types[i].is_image || !ends_with(path, types[i].ending))
                        continue;
                if (!data ||
                    (magic ? length >= strlen(magic) && memcmp(data, magic, strlen(magic)) == 0
                           : str_is_utf8(data, length) && memmem(data, length, "<svg", 4)))
                        return types[i].type;
        }
        return NULL;
}
