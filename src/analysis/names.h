/* A table of names: strings to pointers, in an arena. */
#ifndef ANALYSIS_NAMES_H
#define ANALYSIS_NAMES_H

#include "analysis/arena.h"

struct names {
        struct names_entry **buckets; /* in the arena */
        size_t bucket_count, count;
};

/* The slot of the name; NULL where it is not there. */
void **names_find(const struct names *names, const char *name, size_t length);
/* The slot of the name, made where it is not there, then holding NULL. */
void **names_put(struct arena *arena, struct names *names, const char *name, size_t length);

#endif
