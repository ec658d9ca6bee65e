/* The parts of language_find(): where a tool may be, what a version manager says, asking a tool for
 * its version, and remembering the answers. */
#ifndef LANGUAGES_LANGUAGES_FIND_H
#define LANGUAGES_LANGUAGES_FIND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum {
        VERSION_MAX = 64,
        VERSION_OUTPUT_MAX = 4096,
        VERSION_TIMEOUT_MS = 5000,
        TOOL_ARGUMENTS_MAX = 67, /* a language's list, the tool and what runs it */
};

/* languages_version.c: takes the first "digits.digits[.digits...]" of `text` into `version`, which
 * is empty when there is none. */
void version_extract(const char *text, size_t length, char version[VERSION_MAX]);
/* Compares number by number: "3.9" is less than "3.10", "3" equals "3.0". */
int version_compare(const char *a, const char *b);
/* Runs `argv` in the root directory with `environment` and waits at most `timeout_ms`. Whether it
 * ended by itself, so that asking again would give the same; `*ret_used` bytes of what it printed,
 * which are 0 where it failed. */
bool tool_ask(const char *const *argv, const char *const *environment, unsigned timeout_ms,
              char answer[VERSION_OUTPUT_MAX], size_t *ret_used);
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
bool shim_cache_get(const char *directory, const char *path, const struct stat *st,
                    char target[PATH_MAX]);
void shim_cache_put(const char *directory, const char *path, const struct stat *st,
                    const char *target);

/* languages_candidates.c: the path that a candidate stands for: '~/' is the caller's home, '*' the
 * highest version that is there. False where there is none. */
bool candidate_expand(const char *candidate, char path[PATH_MAX]);
/* The `index`th path at which $PATH has a program named like the candidate. False at the end. */
bool candidate_in_path(const char *candidate, size_t index, char path[PATH_MAX]);

/* languages_trust.c: why the file is not run, or NULL. `is_private`: what was found through the
 * caller's environment must belong to the caller or to root. */
const char *tool_refuse(const char *path, bool is_private, struct stat *ret_st);

/* languages_shim.c: whether the program at `path` only stands for another one that a version
 * manager chooses. The manager is asked once; `target` is empty where it names none. */
bool shim_resolve(const char *path, const char *cache_dir, char target[PATH_MAX]);

#endif
