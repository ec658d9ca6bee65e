/*
 * Folders of the caller's own, where something is kept between runs. What somebody else could write
 * into is not believed: such a folder or file is as good as none.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Whether it is of that kind (S_IFDIR, S_IFREG), ours, and nobody else's to write. */
bool folder_is_own(int fd, mode_t kind);
/* Makes the folder and those above it where they are missing. What fails shows when it is opened.
 */
void folder_make(const char *path);
/* The folder, or -1 where there is none to be trusted. */
int folder_open(const char *path);
/* The folder `name` in one of those, made where it is missing; -1 likewise. */
int folder_open_below(int folder, const char *name);
/* A name in the folder for what is temporary, which nobody guesses; it is not made yet. */
int folder_name_temporary(char *path, size_t size, struct error *err);

#endif
