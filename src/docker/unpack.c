#include "docker/pack.h"
#include "base/fd.h"
#include "base/str.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name below the directory, without the archive's own folder; NULL: that folder itself. Sets
 * `ret_is_bad` where it leads elsewhere. */
static const char *inner_name(const char *name, bool *ret_is_bad)
{
        const char *rest;

        *ret_is_bad = !name || name[0] == '/' || strlen(name) >= 4096;
        for (const char *part = name; !*ret_is_bad && part; part = strchr(part, '/')) {
                part += *part == '/';
                *ret_is_bad = strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0');
        }
        if (*ret_is_bad)
                return NULL;
        while (str_has_prefix(name, "./"))
                name += 2;
        rest = strchr(name, '/');
        while (rest && *rest == '/')
                rest++;
        return rest && *rest ? rest : NULL;
}

/* Opens the folder that holds the last part of a name, making what is missing. The folders are all
 * ours, and none is a link. */
static int open_parent(int directory, const char *name, const char **ret_last)
{
        int at = fcntl(directory, F_DUPFD_CLOEXEC, 3);
        const char *slash;

        for (int depth = 0; at >= 0 && (slash = strchr(name, '/')) && slash[1]; depth++) {
                char part[256];
                size_t length = (size_t)(slash - name);
                int next;

                if (length >= sizeof(part) || depth >= PACK_DEPTH_MAX) {
                        fd_close(at);
                        errno = ENAMETOOLONG;
                        return -1;
                }
                memcpy(part, name, length);
                part[length] = '\0';
                if (length > 0)
                        (void)mkdirat(at, part, 0700); /* there already is as good */
                next = openat(at, length > 0 ? part : ".",
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                fd_close(at);
                at = next;
                name = slash + 1;
        }
        *ret_last = name;
        return at;
}

static int too_much(const struct unpack *unpack, struct error *err)
{
        return error_set(err, SBX_ETOOBIG, "what came back is larger than %llu bytes",
                         (unsigned long long)unpack->most);
}

static int copy_data(struct archive *archive, int fd, struct unpack *unpack, struct error *err)
{
        const void *block;
        size_t length;
        int64_t offset;
        int r;

        while ((r = archive_read_data_block(archive, &block, &length, &offset)) == ARCHIVE_OK) {
                if (offset < 0 || (uint64_t)offset > unpack->most || length > unpack->most ||
                    unpack->bytes + length > unpack->most)
                        return too_much(unpack, err);
                unpack->bytes += length;
                for (size_t done = 0; done < length;) {
                        ssize_t n = pwrite(fd, (const char *)block + done, length - done,
                                           (off_t)offset + (off_t)done);

                        if (n < 0 && errno != EINTR)
                                return error_set_errno(err, "keep what came back");
                        done += n > 0 ? (size_t)n : 0;
                }
        }
        return r == ARCHIVE_EOF ? 0 : error_set(err, SBX_EUNAVAILABLE, "what came back is damaged");
}

static int take_file(struct archive *archive, struct archive_entry *entry, int parent,
                     const char *name, struct unpack *unpack, struct error *err)
{
        struct timespec times[2] = {
                { .tv_nsec = UTIME_OMIT },
                { .tv_sec = archive_entry_mtime(entry),
                  .tv_nsec = archive_entry_mtime_nsec(entry) },
        };
        AUTO_CLOSE int fd =
                openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int r;

        if (fd < 0 && (errno == EEXIST || errno == EISDIR)) {
                unpack->left_out++; /* a name twice */
                return 0;
        }
        if (fd < 0)
                return error_set_errno(err, "keep what came back");
        if (archive_entry_size(entry) < 0 || (uint64_t)archive_entry_size(entry) > unpack->most)
                return too_much(unpack, err);
        r = copy_data(archive, fd, unpack, err);
        if (r == 0 && ftruncate(fd, (off_t)archive_entry_size(entry)) < 0)
                r = error_set_errno(err, "keep what came back");
        (void)fchmod(fd, (archive_entry_perm(entry) & 0777) | 0600);
        (void)futimens(fd, times);
        return r;
}

static int take_entry(struct archive *archive, struct archive_entry *entry, int directory,
                      struct unpack *unpack, struct error *err)
{
        bool is_bad;
        const char *name = inner_name(archive_entry_pathname(entry), &is_bad), *last;
        mode_t kind = archive_entry_filetype(entry);
        AUTO_CLOSE int parent = -1;
        size_t length;

        if (is_bad)
                return error_set(err, SBX_EUNAVAILABLE,
                                 "what came back has a name that leads out of the workspace");
        if (!name)
                return 0;
        if (archive_entry_hardlink(entry) || (kind != AE_IFREG && kind != AE_IFDIR)) {
                unpack->left_out++;
                return 0;
        }
        parent = open_parent(directory, name, &last);
        if (parent < 0 && errno == ENAMETOOLONG) {
                unpack->left_out++; /* deeper than is looked into */
                return 0;
        }
        if (parent < 0)
                return error_set_errno(err, "keep what came back");
        length = strcspn(last, "/");
        if (length == 0 || length > 255 || strcmp(last, ".") == 0)
                return 0;
        if (kind == AE_IFDIR) {
                char folder[256];

                memcpy(folder, last, length);
                folder[length] = '\0';
                (void)mkdirat(parent, folder, 0700); /* a file has that name: it stays */
                return 0;
        }
        return take_file(archive, entry, parent, last, unpack, err);
}

int unpack_tree(int archive_fd, int directory, struct unpack *unpack, struct error *err)
{
        struct archive *archive = archive_read_new();
        struct archive_entry *entry;
        unsigned count = 0;
        int r = 0, got = ARCHIVE_EOF;

        if (!archive)
                return error_set_nomem(err);
        unpack->bytes = 0;
        unpack->left_out = 0;
        if (archive_read_support_format_tar(archive) != ARCHIVE_OK ||
            archive_read_open_fd(archive, archive_fd, 64 << 10) != ARCHIVE_OK)
                r = error_set(err, SBX_EUNAVAILABLE, "what came back is damaged");
        /* A warning is of a name that no locale has: names are bytes, and are taken as they are. */
        while (r == 0 && count < PACK_ENTRIES_MAX &&
               ((got = archive_read_next_header(archive, &entry)) == ARCHIVE_OK ||
                got == ARCHIVE_WARN)) {
                count++;
                r = take_entry(archive, entry, directory, unpack, err);
        }
        /* More than so many are nobody's to look at: a list of them ends long before. */
        if (r == 0 && count == PACK_ENTRIES_MAX)
                unpack->left_out++;
        else if (r == 0 && got != ARCHIVE_EOF)
                r = error_set(err, SBX_EUNAVAILABLE, "what came back is damaged");
        (void)archive_read_free(archive);
        return r;
}
