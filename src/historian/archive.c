#include "historian/historian.h"

#include <errno.h>
#include <unistd.h>

int archive_open(struct archive *archive, struct error *err)
{
        int r;

        if (!archive->history.path || access(archive->history.path, F_OK) < 0)
                return 0; /* nothing has been recorded yet */
        r = history_open(&archive->history, false, err);
        if (r == 0)
                segments_compress(archive->history.dir);
        if (r == 0)
                r = index_open(archive, err);
        return r < 0 ? r : index_update(archive, err);
}

int archive_refresh(struct archive *archive, struct error *err)
{
        return archive->db ? index_update(archive, err) : archive_open(archive, err);
}

void archive_close(struct archive *archive)
{
        (void)sqlite3_close(archive->db); /* nothing is open in it any more */
        history_done(&archive->history);
}
