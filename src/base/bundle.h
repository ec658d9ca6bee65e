/*
 * A bundle: a set of files with relative paths, their bytes one after another in a memory file. The
 * sources of a project, the files handed to a program, what a compiler made and what a cache keeps
 * are bundles.
 *
 * Paths come from outside. They are checked when added: relative, plain, no "..", bounded; a path
 * stands once, and no file's path is a folder of another's.
 */
#ifndef BASE_BUNDLE_H
#define BASE_BUNDLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        BUNDLE_FILES_MAX = 20000,
        BUNDLE_PATH_MAX = 1024, /* bytes of one path */
        BUNDLE_DEPTH_MAX = 32,  /* folders of one path */
        BUNDLE_BYTES_MAX = 512 << 20,
};

struct bundle_file {
        char *path;      /* owned */
        uint32_t mode;   /* permissions; with S_IFLNK, the bytes are the target of a link */
        uint64_t offset; /* in the memory file */
        uint64_t length;
};

struct bundle {
        struct bundle_file *files; /* owned */
        size_t count, capacity;
        int fd; /* owned; -1 while empty */
        uint64_t bytes;
};

/* A folder is read no further than this. */
struct bundle_bounds {
        uint64_t bytes;
        size_t files;
};

void bundle_init(struct bundle *bundle);
void bundle_done(struct bundle *bundle);
/* NULL, or why a path cannot stand in a bundle. */
const char *bundle_refuse_path(const char *path);
int bundle_add(struct bundle *bundle, const char *path, uint32_t mode, const void *data,
               size_t length, struct error *err);
/* Copies a regular file. */
int bundle_add_fd(struct bundle *bundle, const char *path, uint32_t mode, int fd,
                  struct error *err);
/* Adds what lies below an open directory, with `prefix` ("" or "name/") in front of each path.
 * Nothing is followed and nothing but regular files is opened; links are kept as links where
 * `links` says so and left out otherwise, as are sockets, devices and fifos. */
int bundle_add_tree(struct bundle *bundle, int dirfd, const char *prefix,
                    const struct bundle_bounds *bounds, bool links, struct error *err);
/* The file of that path, or NULL. */
const struct bundle_file *bundle_find(const struct bundle *bundle, const char *path);
/* Sorts by path and refuses what cannot stand together; once, before the bundle is used. */
int bundle_settle(struct bundle *bundle, struct error *err);

#endif
