/* Files on their way into and out of a container, as tar archives. */
#ifndef DOCKER_PACK_H
#define DOCKER_PACK_H

#include "base/error.h"
#include "plan/plan.h"

#include <stdint.h>

enum { PACK_ENTRIES_MAX = 100000, PACK_DEPTH_MAX = 64 };

/* An archive of those files of the plan that belong below `place` ("/code", "/workspace"), in a
 * memory file; -1 in `ret_fd` where there is none. `owner` has those that the guest is to own. */
int pack_files(const struct plan *plan, const char *place, const int *file_fds, int file_count,
               uint32_t owner, int *ret_fd, struct error *err);
/* An archive of one program. */
int pack_program(const char *path, const char *name, int *ret_fd, struct error *err);

/* An archive of the named files of a folder. */
int pack_named(int folder, const char *const *names, size_t count, int *ret_fd, struct error *err);

/* Unpacks an archive from a container into a directory that is empty and ours: regular files and
 * directories only, at most `most` bytes. Links and other kinds are left out, and counted; a name
 * that leads out of the directory is an error. The first part of each name is dropped. */
struct unpack {
        uint64_t most;
        uint64_t bytes; /* that came */
        unsigned left_out;
};
int unpack_tree(int archive_fd, int directory, struct unpack *unpack, struct error *err);

#endif
