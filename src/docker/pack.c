#include "docker/pack.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

struct packing {
        struct archive *archive;
        uint32_t owner;
        struct strlist folders; /* those that have an entry */
};

static int failed(struct archive *archive, struct error *err)
{
        const char *why = archive_error_string(archive);

        return error_set(err, SBX_ESYSTEM, "pack files: %.100s", why ? why : "no memory");
}

static int add_header(struct packing *packing, const char *name, mode_t mode, uint64_t size,
                      const char *link, bool is_owned, struct error *err)
{
        struct archive_entry *entry = archive_entry_new();
        int r = 0;

        if (!entry)
                return error_set_nomem(err);
        archive_entry_set_pathname(entry, name);
        archive_entry_set_mode(entry, mode);
        archive_entry_set_size(entry, (int64_t)size);
        archive_entry_set_uid(entry, is_owned ? packing->owner : 0);
        archive_entry_set_gid(entry, is_owned ? packing->owner : 0);
        if (link)
                archive_entry_set_symlink(entry, link);
        if (archive_write_header(packing->archive, entry) != ARCHIVE_OK)
                r = failed(packing->archive, err);
        archive_entry_free(entry);
        return r;
}

/* Every folder on the way belongs to whom the file belongs to. */
static int add_folders(struct packing *packing, const char *name, bool is_owned, struct error *err)
{
        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
                AUTO_FREE char *folder = mem_strndup(name, (size_t)(slash - name));
                bool is_known = false;
                int r;

                for (size_t i = 0; folder && i < packing->folders.count && !is_known; i++)
                        is_known = str_equal(packing->folders.items[i], folder);
                if (is_known)
                        continue;
                if (!folder || strlist_add(&packing->folders, folder) < 0)
                        return error_set_nomem(err);
                r = add_header(packing, folder, S_IFDIR | 0755, 0, NULL, is_owned, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_part(struct packing *packing, int fd, uint64_t offset, uint64_t size,
                    struct error *err)
{
        char chunk[CHUNK];

        while (size > 0) {
                size_t most = size < sizeof(chunk) ? (size_t)size : sizeof(chunk);
                ssize_t n = pread(fd, chunk, most, (off_t)offset);

                if (n <= 0)
                        return n < 0 ? error_set_errno(err, "read a file of the run")
                                     : error_set(err, SBX_ESYSTEM,
                                                 "a file of the run is shorter "
                                                 "than it was");
                if (archive_write_data(packing->archive, chunk, (size_t)n) != n)
                        return failed(packing->archive, err);
                offset += (uint64_t)n;
                size -= (uint64_t)n;
        }
        return 0;
}

static int add_file(struct packing *packing, const struct plan_file *file, const char *name,
                    const int *file_fds, int file_count, struct error *err)
{
        bool is_link = S_ISLNK(file->mode);
        uint64_t size = file->fd_number ? file->size : file->length;
        int r = add_folders(packing, name, file->by_guest, err);

        if (r == 0)
                r = add_header(packing, name, is_link ? file->mode : S_IFREG | (file->mode & 0777),
                               is_link ? 0 : size, is_link ? file->data : NULL, file->by_guest,
                               err);
        if (r < 0 || is_link)
                return r;
        if (!file->fd_number) {
                if (file->length > 0 &&
                    archive_write_data(packing->archive, file->data, file->length) != file->length)
                        return failed(packing->archive, err);
                return 0;
        }
        if (file->fd_number > (uint32_t)file_count)
                return error_set(err, SBX_ESYSTEM, "a file of the run is missing");
        return add_part(packing, file_fds[file->fd_number - 1], file->offset, size, err);
}

static int open_packing(struct packing *packing, int fd, struct error *err)
{
        packing->archive = archive_write_new();
        if (!packing->archive)
                return error_set_nomem(err);
        /* Names are bytes, of no locale. */
        if (archive_write_set_format_pax_restricted(packing->archive) != ARCHIVE_OK ||
            archive_write_set_format_option(packing->archive, "pax", "hdrcharset", "BINARY") !=
                    ARCHIVE_OK ||
            archive_write_open_fd(packing->archive, fd) != ARCHIVE_OK)
                return failed(packing->archive, err);
        return 0;
}

static int close_packing(struct packing *packing, int r, struct error *err)
{
        if (packing->archive) {
                if (archive_write_close(packing->archive) != ARCHIVE_OK && r == 0)
                        r = failed(packing->archive, err);
                (void)archive_write_free(packing->archive);
        }
        strlist_done(&packing->folders);
        return r;
}

int pack_files(const struct plan *plan, const char *place, const int *file_fds, int file_count,
               uint32_t owner, int *ret_fd, struct error *err)
{
        struct packing packing = { .owner = owner };
        size_t length = strlen(place);
        AUTO_CLOSE int fd = memfd_create("files", MFD_CLOEXEC);
        unsigned count = 0;
        int r = fd < 0 ? error_set_errno(err, "make a memory file")
                       : open_packing(&packing, fd, err);

        for (uint32_t i = 0; i < plan->file_count && r == 0; i++) {
                const struct plan_file *file = &plan->files[i];

                if (strncmp(file->path, place, length) != 0 || file->path[length] != '/')
                        continue;
                count++;
                r = add_file(&packing, file, file->path + length + 1, file_fds, file_count, err);
        }
        r = close_packing(&packing, r, err);
        if (r == 0)
                *ret_fd = count ? fd_take(&fd) : -1;
        return r;
}

int pack_program(const char *path, const char *name, int *ret_fd, struct error *err)
{
        struct packing packing = { 0 };
        AUTO_CLOSE int from = open(path, O_RDONLY | O_CLOEXEC);
        AUTO_CLOSE int fd = memfd_create("program", MFD_CLOEXEC);
        struct stat st;
        int r;

        if (from < 0 || fd < 0 || fstat(from, &st) < 0)
                return error_set_errno(err, "read '%s'", path);
        r = open_packing(&packing, fd, err);
        if (r == 0)
                r = add_header(&packing, name, S_IFREG | 0755, (uint64_t)st.st_size, NULL, false,
                               err);
        if (r == 0)
                r = add_part(&packing, from, 0, (uint64_t)st.st_size, err);
        r = close_packing(&packing, r, err);
        if (r == 0)
                *ret_fd = fd_take(&fd);
        return r;
}

int pack_named(int folder, const char *const *names, size_t count, int *ret_fd, struct error *err)
{
        struct packing packing = { 0 };
        AUTO_CLOSE int fd = memfd_create("files", MFD_CLOEXEC);
        int r = fd < 0 ? error_set_errno(err, "make a memory file")
                       : open_packing(&packing, fd, err);

        for (size_t i = 0; i < count && r == 0; i++) {
                AUTO_CLOSE int from = openat(folder, names[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
                struct stat st;

                if (from < 0 || fstat(from, &st) < 0) {
                        r = error_set_errno(err, "read '%s'", names[i]);
                        break;
                }
                r = add_header(&packing, names[i], S_IFREG | 0644, (uint64_t)st.st_size, NULL,
                               false, err);
                if (r == 0)
                        r = add_part(&packing, from, 0, (uint64_t)st.st_size, err);
        }
        r = close_packing(&packing, r, err);
        if (r == 0)
                *ret_fd = fd_take(&fd);
        return r;
}
