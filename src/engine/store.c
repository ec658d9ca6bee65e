#include "engine/store.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char folder_name[] = "deps", tree_name[] = "tree", manifest_name[] = "manifest";
static const char aside[] = "new."; /* being filled, or on its way out */
static const uint64_t store_bytes = UINT64_C(4) << 30;

enum { STORE_ENTRIES = 256, MANIFEST_MAX = 256, MOMENT_SECONDS = 60 };

void store_entry_done(struct store_entry *entry)
{
        fd_close(entry->lock);
        mem_free(entry->path);
        *entry = (struct store_entry){ .lock = -1 };
}

static int open_store(const char *directory, bool make)
{
        AUTO_CLOSE int top = -1;

        if (make)
                folder_make(directory);
        top = folder_open(directory);
        return top < 0 ? -1 : folder_open_below(top, folder_name);
}

static int open_folder(int parent, const char *name)
{
        return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The folder of that name, locked, and still of that name; -1 where there is none. */
static int open_locked(int store, const char *name, int operation)
{
        AUTO_CLOSE int fd = open_folder(store, name);
        struct stat held, named;

        if (fd < 0 || flock(fd, operation) < 0 || fstat(fd, &held) < 0 ||
            fstatat(store, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || held.st_ino != named.st_ino ||
            held.st_dev != named.st_dev || !folder_is_own(fd, S_IFDIR))
                return -1;
        return fd_take(&fd);
}

/* Removes an entry that nobody holds: first its name, so that nobody finds half of it. */
static void remove_entry(const char *directory, int store, const char *name)
{
        AUTO_CLOSE int lock = open_locked(store, name, LOCK_EX | LOCK_NB);
        char id[CLOCK_ULID_MAX], out[64], path[PATH_MAX];

        if (lock < 0 || clock_ulid(id) < 0)
                return;
        (void)snprintf(out, sizeof(out), "%s%s", aside, id);
        if (renameat(store, name, store, out) < 0)
                return;
        (void)snprintf(path, sizeof(path), "%s/%s/%s", directory, folder_name, out);
        (void)tree_remove(path); /* what stays is swept by the next one */
}

/* ---- the manifest: one line ---- */

static bool read_manifest(int entry, char hash[HASH_TEXT_MAX], uint64_t *ret_bytes)
{
        char text[MANIFEST_MAX];
        unsigned long long bytes = 0;

        if (fd_read_file_at(entry, manifest_name, text, sizeof(text)) <= 0 ||
            sscanf(text, "1 %64[0-9a-f] %llu", hash, &bytes) != 2)
                return false;
        *ret_bytes = bytes;
        return true;
}

static int write_manifest(int entry, int tree)
{
        char hash[HASH_TEXT_MAX], text[MANIFEST_MAX];
        AUTO_CLOSE int fd = -1;
        uint64_t bytes = 0;

        if (store_measure(tree, hash, &bytes) < 0)
                return -1;
        (void)snprintf(text, sizeof(text), "1 %s %llu\n", hash, (unsigned long long)bytes);
        fd = openat(entry, manifest_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
        return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

/* Whether the tree is what its manifest says. */
static bool is_whole(int entry)
{
        AUTO_CLOSE int tree = open_folder(entry, tree_name);
        char noted[HASH_TEXT_MAX] = "", found[HASH_TEXT_MAX];
        uint64_t bytes;

        return tree >= 0 && read_manifest(entry, noted, &bytes) &&
               store_measure(tree, found, &bytes) == 0 && strcmp(noted, found) == 0;
}

/* ---- bounds ---- */

struct candidate {
        char name[HASH_TEXT_MAX];
        struct timespec used;
        uint64_t bytes;
};

static int compare_use(const void *a, const void *b)
{
        const struct candidate *x = a, *y = b;

        if (x->used.tv_sec != y->used.tv_sec)
                return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

static void look_at(int store, const char *name, struct candidate *candidate)
{
        AUTO_CLOSE int entry = open_folder(store, name);
        char hash[HASH_TEXT_MAX];
        struct stat st = { 0 };

        *candidate = (struct candidate){ 0 };
        (void)snprintf(candidate->name, sizeof(candidate->name), "%s", name);
        if (entry >= 0 && fstat(entry, &st) == 0)
                candidate->used = st.st_mtim;
        if (entry >= 0)
                (void)read_manifest(entry, hash, &candidate->bytes); /* without one it is nothing */
}

/* One that was made a moment ago may not have been locked yet by who fills it. */
static bool is_old(int store, const char *name)
{
        struct timespec now;
        struct stat st;

        return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
               fstatat(store, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               st.st_ctim.tv_sec + MOMENT_SECONDS < now.tv_sec;
}

/* Removes what dead processes left half done, and the oldest until the rest fits. */
static void trim(const char *directory, int store)
{
        int again = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = again < 0 ? NULL : fdopendir(again);
        AUTO_FREE struct candidate *found = NULL;
        size_t count = 0, capacity = 0;
        const struct dirent *entry;
        uint64_t bytes = 0;

        while (folder && (entry = readdir(folder))) {
                if (str_has_prefix(entry->d_name, aside)) {
                        if (is_old(store, entry->d_name))
                                remove_entry(directory, store, entry->d_name);
                        continue;
                }
                if (strlen(entry->d_name) != HASH_TEXT_MAX - 1 ||
                    MEM_GROW(found, count, capacity) < 0)
                        continue;
                look_at(store, entry->d_name, &found[count]);
                bytes += found[count++].bytes;
        }
        if (folder)
                (void)closedir(folder);
        else
                fd_close(again);
        if (count > 0)
                qsort(found, count, sizeof(*found), compare_use);
        for (size_t i = 0; i < count && (bytes > store_bytes || count - i > STORE_ENTRIES); i++) {
                remove_entry(directory, store, found[i].name);
                bytes -= found[i].bytes;
        }
}

/* ---- */

/* The way to the store may lead through links of the user's own; nothing is mounted through one. */
static char *tree_path(const char *directory, const char *key)
{
        AUTO_STRBUF struct strbuf path = { 0 };

        strbuf_addf(&path, "%s/%s/%s/%s", directory, folder_name, key, tree_name);
        errno = ENOMEM;
        return path.failed ? NULL : realpath(path.data, NULL);
}

bool store_get(const char *directory, const char key[HASH_TEXT_MAX], struct store_entry *ret_entry)
{
        AUTO_CLOSE int store = open_store(directory, false);
        AUTO_CLOSE int lock = store < 0 ? -1 : open_locked(store, key, LOCK_SH);

        *ret_entry = (struct store_entry){ .lock = -1 };
        if (lock < 0)
                return false;
        if (!is_whole(lock)) {
                fd_close(fd_take(&lock));
                remove_entry(directory, store, key);
                return false;
        }
        ret_entry->path = tree_path(directory, key);
        if (!ret_entry->path)
                return false;
        (void)futimens(lock, NULL); /* used now; if that cannot be noted, it goes earlier */
        ret_entry->lock = fd_take(&lock);
        return true;
}

void store_remove(const char *directory, const char key[HASH_TEXT_MAX])
{
        AUTO_CLOSE int store = open_store(directory, false);

        if (store >= 0)
                remove_entry(directory, store, key);
}

/* Fills a folder aside; its name is in `name`, locked against sweepers. */
static int fill(int store, int source, const struct store_bounds *bounds, char name[64],
                int *ret_lock, struct error *err)
{
        AUTO_CLOSE int lock = -1;
        AUTO_CLOSE int tree = -1;
        char id[CLOCK_ULID_MAX];
        int r;

        if (clock_ulid(id) < 0)
                return error_set_errno(err, "name an entry");
        (void)snprintf(name, 64, "%s%s", aside, id);
        if (mkdirat(store, name, 0700) < 0 || (lock = open_folder(store, name)) < 0 ||
            flock(lock, LOCK_SH | LOCK_NB) < 0 || mkdirat(lock, tree_name, 0755) < 0 ||
            (tree = open_folder(lock, tree_name)) < 0 || fchmod(tree, 0755) < 0)
                return error_set_errno(err, "keep the dependencies");
        r = source < 0 ? 0 : store_copy(source, tree, bounds, err);
        if (r == 0 && write_manifest(lock, tree) < 0)
                r = error_set_errno(err, "keep the dependencies");
        *ret_lock = fd_take(&lock);
        return r;
}

int store_put(const char *directory, const char key[HASH_TEXT_MAX], int source,
              const struct store_bounds *bounds, struct store_entry *ret_entry, struct error *err)
{
        AUTO_CLOSE int store = open_store(directory, true);
        AUTO_CLOSE int lock = -1;
        char name[64] = "";
        int r;

        *ret_entry = (struct store_entry){ .lock = -1 };
        if (store < 0) {
                r = error_set(err, SBX_EREFUSED, "cannot keep the dependencies in '%s'", directory);
                error_hint(err, "it must be a folder of your own that nobody else can write");
                return r;
        }
        trim(directory, store);
        r = fill(store, source, bounds, name, &lock, err);
        if (r == 0 && renameat(store, name, store, key) < 0) {
                /* Another run was faster: its tree is as good, and may be in use. */
                if (store_get(directory, key, ret_entry)) {
                        fd_close(fd_take(&lock));
                        remove_entry(directory, store, name);
                        return 0;
                }
                if (renameat(store, name, store, key) < 0)
                        r = error_set_errno(err, "keep the dependencies");
        }
        if (r < 0) {
                fd_close(fd_take(&lock));
                remove_entry(directory, store, name);
                return r;
        }
        ret_entry->path = tree_path(directory, key);
        ret_entry->lock = fd_take(&lock);
        return ret_entry->path ? 0 : error_set_errno(err, "keep the dependencies");
}
