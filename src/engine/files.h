/*
 * What a run changed in its workspace. The guest is dead when this looks, but what it left is
 * hostile: nothing is followed, nothing but names and sizes is read, every number is capped.
 */
#ifndef ENGINE_FILES_H
#define ENGINE_FILES_H

#include "base/error.h"
#include "result/result.h"

#include <stdint.h>
#include <sys/types.h>

struct file_entry {
        char *path; /* owned; relative */
        ino_t inode;
        off_t size;
        int64_t changed_ns, modified_ns;
};

struct file_list {
        struct file_entry *items; /* sorted by path */
        size_t count, capacity;
        bool truncated;
};

/* Lists regular files and symbolic links below an open directory. With `strip`, set-user-id and
 * set-group-id bits that a guest left are taken off. */
int files_list(int dirfd, bool strip, struct file_list *ret_list, struct error *err);
/* The same for trees of up to `most` entries, as they are. */
int files_list_most(int dirfd, size_t most, struct file_list *ret_list, struct error *err);
void files_done(struct file_list *list);
/* Puts the differences into the result. */
int files_compare(const struct file_list *before, const struct file_list *after,
                  struct result *result, struct error *err);
/* Opens a regular file below the directory, without following anything; -1 with errno. */
int files_open(int dirfd, const char *path);
/* The same for a folder. */
int files_open_folder(int dirfd, const char *path);
/* Where a link beneath a directory leads: its length, not terminated; or -1. */
ssize_t files_read_link(int dirfd, const char *path, char *buffer, size_t size);

#endif
