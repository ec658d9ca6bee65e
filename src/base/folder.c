#include "base/folder.h"
#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool folder_is_own(int fd, mode_t kind)
{
        struct stat st;

        return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
               (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void folder_make(const char *path)
{
        char copy[PATH_MAX];

        if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
                return;
        if (mkdir(copy, 0700) == 0 || errno != ENOENT)
                return;
        for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                (void)mkdir(copy, 0700); /* what fails here fails below as well */
                *slash = '/';
        }
        (void)mkdir(copy, 0700);
}

int folder_open(const char *path)
{
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd >= 0 && folder_is_own(fd, S_IFDIR) ? fd_take(&fd) : -1;
}

int folder_open_below(int folder, const char *name)
{
        AUTO_CLOSE int fd = -1;

        if (folder < 0 || (mkdirat(folder, name, 0700) < 0 && errno != EEXIST))
                return -1;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd >= 0 && folder_is_own(fd, S_IFDIR) ? fd_take(&fd) : -1;
}

int folder_name_temporary(char *path, size_t size, struct error *err)
{
        const char *chosen = secure_getenv("TMPDIR");
        const char *base = chosen && chosen[0] == '/' ? chosen : "/tmp";
        char name[CLOCK_ULID_MAX];
        int length;

        if (clock_ulid(name) < 0)
                return error_set_errno(err, "read random bytes");
        length = snprintf(path, size, "%s/sandbox-run.%s", base, name);
        if (length < 0 || (size_t)length >= size)
                return error_set(err, SBX_EINVAL, "TMPDIR: the path is too long");
        return 0;
}
