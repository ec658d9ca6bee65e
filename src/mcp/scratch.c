/*
 * The folders of the server. Its own is locked while it lives and goes when it ends; one that was
 * killed leaves it behind, without a lock, and the next server of the same user removes it.
 */
#include "mcp/session.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PREFIX "sandbox-mcp-"

static const char *temporary(void)
{
        const char *chosen = getenv("TMPDIR");

        return chosen && chosen[0] == '/' ? chosen : "/tmp";
}

static void sweep_one(int folder, const char *parent, const char *name)
{
        AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char path[PATH_MAX];

        if (fd < 0 || !folder_is_own(fd, S_IFDIR) || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return;
        if (snprintf(path, sizeof(path), "%s/%s", parent, name) < (int)sizeof(path))
                (void)tree_remove(path); /* the next one tries again */
}

static void sweep(const char *parent)
{
        DIR *dir = opendir(parent);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir)) != NULL)
                if (str_has_prefix(entry->d_name, PREFIX))
                        sweep_one(dirfd(dir), parent, entry->d_name);
        if (dir)
                (void)closedir(dir); /* it was only read */
}

static int open_root(struct server *server, const char *given, struct error *err)
{
        server->keeps_workspaces = given != NULL;
        server->root = given ? realpath(given, NULL) : scratch_folder(server);
        server->root_fd =
                server->root ? open(server->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (server->root_fd >= 0)
                return 0;
        (void)error_set_errno(err, "workspace root '%s'", given ? given : server->scratch);
        return SBX_EINVAL;
}

/* Between its making and its lock a sweeper could take it: so it is made again then. */
static int make_own(struct server *server)
{
        for (int attempt = 0; attempt < 100; attempt++) {
                AUTO_STRBUF struct strbuf path = { 0 };

                strbuf_addf(&path, "%s/" PREFIX "XXXXXX", temporary());
                if (path.failed || !mkdtemp(path.data))
                        return -1;
                server->scratch_fd = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (server->scratch_fd >= 0 && flock(server->scratch_fd, LOCK_EX | LOCK_NB) == 0 &&
                    access(path.data, F_OK) == 0) {
                        server->scratch = strbuf_take(&path);
                        return server->scratch ? 0 : -1;
                }
                fd_close(fd_take(&server->scratch_fd));
        }
        errno = EAGAIN;
        return -1;
}

int scratch_open(struct server *server, const char *root, struct error *err)
{
        sweep(temporary());
        if (make_own(server) < 0)
                return error_set_errno(err, "make a folder in '%s'", temporary());
        return open_root(server, root, err);
}

void scratch_close(struct server *server)
{
        fd_close(server->root_fd);
        if (server->scratch)
                (void)tree_remove(server->scratch); /* the next server tries again */
        fd_close(server->scratch_fd);
        free(server->root); /* may be realpath()'s; ours come from the same allocator */
        mem_free(server->scratch);
}

char *scratch_folder(struct server *server)
{
        AUTO_STRBUF struct strbuf path = { 0 };

        strbuf_addf(&path, "%s/XXXXXX", server->scratch);
        return path.failed || !mkdtemp(path.data) ? NULL : strbuf_take(&path);
}
