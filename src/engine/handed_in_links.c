/*
 * Links that a program could have made.
 *
 * What is handed in is named by the caller, who may use links. But below a directory that programs
 * can write to, those of earlier runs may have put one: what it leads to was never handed in. So a
 * path that goes into such a directory must go on from there without a link.
 */
#include "engine/passage.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path by its words alone: without ".", empty ones and "..". */
static void tidy(const char *path, char ret[PATH_MAX])
{
        size_t length = 0;

        while (*path) {
                size_t n = strcspn(path, "/");

                if (n == 2 && strncmp(path, "..", 2) == 0) {
                        while (length > 0 && ret[--length] != '/')
                                ;
                } else if (n > 0 && !(n == 1 && *path == '.') && length + n + 1 < PATH_MAX) {
                        ret[length++] = '/';
                        memcpy(ret + length, path, n);
                        length += n;
                }
                path += n + (path[n] == '/');
        }
        ret[length] = '\0';
}

/* Where a path goes into the directory first: the place, and how much of the path that was. */
static size_t find_entry(const char *path, const char *folder, char ret_place[PATH_MAX])
{
        char partial[PATH_MAX];

        for (size_t i = 1; path[i - 1]; i++) {
                if (path[i] != '/' && path[i] != '\0')
                        continue;
                memcpy(partial, path, i);
                partial[i] = '\0';
                if (realpath(partial, ret_place) && handed_in_is_within(ret_place, folder))
                        return i;
        }
        return 0;
}

bool handed_in_follows_link(const char *given, const char *real, const char *folder)
{
        char path[PATH_MAX], place[PATH_MAX], whole[2 * PATH_MAX], expected[PATH_MAX];
        size_t length = 0, end;

        if (given[0] != '/') {
                if (!getcwd(path, sizeof(path) - 1))
                        return true;
                length = strlen(path);
                path[length++] = '/';
        }
        if (length + strlen(given) >= sizeof(path))
                return true;
        strcpy(path + length, given);
        end = find_entry(path, folder, place);
        if (end == 0)
                return false;
        (void)snprintf(whole, sizeof(whole), "%s%s", place, path + end);
        tidy(whole, expected);
        return strcmp(expected, real) != 0;
}
