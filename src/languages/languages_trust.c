/* Whether a file may be run by us, outside of any sandbox, to be asked for its version. */
#include "languages/languages_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether anybody could have put another file at this real path. `owner` is the file's. */
static bool is_replaceable(const char *path, uid_t owner)
{
        char folder[PATH_MAX];
        char *slash;
        struct stat st;

        (void)snprintf(folder, sizeof(folder), "%s", path);
        while ((slash = strrchr(folder, '/')) && slash != folder) {
                *slash = '\0';
                if (stat(folder, &st) < 0)
                        return true;
                /* In a sticky folder everybody makes files, and nobody replaces another's. */
                if ((st.st_mode & S_IWOTH) && (!(st.st_mode & S_ISVTX) || owner != 0))
                        return true;
        }
        return false;
}

static bool is_ours(const struct stat *st)
{
        return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Whether the file, or a folder above it, is somebody else's. */
static bool is_foreign(const char *path, const struct stat *st)
{
        char folder[PATH_MAX];
        char *slash;
        struct stat above;

        if (!is_ours(st))
                return true;
        (void)snprintf(folder, sizeof(folder), "%s", path);
        while ((slash = strrchr(folder, '/')) && slash != folder) {
                *slash = '\0';
                if (stat(folder, &above) < 0 || !is_ours(&above))
                        return true;
        }
        return false;
}

const char *tool_refuse(const char *path, bool is_private, struct stat *ret_st)
{
        if (stat(path, ret_st) < 0)
                return strerror(errno);
        if (!S_ISREG(ret_st->st_mode))
                return "not a regular file";
        if (access(path, X_OK) < 0)
                return "not executable";
        /* Root would run what any user of the machine has put there. */
        if (geteuid() == 0 && ((ret_st->st_mode & S_IWOTH) || is_replaceable(path, ret_st->st_uid)))
                return "writable by others, which root does not run";
        /* HOME and PATH may have been kept from somebody else, as sudo can do. */
        if (is_private && is_foreign(path, ret_st))
                return "it belongs to another user";
        return NULL;
}
