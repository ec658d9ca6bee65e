/*
 * What a caller hands in: a workspace, volumes. It is named by paths, which may go through links of
 * the caller's own. A path is gone once, word by word; what was found is used from then on, and
 * opened without a link: whoever can write there could put one in the way meanwhile.
 */
#ifndef ENGINE_HANDED_IN_H
#define ENGINE_HANDED_IN_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>

struct policy;

/* handed_in_links.c */
struct handed_in_way {
        char *place;          /* owned: where it leads, without a link */
        struct strlist links; /* the folders in which one was followed */
        bool is_open;         /* the place is a link of the kernel's to what somebody has open */
        bool is_dangling;     /* a link ends there, and nothing is there: no folder is made so */
};

/* Goes the way. Its end need not be there: it may yet be made. 0, or -1 with errno. */
int handed_in_walk(const char *given, struct handed_in_way *ret_way);
void handed_in_way_done(struct handed_in_way *way);
/* The places that programs can write to by any of the layers (NULL is none), and the workspace, or
 * NULL: all that earlier runs under them may have left links in. */
int handed_in_writable(const struct policy *const *layers, size_t count, const char *workspace,
                       struct strlist *ret_places, struct error *err);
/* Where the path leads. A link on its way that lies in a folder of `writable`, which programs can
 * write to, is a refusal. `what` stands for the path in messages. Caller frees. */
int handed_in_find(const char *what, const char *given, bool directory,
                   const struct strlist *writable, char **ret_place, struct error *err);
/* Opens a path of the caller's as open(2) does, close-on-exec, but for links that programs could
 * have made: such a one is SBX_EINVAL, what cannot be opened SBX_ESYSTEM, with errno. A folder that
 * is not there is made where O_DIRECTORY and O_CREAT stand together. */
int handed_in_open(const char *what, const char *given, int flags, unsigned mode,
                   const struct strlist *writable, int *ret_fd, struct error *err);
/* Makes a folder at a place that was found, or removes an empty one; 0 or -1 with errno. */
int handed_in_make_folder(const char *place, unsigned mode);
int handed_in_remove_folder(const char *place);

/* handed_in.c: refuses a place that is no data, or not a directory where one is wanted. */
int handed_in_check(const char *what, const char *given, const char *place, bool directory,
                    struct error *err);
/* What could not be reached, with errno. */
int handed_in_failed(const char *what, const char *given, bool directory, struct error *err);

#endif
