/*
 * Keeps the folder of readied toolchains small: when one is added, those that no run has used for a
 * month are removed, for every update of a toolchain leaves one behind. So is what a killed
 * supervisor left half copied.
 */
#include "engine/passage.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DAY_SECONDS = 24 * 3600, UNUSED_DAYS = 30 };

/* Once a day is enough, so that a run need not write. */
void prepared_note_use(const char *path)
{
        struct stat st;

        if (lstat(path, &st) == 0 && time(NULL) - st.st_mtime > DAY_SECONDS)
                (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

/* The lock of a toolchain goes with its folder; one that was just made may be held. */
static bool is_unused(int place, const char *name)
{
        long days = strstr(name, PREPARED_ASIDE) ? 1 : UNUSED_DAYS;
        struct stat st;

        return fstatat(place, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid() &&
               time(NULL) - st.st_mtime > days * DAY_SECONDS;
}

static void remove_one(const char *directory, int place, const char *name)
{
        AUTO_STRBUF struct strbuf path = { 0 };

        if (unlinkat(place, name, 0) == 0)
                return; /* a lock */
        strbuf_addf(&path, "%s/%s", directory, name);
        if (!path.failed)
                (void)tree_remove(path.data); /* what stays is tried again next time */
}

void prepared_trim(const char *directory, int place)
{
        int again = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = again < 0 ? NULL : fdopendir(again);
        const struct dirent *entry;

        if (!folder) {
                fd_close(again);
                return;
        }
        while ((entry = readdir(folder)))
                if (entry->d_name[0] != '.' && is_unused(place, entry->d_name))
                        remove_one(directory, place, entry->d_name);
        (void)closedir(folder);
}
