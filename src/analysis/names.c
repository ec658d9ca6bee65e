#include "analysis/names.h"

#include <string.h>

struct names_entry {
        struct names_entry *next;
        uint64_t hash;
        size_t length;
        void *value;
        char name[];
};

/* FNV-1a. Names of a hostile source can be made to collide; the steps of the analysis are bounded,
 * and so is its CPU time. */
static uint64_t hash_of(const char *name, size_t length)
{
        uint64_t hash = 0xcbf29ce484222325u;

        for (size_t i = 0; i < length; i++)
                hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
        return hash;
}

void **names_find(const struct names *names, const char *name, size_t length)
{
        uint64_t hash = hash_of(name, length);

        if (!names->bucket_count)
                return NULL;
        for (struct names_entry *entry = names->buckets[hash & (names->bucket_count - 1)]; entry;
             entry = entry->next)
                if (entry->hash == hash && entry->length == length &&
                    memcmp(entry->name, name, length) == 0)
                        return &entry->value;
        return NULL;
}

static void grow(struct arena *arena, struct names *names)
{
        size_t count = names->bucket_count ? names->bucket_count * 4 : 64;
        struct names_entry **buckets = arena_alloc(arena, count * sizeof(struct names_entry *));

        for (size_t i = 0; i < names->bucket_count; i++)
                for (struct names_entry *entry = names->buckets[i], *next; entry; entry = next) {
                        next = entry->next;
                        entry->next = buckets[entry->hash & (count - 1)];
                        buckets[entry->hash & (count - 1)] = entry;
                }
        names->buckets = buckets;
        names->bucket_count = count;
}

void **names_put(struct arena *arena, struct names *names, const char *name, size_t length)
{
        void **slot = names_find(names, name, length);
        struct names_entry *entry;

        if (slot)
                return slot;
        if (names->count >= names->bucket_count)
                grow(arena, names);
        entry = arena_alloc(arena, sizeof(*entry) + length + 1);
        entry->hash = hash_of(name, length);
        entry->length = length;
        memcpy(entry->name, name, length);
        entry->next = names->buckets[entry->hash & (names->bucket_count - 1)];
        names->buckets[entry->hash & (names->bucket_count - 1)] = entry;
        names->count++;
        return &entry->value;
}
