/*
 * The stage that readies a toolchain: some tools do the same long work at every start (Go compiles
 * its standard library, a JVM loads its compiler). A language's `prepare` does it once, contained
 * and without any code of a caller's; its files are kept in a folder of the caller's own, and
 * mounted read-only into every later step.
 *
 * A toolchain that cannot be readied is no error: the steps find an empty folder, and are slow.
 */
#include "engine/passage.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/str.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREPARED_FILES_MAX = 200000, LOCK_POLL_MS = 50 };

static const char folder_name[] = "prepared";

/* One folder for each state of the tool and each way of readying it. */
static int name_folder(const struct passage *passage, char name[128])
{
        const struct language_compile *prepare = &passage->language->prepare;
        char text[HASH_TEXT_MAX];
        struct hash hash;

        hash_init(&hash);
        if (hash_update_identity(&hash, passage->tool.path) < 0)
                return -1;
        hash_update_words(&hash, prepare->command);
        hash_update_words(&hash, prepare->env);
        hash_update_words(&hash, passage->language->env);
        hash_update_text(&hash, passage->tool.version);
        hash_final(&hash, text);
        (void)snprintf(name, 128, "%.60s-%.32s", passage->language->name, text);
        return 0;
}

/* ---- out of the workspace, into the folder ---- */

static int copy_file(int workspace_fd, const char *path, int folder)
{
        AUTO_CLOSE int from = files_open(workspace_fd, path);
        AUTO_CLOSE int to = -1;
        struct stat st;
        off_t offset = 0;

        if (from < 0 || fstat(from, &st) < 0)
                return errno == ELOOP || errno == EINVAL ? 0 : -1; /* a link: left out */
        to = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    st.st_mode & 0111 ? 0755 : 0644);
        if (to < 0)
                return -1;
        while (offset < st.st_size)
                if (sendfile(to, from, &offset, (size_t)(st.st_size - offset)) <= 0)
                        return -1;
        return 0;
}

static int make_folders(int folder, const char *path)
{
        char part[BUNDLE_PATH_MAX + 1];

        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                memcpy(part, path, (size_t)(slash - path));
                part[slash - path] = '\0';
                if (mkdirat(folder, part, 0755) < 0 && errno != EEXIST)
                        return -1;
        }
        return 0;
}

static int copy_all(int workspace_fd, int folder)
{
        struct file_list files;
        int r = files_list_most(workspace_fd, PREPARED_FILES_MAX, &files, NULL);

        if (r < 0)
                return -1;
        for (size_t i = 0; i < files.count && r == 0; i++)
                r = bundle_refuse_path(files.items[i].path) ||
                                    make_folders(folder, files.items[i].path) < 0 ||
                                    copy_file(workspace_fd, files.items[i].path, folder) < 0
                            ? -1
                            : 0;
        if (files.truncated)
                r = -1;
        files_done(&files);
        return r;
}

/* Copied aside, then renamed: a folder of this name is whole. */
static int keep_folder(struct passage *passage, int workspace_fd, struct error *err)
{
        char id[CLOCK_ULID_MAX];
        AUTO_STRBUF struct strbuf aside = { 0 };
        AUTO_CLOSE int folder = -1;

        (void)err;
        if (passage->ready.outcome != OUTCOME_OK || clock_ulid(id) < 0)
                return 0;
        strbuf_addf(&aside, "%s" PREPARED_ASIDE "%s", passage->prepared_path, id);
        if (aside.failed || mkdir(aside.data, 0755) < 0)
                return 0;
        folder = open(aside.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0 || copy_all(workspace_fd, folder) < 0 ||
            rename(aside.data, passage->prepared_path) < 0)
                (void)tree_remove(aside.data); /* the run goes on without it */
        return 0;
}

/* No code of a caller's runs here, and everybody waits for it: it gets the whole machine. */
static struct limits all_cpus(struct limits limits)
{
        uint64_t cpus = limits_machine_cpus();

        if (limits.cpus_milli < cpus * 1000)
                limits.cpus_milli = cpus * 1000;
        limits.cpu_time_ms *= cpus;
        return limits;
}

static int run_preparation(struct passage *passage, struct error *err)
{
        const struct language_compile *prepare = &passage->language->prepare;
        struct limits limits = all_cpus(build_limits(passage, prepare));
        struct step_order order = { .step = PLAN_STEP_PREPARE,
                                    .build = prepare,
                                    .limits = &limits,
                                    .outcome = &passage->ready,
                                    .collect = keep_folder };
        int r = step_run_somewhere(passage, &order, err);

        result_step_done(&passage->ready);
        passage->result->violation_count = 0; /* none of the program's */
        return r;
}

/* The folder of what is kept for this caller; -1 where nothing is. */
static int open_place(const struct passage *passage)
{
        AUTO_CLOSE int top = -1;

        if (!passage->engine->cache_dir)
                return -1;
        folder_make(passage->engine->cache_dir);
        top = folder_open(passage->engine->cache_dir);
        return folder_open_below(top, folder_name);
}

static bool is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Runs that come meanwhile wait for the one that works, instead of doing the same. */
static bool wait_for_lock(const struct passage *passage, int lock_fd)
{
        struct pollfd cancel = { .fd = passage->order->cancel_fd, .events = POLLIN };

        while (flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
                if ((errno != EWOULDBLOCK && errno != EINTR) || poll(&cancel, 1, LOCK_POLL_MS) > 0)
                        return false;
        return true;
}

static int prepare_once(struct passage *passage, const char *directory, int place, const char *name,
                        struct error *err)
{
        AUTO_STRBUF struct strbuf lock = { 0 };
        AUTO_CLOSE int lock_fd = -1;

        strbuf_addf(&lock, "%s.lock", name);
        if (lock.failed)
                return error_set_nomem(err);
        lock_fd = openat(place, lock.data, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock_fd < 0 || !wait_for_lock(passage, lock_fd))
                return 0;
        if (is_there(passage->prepared_path))
                return 0;
        prepared_trim(directory, place);
        return run_preparation(passage, err);
}

/* Whether the words stand in a file: read in pieces that overlap by their length. */
static bool file_mentions(int fd, const char *words)
{
        char piece[32 << 10];
        size_t length = strlen(words), kept = 0;
        off_t offset = 0;
        ssize_t n;

        while ((n = pread(fd, piece + kept, sizeof(piece) - kept, offset)) > 0) {
                if (memmem(piece, kept + (size_t)n, words, length))
                        return true;
                offset += n;
                kept += (size_t)n;
                if (kept >= length) {
                        memmove(piece, piece + kept - (length - 1), length - 1);
                        kept = length - 1;
                }
        }
        return false;
}

/* Whether the code is of the kind that readying is for. */
static bool is_meant(const struct passage *passage)
{
        const char *words = passage->language->prepare_when;

        if (!words)
                return true;
        if (passage->is_project)
                return file_mentions(passage->code->sources.fd, words);
        if (passage->program_data)
                return memmem(passage->program_data, passage->program_bytes, words, strlen(words));
        return file_mentions(passage->program_fd, words);
}

/* The way to it may lead through links of the user's own; nothing is mounted through one. */
static bool find_prepared(struct passage *passage)
{
        char *real =
                is_there(passage->prepared_path) ? realpath(passage->prepared_path, NULL) : NULL;

        if (!real)
                return false;
        mem_free(passage->prepared_path);
        passage->prepared_path = real;
        return true;
}

int passage_prepare(struct passage *passage, struct error *err)
{
        AUTO_CLOSE int place = -1;
        AUTO_STRBUF struct strbuf directory = { 0 };
        AUTO_STRBUF struct strbuf path = { 0 };
        char name[128];
        int r = 0;

        if (!passage->language->prepare.command[0] || docker_is_wanted(passage) ||
            !is_meant(passage))
                return 0; /* nothing to do, or an image's business */
        place = open_place(passage);
        if (place < 0 || name_folder(passage, name) < 0)
                return 0;
        strbuf_addf(&directory, "%s/%s", passage->engine->cache_dir, folder_name);
        strbuf_addf(&path, "%s/%s/%s", passage->engine->cache_dir, folder_name, name);
        passage->prepared_path = strbuf_take(&path);
        if (!passage->prepared_path || directory.failed)
                return error_set_nomem(err);
        if (is_there(passage->prepared_path))
                prepared_note_use(passage->prepared_path);
        else
                r = prepare_once(passage, directory.data, place, name, err);
        passage->is_prepared = find_prepared(passage);
        return r;
}
