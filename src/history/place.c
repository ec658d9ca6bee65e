/* Where records are kept, and the refusal of a place that cannot be trusted. */
#include "history/history.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *find_place(void)
{
        const char *chosen = secure_getenv("SANDBOX_STATE_DIR");
        const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
        AUTO_STRBUF struct strbuf path = { 0 };

        if (chosen && chosen[0] == '/')
                return mem_strdup(chosen);
        if (geteuid() == 0)
                return mem_strdup("/var/lib/sandbox");
        if (state && state[0] == '/')
                strbuf_addf(&path, "%s/sandbox", state);
        else if (home && home[0] == '/')
                strbuf_addf(&path, "%s/.local/state/sandbox", home);
        return path.length && !path.failed ? strbuf_take(&path) : NULL;
}

void history_init(struct history *history)
{
        *history = (struct history){ .path = find_place(), .dir = -1 };
}

void history_done(struct history *history)
{
        fd_close(history->dir);
        mem_free(history->path);
}

static int refuse(const struct history *history, const struct stat *st, struct error *err)
{
        char shown[256];
        int r;

        str_printable(history->path, shown, sizeof(shown));
        if (st->st_uid != geteuid()) {
                r = error_set(err, SBX_EREFUSED,
                              "state directory '%s' belongs to another user (%u)", shown,
                              (unsigned)st->st_uid);
                error_hint(err, "set SANDBOX_STATE_DIR to a directory of yours");
                return r;
        }
        r = error_set(err, SBX_EREFUSED, "state directory '%s' can be written by others", shown);
        error_hint(err, "chmod 0700 '%s'", shown);
        return r;
}

int history_open(struct history *history, bool make, struct error *err)
{
        AUTO_CLOSE int dir = -1;
        char shown[256];
        struct stat st;

        if (history->dir >= 0)
                return 0;
        if (!history->path)
                return error_set(err, SBX_ESYSTEM, "no state directory: HOME is not set");
        dir = open(history->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0 && errno == ENOENT && make) {
                folder_make(history->path);
                dir = open(history->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        if (dir < 0 || fstat(dir, &st) < 0)
                return error_set_errno(err, "open state directory '%s'",
                                       str_printable(history->path, shown, sizeof(shown)));
        if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
                return refuse(history, &st, err);
        history->dir = fd_take(&dir);
        return 0;
}
