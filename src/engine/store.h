/*
 * Directories kept between runs, found by a key: installed dependencies.
 *
 * Each is a folder of the caller's own, "KEY/tree", beside it "KEY/manifest" with a hash over the
 * name, kind, mode, size and times of all that is in the tree: one that was cut, changed or touched
 * is removed and made again. It is filled aside and renamed, so that processes that race need no
 * lock to write. Whoever uses one holds a shared lock on it; the store is bounded, and those used
 * longest ago that nobody holds go first.
 */
#ifndef ENGINE_STORE_H
#define ENGINE_STORE_H

#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

struct store_bounds {
        uint64_t bytes; /* of one tree */
        uint64_t files;
};

/* One that is held. */
struct store_entry {
        int lock;   /* owned: the folder, locked; -1: none */
        char *path; /* owned: the tree's absolute path */
};

void store_entry_done(struct store_entry *entry);
/* Whether there is a whole one; it is then held. */
bool store_get(const char *directory, const char key[HASH_TEXT_MAX], struct store_entry *ret_entry);
/* Copies what lies below `source` (-1: nothing) into the store and holds it. Nothing is followed;
 * links are kept as links, anything but files, folders and links is left out, modes become 0644 or
 * 0755. */
int store_put(const char *directory, const char key[HASH_TEXT_MAX], int source,
              const struct store_bounds *bounds, struct store_entry *ret_entry, struct error *err);

/* Removes one that nobody holds. */
void store_remove(const char *directory, const char key[HASH_TEXT_MAX]);

/* store_tree.c: the tree itself. */
int store_copy(int from, int to, const struct store_bounds *bounds, struct error *err);
/* The hash of the tree, and how many bytes it holds; -1 with errno. */
int store_measure(int tree, char hash[HASH_TEXT_MAX], uint64_t *ret_bytes);

#endif
