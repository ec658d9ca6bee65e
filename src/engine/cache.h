/*
 * What compilers made, kept by what it was made from: the second run of a source starts no
 * compiler.
 *
 * One file per entry in a folder of the caller's own, named by its key, written aside and renamed,
 * so that readers and writers of several processes need no lock. An entry carries a checksum of
 * itself; one that is cut, damaged or not ours alone is removed and made again. The folder is
 * bounded: the entries used longest ago go first.
 */
#ifndef ENGINE_CACHE_H
#define ENGINE_CACHE_H

#include "base/bundle.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* A compiled program, and what the compiler said. */
struct cache_entry {
        struct bundle files;
        struct strbuf out, err;
};

void cache_entry_done(struct cache_entry *entry);
/* `directory` may be NULL: then nothing is kept. */
bool cache_get(const char *directory, const char key[HASH_TEXT_MAX], struct cache_entry *ret_entry);
/* That it could not be kept is no error: it is made again next time. */
void cache_put(const char *directory, const char key[HASH_TEXT_MAX],
               const struct cache_entry *entry, uint64_t most);
/* cache_trim.c: removes entries of an open cache folder until it holds no more than `most` bytes.
 */
void cache_trim(int folder, uint64_t most);

#endif
