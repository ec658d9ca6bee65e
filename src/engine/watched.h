/*
 * Files and folders that decide what a tool makes without being its input: settings, headers,
 * types. Their identity is part of a key, so that a change of them makes the kept thing anew.
 */
#ifndef ENGINE_WATCHED_H
#define ENGINE_WATCHED_H

#include "base/hash.h"
#include "base/str.h"
#include "languages/languages.h"

/* Replaces {tool}, {root}, {runtime} and {runtime_root}: what can be said of a tool before
 * anything is planned. `out` notes a lack of memory. */
void watched_expand(const struct language_tool *tool, const char *word, struct strbuf *out);

/* Adds the state of each path: "/absolute", "~/of the caller", "$VARIABLE/of the caller" or one
 * with words in braces. That one is absent is a state as well. -1 when out of memory. */
int watched_hash(const struct language_tool *tool, const char *const *paths, struct hash *hash);

#endif
