#include "history/running.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNNING_FILE "sandbox-running"

enum { RUNNING_MAGIC = 0x73627831, RUNNING_MAX = 4096, WATCHED_SECONDS = 3 };

void running_init(struct running *running)
{
        *running = (struct running){ .fd = -1, .page = { .magic = RUNNING_MAGIC } };
}

static void make_file(const struct history *history, struct running *running)
{
        struct stat st;

        running->tried = true;
        if (fstat(history->dir, &st) < 0)
                return;
        running->page.place_device = st.st_dev;
        running->page.place_inode = st.st_ino;
        running->fd = memfd_create(RUNNING_FILE, MFD_CLOEXEC);
}

bool running_update(const struct history *history, struct running *running)
{
        struct running_page *page = &running->page;
        struct running_page asked;
        size_t from;

        if (running->fd < 0 && !running->tried && history->dir >= 0)
                make_file(history, running);
        if (running->fd < 0)
                return false;
        if (pread(running->fd, &asked, offsetof(struct running_page, version), 0) ==
            (ssize_t)offsetof(struct running_page, version)) {
                page->cancel = asked.cancel;
                page->watched_ns = asked.watched_ns;
        }
        page->version_again = ++page->version;
        /* What a reader may write is written here once, or its wish could be lost. */
        from = page->version > 1 ? offsetof(struct running_page, version) : 0;
        (void)!pwrite(running->fd, (const char *)page + from, sizeof(*page) - from,
                      (off_t)from); /* where it fails, nobody sees the run: no harm */
        return page->cancel != 0;
}

bool running_is_watched(const struct running *running)
{
        return running->page.watched_ns &&
               clock_now_ns() - running->page.watched_ns < WATCHED_SECONDS * UINT64_C(1000000000);
}

void running_close(struct running *running)
{
        fd_close(running->fd);
        running->fd = -1;
}

static void terminate_texts(struct running_page *page)
{
        page->id[sizeof(page->id) - 1] = '\0';
        page->started_at[sizeof(page->started_at) - 1] = '\0';
        page->language[sizeof(page->language) - 1] = '\0';
        page->backend[sizeof(page->backend) - 1] = '\0';
        page->phase[sizeof(page->phase) - 1] = '\0';
        page->name[sizeof(page->name) - 1] = '\0';
}

/* ---- readers ---- */

typedef int (*page_visitor)(void *context, int fd, const struct running_page *page);

static bool is_in_our_namespace(int process)
{
        char ours[64], theirs[64];
        ssize_t n = readlink("/proc/self/ns/pid", ours, sizeof(ours));

        return n > 0 && readlinkat(process, "ns/pid", theirs, sizeof(theirs)) == n &&
               memcmp(ours, theirs, (size_t)n) == 0;
}

static bool read_page(int fd, long pid, const struct stat *place, struct running_page *ret_page)
{
        uint64_t now = clock_now_ns();

        if (pread(fd, ret_page, sizeof(*ret_page), 0) != (ssize_t)sizeof(*ret_page) ||
            ret_page->magic != RUNNING_MAGIC || ret_page->version != ret_page->version_again ||
            ret_page->pid != pid || ret_page->place_device != place->st_dev ||
            ret_page->place_inode != place->st_ino)
                return false;
        (void)!pwrite(fd, &now, sizeof(now), offsetof(struct running_page, watched_ns));
        terminate_texts(ret_page);
        return true;
}

/* Looks through the descriptors of one process. */
static int visit_process(int process, long pid, const struct stat *place, page_visitor see,
                         void *context)
{
        int folder = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
        struct dirent *entry;

        if (!dir) {
                fd_close(folder);
                return 0;
        }
        while (r == 0 && (entry = readdir(dir))) {
                struct running_page page;
                AUTO_CLOSE int fd = -1;
                char link[64];
                ssize_t n = readlinkat(folder, entry->d_name, link, sizeof(link) - 1);

                link[n > 0 ? n : 0] = '\0';
                if (!str_has_prefix(link, "/memfd:" RUNNING_FILE))
                        continue;
                fd = openat(folder, entry->d_name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
                if (fd >= 0 && read_page(fd, pid, place, &page))
                        r = see(context, fd, &page);
        }
        (void)closedir(dir);
        return r;
}

static int visit_all(const struct history *history, page_visitor see, void *context,
                     struct error *err)
{
        struct stat place, owner;
        struct dirent *entry;
        DIR *proc;
        int r = 0;

        if (fstat(history->dir, &place) < 0 || !(proc = opendir("/proc")))
                return error_set_errno(err, "look for what is running");
        while (r == 0 && (entry = readdir(proc))) {
                AUTO_CLOSE int process = -1;

                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                process = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (process >= 0 && fstat(process, &owner) == 0 && owner.st_uid == geteuid() &&
                    is_in_our_namespace(process))
                        r = visit_process(process, atol(entry->d_name), &place, see, context);
        }
        (void)closedir(proc);
        return r < 0 ? error_set_nomem(err) : r;
}

struct page_list {
        struct running_page *pages;
        size_t count, capacity;
};

static int add_page(void *context, int fd, const struct running_page *page)
{
        struct page_list *list = context;

        (void)fd;
        if (list->count >= RUNNING_MAX)
                return 0;
        if (MEM_GROW(list->pages, list->count, list->capacity) < 0)
                return -1;
        list->pages[list->count++] = *page;
        return 0;
}

static int by_id(const void *a, const void *b)
{
        return strcmp(((const struct running_page *)a)->id, ((const struct running_page *)b)->id);
}

int running_list(const struct history *history, struct running_page **ret_pages, size_t *ret_count,
                 struct error *err)
{
        struct page_list list = { 0 };
        int r = visit_all(history, add_page, &list, err);

        if (r < 0) {
                mem_free(list.pages);
                return r;
        }
        if (list.count > 1)
                qsort(list.pages, list.count, sizeof(*list.pages), by_id);
        *ret_pages = list.pages;
        *ret_count = list.count;
        return 0;
}

static int ask_to_end(void *context, int fd, const struct running_page *page)
{
        const uint32_t yes = 1;

        if (strcmp(page->id, context) != 0)
                return 0;
        return pwrite(fd, &yes, sizeof(yes), offsetof(struct running_page, cancel)) ==
               (ssize_t)sizeof(yes);
}

int running_cancel(const struct history *history, const char *id, struct error *err)
{
        char wanted[sizeof(((struct running_page *)0)->id)];
        int r;

        (void)snprintf(wanted, sizeof(wanted), "%s", id);
        r = visit_all(history, ask_to_end, wanted, err);
        if (r < 0)
                return r;
        return r > 0 ? 0 : error_set(err, SBX_EINVAL, "it is not running any more");
}
