#include "base/bundle.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

void bundle_init(struct bundle *bundle)
{
        *bundle = (struct bundle){ .fd = -1 };
}

void bundle_done(struct bundle *bundle)
{
        for (size_t i = 0; i < bundle->count; i++)
                mem_free(bundle->files[i].path);
        mem_free(bundle->files);
        fd_close(bundle->fd);
        bundle_init(bundle);
}

static const char *refuse_part(const char *part, size_t length)
{
        if (length == 0)
                return "has an empty part";
        if (length == 1 && part[0] == '.')
                return "has the part '.'";
        if (length == 2 && part[0] == '.' && part[1] == '.')
                return "leaves its folder";
        if (length > 255)
                return "has a name longer than 255 bytes";
        return NULL;
}

const char *bundle_refuse_path(const char *path)
{
        size_t length = strlen(path), depth = 0;

        if (length == 0)
                return "is empty";
        if (length > BUNDLE_PATH_MAX)
                return "is too long";
        if (path[0] == '/')
                return "is not relative";
        for (const char *part = path;; depth++) {
                size_t n = strcspn(part, "/");
                const char *why = refuse_part(part, n);

                if (why)
                        return why;
                if (!part[n])
                        break;
                part += n + 1;
        }
        for (const char *c = path; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return "holds a control character";
        return depth > BUNDLE_DEPTH_MAX ? "is too deep" : NULL;
}

/* Room for one more file of `length` bytes; opens the memory file with the first. */
static int make_room(struct bundle *bundle, const char *path, uint64_t length, struct error *err)
{
        const char *why = bundle_refuse_path(path);
        char shown[256];

        if (why)
                return error_set(err, SBX_EINVAL, "the path '%s' %s",
                                 str_printable(path, shown, sizeof(shown)), why);
        if (bundle->count >= BUNDLE_FILES_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d files", BUNDLE_FILES_MAX);
        if (length > BUNDLE_BYTES_MAX - bundle->bytes)
                return error_set(err, SBX_ETOOBIG, "files of more than %d MiB together",
                                 BUNDLE_BYTES_MAX >> 20);
        if (MEM_GROW(bundle->files, bundle->count, bundle->capacity) < 0)
                return error_set_nomem(err);
        if (bundle->fd < 0)
                bundle->fd = memfd_create("bundle", MFD_CLOEXEC);
        return bundle->fd < 0 ? error_set_errno(err, "make a memory file") : 0;
}

static int keep(struct bundle *bundle, const char *path, uint32_t mode, uint64_t length,
                struct error *err)
{
        char *copy = mem_strdup(path);

        if (!copy)
                return error_set_nomem(err);
        bundle->files[bundle->count++] = (struct bundle_file){ copy, mode, bundle->bytes, length };
        bundle->bytes += length;
        return 0;
}

int bundle_add(struct bundle *bundle, const char *path, uint32_t mode, const void *data,
               size_t length, struct error *err)
{
        int r = make_room(bundle, path, length, err);

        if (r < 0)
                return r;
        /* What an earlier failure left behind is written over. */
        if (lseek(bundle->fd, (off_t)bundle->bytes, SEEK_SET) < 0 ||
            fd_write_all(bundle->fd, data, length) < 0)
                return error_set_errno(err, "keep '%s'", path);
        return keep(bundle, path, mode, length, err);
}

int bundle_add_fd(struct bundle *bundle, const char *path, uint32_t mode, int fd, struct error *err)
{
        char shown[256];
        struct stat st;
        off_t offset = 0;
        int r;

        str_printable(path, shown, sizeof(shown));
        if (fstat(fd, &st) < 0)
                return error_set_errno(err, "examine '%s'", shown);
        if (!S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "'%s' is not a regular file", shown);
        r = make_room(bundle, path, (uint64_t)st.st_size, err);
        if (r < 0)
                return r;
        if (lseek(bundle->fd, (off_t)bundle->bytes, SEEK_SET) < 0)
                return error_set_errno(err, "keep '%s'", shown);
        while (offset < st.st_size) {
                ssize_t n = sendfile(bundle->fd, fd, &offset, (size_t)(st.st_size - offset));

                if (n < 0 && errno != EINTR)
                        return error_set_errno(err, "read '%s'", shown);
                if (n == 0)
                        return error_set(err, SBX_EINVAL, "'%s' became shorter while it was read",
                                         shown);
        }
        return keep(bundle, path, mode, (uint64_t)st.st_size, err);
}

static int by_path(const void *a, const void *b)
{
        return strcmp(((const struct bundle_file *)a)->path, ((const struct bundle_file *)b)->path);
}

const struct bundle_file *bundle_find(const struct bundle *bundle, const char *path)
{
        for (size_t i = 0; i < bundle->count; i++)
                if (strcmp(bundle->files[i].path, path) == 0)
                        return &bundle->files[i];
        return NULL;
}

/* Whether a folder of `path` is the path of a file: "a/b" beside "a". */
static bool stands_in_a_file(const struct bundle *bundle, const char *path)
{
        char folder[BUNDLE_PATH_MAX + 1];
        struct bundle_file wanted = { .path = folder };

        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                memcpy(folder, path, (size_t)(slash - path));
                folder[slash - path] = '\0';
                if (bsearch(&wanted, bundle->files, bundle->count, sizeof(wanted), by_path))
                        return true;
        }
        return false;
}

int bundle_settle(struct bundle *bundle, struct error *err)
{
        char shown[256];

        if (bundle->count > 1)
                qsort(bundle->files, bundle->count, sizeof(*bundle->files), by_path);
        for (size_t i = 0; i < bundle->count; i++) {
                const char *path = bundle->files[i].path;

                str_printable(path, shown, sizeof(shown));
                if (i > 0 && strcmp(bundle->files[i - 1].path, path) == 0)
                        return error_set(err, SBX_EINVAL, "the path '%s' is given twice", shown);
                if (stands_in_a_file(bundle, path))
                        return error_set(err, SBX_EINVAL, "the path '%s' lies below a file", shown);
        }
        return 0;
}
