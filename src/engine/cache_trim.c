/* Keeps the folder of compiled programs within its bounds: what was used longest ago goes first. */
#include "engine/cache.h"
#include "base/fd.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ENTRIES_MOST = 100000, ABANDONED_SECONDS = 3600 };

struct kept {
        char name[HASH_TEXT_MAX];
        struct timespec used;
        uint64_t bytes;
};

struct listing {
        struct kept *items; /* owned */
        size_t count, capacity;
        uint64_t bytes;
};

static int by_use(const void *a, const void *b)
{
        const struct timespec *x = &((const struct kept *)a)->used,
                              *y = &((const struct kept *)b)->used;

        if (x->tv_sec != y->tv_sec)
                return x->tv_sec < y->tv_sec ? -1 : 1;
        return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* A file that a killed writer left behind is nobody's after a while. */
static void look_at(int folder, const char *name, struct listing *list)
{
        struct stat st;
        size_t length = strlen(name);

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                return;
        if (length != HASH_TEXT_MAX - 1) {
                if (strncmp(name, "new.", 4) == 0 && time(NULL) - st.st_mtime > ABANDONED_SECONDS)
                        (void)unlinkat(folder, name, 0);
                return;
        }
        if (list->count >= ENTRIES_MOST || MEM_GROW(list->items, list->count, list->capacity) < 0)
                return;
        list->items[list->count] =
                (struct kept){ .used = st.st_mtim, .bytes = (uint64_t)st.st_size };
        memcpy(list->items[list->count].name, name, length + 1);
        list->bytes += (uint64_t)st.st_size;
        list->count++;
}

void cache_trim(int folder, uint64_t most)
{
        int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct listing list = { 0 };
        struct dirent *entry;

        if (!dir) {
                fd_close(copy);
                return;
        }
        while ((entry = readdir(dir)))
                look_at(folder, entry->d_name, &list);
        (void)closedir(dir);
        if (list.bytes > most) {
                qsort(list.items, list.count, sizeof(*list.items), by_use);
                for (size_t i = 0; i < list.count && list.bytes > most; i++) {
                        (void)unlinkat(folder, list.items[i].name, 0);
                        list.bytes -= list.items[i].bytes;
                }
        }
        mem_free(list.items);
}
