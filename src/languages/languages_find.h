/* The parts of language_find(): asking a tool for its version, and remembering the answer. */
#ifndef LANGUAGES_LANGUAGES_FIND_H
#define LANGUAGES_LANGUAGES_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { VERSION_MAX = 64, VERSION_OUTPUT_MAX = 4096, VERSION_TIMEOUT_MS = 5000 };

/* languages_version.c: takes the first "digits.digits[.digits...]" of `text` into `version`, which
 * is empty when there is none. */
void version_extract(const char *text, size_t length, char version[VERSION_MAX]);
/* Compares number by number: "3.9" is less than "3.10", "3" equals "3.0". */
int version_compare(const char *a, const char *b);
/* Runs `path` with `arguments` and waits at most `timeout_ms`. Whether it answered, so that asking
 * again would give the same; `version` is empty where the answer holds none. */
bool version_ask(const char *path, const char *const *arguments, unsigned timeout_ms,
                 char version[VERSION_MAX]);

/* languages_cache.c: whether the version of this very file is remembered in `directory`. */
bool version_cache_get(const char *directory, const char *path, const struct stat *st,
                       char version[VERSION_MAX]);
/* Remembers it. That it could not is no error: the tool is asked again next time. */
void version_cache_put(const char *directory, const char *path, const struct stat *st,
                       const char *version);

#endif
