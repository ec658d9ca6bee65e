/* What processes of ours take of the memory, where no control group counts it. */
#include "backend/run.h"
#include "base/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH_MOST = 4 }; /* the helper, its nest, a keeper, a guest that waits */

/* Without files, whose pages all have together. */
static uint64_t own_bytes(long pid)
{
        unsigned long long resident, shared;
        char path[64], text[128];

        (void)snprintf(path, sizeof(path), "/proc/%ld/statm", pid);
        if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
            sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
                return 0;
        return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t weigh(long pid, unsigned depth)
{
        uint64_t bytes = own_bytes(pid);
        char path[64], text[1024], *rest = text;

        (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
        if (depth == 0 || fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return bytes;
        for (long child; (child = strtol(rest, &rest, 10)) > 0;)
                bytes += weigh(child, depth - 1);
        return bytes;
}

uint64_t run_weigh(const struct run *run, bool with_copies)
{
        return run->helper_pid > 0 ? weigh(run->helper_pid, with_copies ? DEPTH_MOST : 1) : 0;
}
