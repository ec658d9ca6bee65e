/*
 * A cryptographic hash, SHA-256: what a cache entry is found by and checked with. Two inputs of
 * one hash are taken for the same input, so whoever adds several parts gives each its length
 * (hash_update_part) lest the end of one be read as the beginning of the next.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <sha2.h>
#include <stddef.h>

enum { HASH_BYTES = 32, HASH_TEXT_MAX = 2 * HASH_BYTES + 1 };

struct hash {
        SHA2_CTX context;
};

void hash_init(struct hash *hash);
void hash_update(struct hash *hash, const void *data, size_t length);
/* The length, then the bytes; NULL text differs from an empty one. */
void hash_update_part(struct hash *hash, const void *data, size_t length);
void hash_update_text(struct hash *hash, const char *text);
/* A NULL-terminated list, and its end. */
void hash_update_words(struct hash *hash, const char *const *words);
/* Which file stands at a path, and in which state: 0, or -1 with errno. */
int hash_update_identity(struct hash *hash, const char *path);
/* Everything of an open file from its beginning; 0, or -1 with errno. Moves no offset. */
int hash_update_fd(struct hash *hash, int fd);
/* 64 lower-case hexadecimal digits; the hash begins anew only after hash_init(). */
void hash_final(struct hash *hash, char text[HASH_TEXT_MAX]);

#endif
