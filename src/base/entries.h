/*
 * The names in a directory, one after the other, without an allocation: readdir() costs one, which
 * in small programs is dearer than what is read.
 */
#ifndef BASE_ENTRIES_H
#define BASE_ENTRIES_H

enum { ENTRIES_BYTES = 1024 };

struct entries {
        int dir; /* borrowed; its position moves */
        long at, end;
        char buffer[ENTRIES_BYTES] __attribute__((aligned(8)));
};

void entries_begin(struct entries *entries, int dir);
/* The next name but "." and "..", good until the one after; NULL: there is none, or it cannot be
 * read. */
const char *entries_next(struct entries *entries);

#endif
