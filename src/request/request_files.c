/* Files beside the code: the sources of a project, inputs, and what is collected afterwards. */
#include "request/request.h"
#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int request_add_file(struct bundle *files, const char *path, const void *data, size_t length,
                     struct error *err)
{
        return bundle_add(files, path, 0644, data, length, err);
}

/* The folder's own name stands in front of what it holds; "" is for what has none. */
static int add_folder(struct bundle *files, const char *path, int fd, struct error *err)
{
        static const struct bundle_bounds bounds = { BUNDLE_BYTES_MAX, BUNDLE_FILES_MAX };
        AUTO_STRBUF struct strbuf prefix = { 0 };
        size_t before = files->count;
        int r;

        strbuf_adds(&prefix, path);
        if (*path)
                strbuf_adds(&prefix, "/");
        if (prefix.failed)
                return error_set_nomem(err);
        r = bundle_add_tree(files, fd, prefix.data ? prefix.data : "", &bounds, true, err);
        if (r == 0 && files->count == before)
                return error_set(err, SBX_EINVAL, "the folder holds no files");
        return r;
}

int request_add_file_fd(struct bundle *files, const char *path, int fd, struct error *err)
{
        const char *why = *path ? bundle_refuse_path(path) : NULL;
        char shown[256];
        struct stat st;

        if (why)
                return error_set(err, SBX_EINVAL, "the path '%s' %s",
                                 str_printable(path, shown, sizeof(shown)), why);
        if (fstat(fd, &st) < 0)
                return error_set_errno(err, "descriptor %d of a file", fd);
        if (S_ISDIR(st.st_mode))
                return add_folder(files, path, fd, err);
        return bundle_add_fd(files, path, st.st_mode & 0111 ? 0755 : 0644, fd, err);
}

int request_name_folder(struct request *req, int fd, struct error *err)
{
        char link[64], path[PATH_MAX];
        const char *slash;
        struct stat st;
        ssize_t n;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? readlink(link, path, sizeof(path) - 1)
                                                       : -1;
        if (n <= 0)
                return 0; /* without a name */
        path[n] = '\0';
        slash = strrchr(path, '/');
        if (!slash || !slash[1])
                return 0;
        mem_free(req->folder);
        req->folder = mem_strdup(slash + 1);
        return req->folder ? 0 : error_set_nomem(err);
}

int request_set_entry(struct request *req, const char *path, struct error *err)
{
        const char *why;
        char shown[256];
        char *copy;

        while (path && str_has_prefix(path, "./"))
                path += 2; /* as one types it */
        why = path ? bundle_refuse_path(path) : NULL;
        copy = mem_strdup(path);
        if (why) {
                mem_free(copy);
                return error_set(err, SBX_EINVAL, "the entry '%s' %s",
                                 str_printable(path, shown, sizeof(shown)), why);
        }
        if (path && !copy)
                return error_set_nomem(err);
        mem_free(req->entry);
        req->entry = copy;
        return 0;
}

int request_add_collect(struct request *req, const char *pattern, struct error *err)
{
        size_t length = strnlen(pattern, BUNDLE_PATH_MAX + 1);

        if (length == 0 || length > BUNDLE_PATH_MAX)
                return error_set(err, SBX_EINVAL, "a pattern must have 1 to %d bytes",
                                 BUNDLE_PATH_MAX);
        if (req->collect_patterns.count >= REQUEST_PATTERNS_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d patterns of files to collect",
                                 REQUEST_PATTERNS_MAX);
        return strlist_add(&req->collect_patterns, pattern) < 0 ? error_set_nomem(err) : 0;
}

int request_set_collect_fd(struct request *req, int fd, struct error *err)
{
        AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        struct stat st;

        if (copy < 0 || fstat(copy, &st) < 0)
                return error_set_errno(err, "descriptor %d of the directory to collect to", fd);
        if (!S_ISDIR(st.st_mode))
                return error_set(err, SBX_EINVAL, "files are collected to a directory only");
        fd_close(req->collect_fd);
        req->collect_fd = fd_take(&copy);
        return 0;
}
