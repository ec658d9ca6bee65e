/* Files that the guest was given in its workspace: whether they fit, and that they are none of its
 * doing when its changes are told. */
#include "engine/passage.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, GIVEN_INODE = 0 };

int inputs_check(const struct plan_input *input, struct error *err)
{
        uint64_t needed = 0;
        int r;

        for (size_t i = 0; i < input->bundle_count; i++)
                if (str_equal(input->bundles[i].place, "/workspace"))
                        needed += input->bundles[i].bundle->bytes +
                                  (uint64_t)input->bundles[i].bundle->count * PAGE;
        if (needed <= input->limits->disk_bytes)
                return 0;
        r = error_set(err, SBX_ETOOBIG,
                      "files of %llu MiB do not fit into a disk limit of %llu MiB",
                      (unsigned long long)(needed >> 20),
                      (unsigned long long)(input->limits->disk_bytes >> 20));
        error_hint(err, "raise it with --disk, or hand a directory in with --volume");
        return r;
}

/* The bundles that stood in the workspace when the program started. */
static size_t given(const struct passage *passage, const struct bundle *ret_list[2])
{
        const struct request *request = passage->order->request;
        size_t count = 0;

        if (request->inputs.count > 0)
                ret_list[count++] = &request->inputs;
        if (passage->is_project && !passage->workspace)
                ret_list[count++] = &passage->code->sources;
        return count;
}

static int by_path(const void *a, const void *b)
{
        return strcmp(((const struct file_entry *)a)->path, ((const struct file_entry *)b)->path);
}

static struct file_entry *find(const struct file_list *list, const char *path)
{
        struct file_entry wanted = { .path = (char *)path };

        return list->count ? bsearch(&wanted, list->items, list->count, sizeof(wanted), by_path)
                           : NULL;
}

static int note_file(struct file_list *list, const char *path)
{
        char *copy;

        if (MEM_GROW(list->items, list->count, list->capacity) < 0 || !(copy = mem_strdup(path)))
                return -1;
        list->items[list->count++] = (struct file_entry){ .path = copy, .inode = GIVEN_INODE };
        return 0;
}

/* They were there before. */
int inputs_note(struct passage *passage, struct error *err)
{
        struct file_list *before = &passage->files_before;
        const struct bundle *list[2];
        size_t count = given(passage, list), known = before->count;

        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < list[i]->count; j++) {
                        const char *path = list[i]->files[j].path;
                        struct file_list old = { .items = before->items, .count = known };

                        if (find(&old, path) || (i > 0 && bundle_find(list[0], path)))
                                continue;
                        if (note_file(before, path) < 0)
                                return error_set_nomem(err);
                }
        if (before->count > 1)
                qsort(before->items, before->count, sizeof(*before->items), by_path);
        return 0;
}

static bool holds(int fd, const struct bundle *bundle, const struct bundle_file *file)
{
        char a[16384], b[16384];
        uint64_t done = 0;

        while (done < file->length) {
                size_t n =
                        file->length - done < sizeof(a) ? (size_t)(file->length - done) : sizeof(a);

                if (pread(fd, a, n, (off_t)done) != (ssize_t)n ||
                    pread(bundle->fd, b, n, (off_t)(file->offset + done)) != (ssize_t)n ||
                    memcmp(a, b, n) != 0)
                        return false;
                done += n;
        }
        return true;
}

static bool leads_there(int workspace_fd, const struct bundle *bundle,
                        const struct bundle_file *file)
{
        char target[PATH_MAX], given[PATH_MAX];

        return file->length <= sizeof(given) &&
               files_read_link(workspace_fd, file->path, target, sizeof(target)) ==
                       (ssize_t)file->length &&
               pread(bundle->fd, given, file->length, (off_t)file->offset) ==
                       (ssize_t)file->length &&
               memcmp(target, given, file->length) == 0;
}

static bool is_unchanged(int workspace_fd, const struct bundle *bundle,
                         const struct bundle_file *file, const struct file_entry *now)
{
        AUTO_CLOSE int fd = -1;

        if (S_ISLNK(file->mode))
                return leads_there(workspace_fd, bundle, file);
        if (now->size != (off_t)file->length)
                return false;
        fd = files_open(workspace_fd, file->path);
        return fd >= 0 && holds(fd, bundle, file);
}

/* What holds what it was given is as it was before. */
void inputs_forgive(const struct passage *passage, int workspace_fd, struct file_list *after)
{
        const struct bundle *list[2];
        size_t count = given(passage, list);

        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < list[i]->count; j++) {
                        const struct bundle_file *file = &list[i]->files[j];
                        struct file_entry *now = find(after, file->path);
                        const struct file_entry *then = find(&passage->files_before, file->path);
                        char *path;

                        if (!now || !then || !is_unchanged(workspace_fd, list[i], file, now))
                                continue;
                        path = now->path;
                        *now = *then;
                        now->path = path;
                }
}
