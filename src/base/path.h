/* Paths compared by their words; nothing is looked up. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <string.h>

static inline bool path_is_below(const char *path, const char *folder)
{
        size_t length = strlen(folder);

        if (length == 0 || strncmp(path, folder, length) != 0)
                return false;
        return folder[length - 1] == '/' ? path[length] != '\0' : path[length] == '/';
}

/* The folder itself, or below it. */
static inline bool path_is_within(const char *path, const char *folder)
{
        return strcmp(path, folder) == 0 || path_is_below(path, folder);
}

#endif
