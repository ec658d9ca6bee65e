/*
 * The workspace of a session: a folder of the host that guests write. Nothing in it is believed:
 * paths are walked one name at a time and no link is followed, only regular files are read, and
 * sizes, counts and depths are bounded.
 */
#ifndef MCP_WORKSPACE_H
#define MCP_WORKSPACE_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct workspace_file {
        char *path; /* owned: relative */
        uint64_t size;
        int64_t changed_ns;
        uint64_t inode;
};

/* Regular files, sorted by path. */
struct workspace_list {
        struct workspace_file *files; /* owned */
        size_t count, capacity;
        bool truncated;
};

#define AUTO_WORKSPACE_LIST __attribute__((cleanup(workspace_list_done)))
void workspace_list_done(struct workspace_list *list);

int workspace_list(int folder, struct workspace_list *ret_list, struct error *err);
uint64_t workspace_bytes(const struct workspace_list *list);
/* Reads up to `max` bytes; the whole size is in `*ret_size`. Caller frees `*ret_data`. */
int workspace_read(int folder, const char *path, size_t max, char **ret_data, size_t *ret_length,
                   uint64_t *ret_size, struct error *err);
/* Writes the file anew, folders on its way included. */
int workspace_write(int folder, const char *path, const void *data, size_t length,
                    struct error *err);
/* Whether a path may name something in a workspace. */
bool workspace_is_path(const char *path);
/* "image/png", "image/svg+xml": of a file by its name and first bytes; NULL: no image. */
const char *workspace_image_type(const char *path, const char *data, size_t length);
const char *workspace_type(const char *path); /* by its name alone */

#endif
