/*
 * Links that a program could have made.
 *
 * What is handed in is named by the caller, who may use links. But below a directory that programs
 * can write to, those of earlier runs may have put one: what it leads to was never handed in. So a
 * path that goes into such a directory must go on from there without a link.
 */
#include "engine/passage.h"
#include "base/path.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* The way so far, without links, and the words that are left to go. */
struct way {
        char place[PATH_MAX]; /* "": the root */
        char rest[2 * PATH_MAX];
};

static bool put_before(struct way *way, const char *path)
{
        size_t length = strlen(path), rest = strlen(way->rest);

        if (length + 1 + rest >= sizeof(way->rest))
                return false;
        memmove(way->rest + length + 1, way->rest, rest + 1);
        memcpy(way->rest, path, length);
        way->rest[length] = '/';
        if (path[0] == '/')
                way->place[0] = '\0';
        return true;
}

static void take_word(struct way *way, char ret[NAME_MAX + 1])
{
        size_t length = strcspn(way->rest, "/");
        size_t used = length + (way->rest[length] == '/');

        (void)snprintf(ret, NAME_MAX + 1, "%.*s", (int)length, way->rest);
        memmove(way->rest, way->rest + used, strlen(way->rest + used) + 1);
}

static void go_up(struct way *way)
{
        char *slash = strrchr(way->place, '/');

        if (slash)
                *slash = '\0';
}

/* Goes one word further; false where the way cannot be told. */
static bool go_on(struct way *way, const char *word, const char *folder, bool *ret_follows)
{
        char next[PATH_MAX + NAME_MAX + 2], target[PATH_MAX];
        ssize_t n;

        (void)snprintf(next, sizeof(next), "%s/%s", way->place, word);
        if (strlen(next) >= PATH_MAX)
                return false;
        n = readlink(next, target, sizeof(target) - 1);
        if (n >= 0 && path_is_within(way->place, folder)) {
                *ret_follows = true;
                return true;
        }
        /* The links in /proc are no paths: they lead to what is open. */
        if (n >= 0 && str_has_prefix(next, "/proc/"))
                return realpath(next, way->place) != NULL;
        if (n >= 0) {
                target[n] = '\0';
                return put_before(way, target);
        }
        (void)strcpy(way->place, next);
        return true;
}

bool handed_in_follows_link(const char *given, const char *folder)
{
        struct way way = { "", "" };
        char here[PATH_MAX], word[NAME_MAX + 1];
        bool follows = false;

        if (strlen(given) >= PATH_MAX || !put_before(&way, given) ||
            (given[0] != '/' && (!getcwd(here, sizeof(here)) || !put_before(&way, here))))
                return true;
        /* Each link can bring as many words as a path has. */
        for (int steps = 0; way.rest[0] && !follows; steps++) {
                take_word(&way, word);
                if (strcmp(word, "..") == 0)
                        go_up(&way);
                else if (word[0] && strcmp(word, ".") != 0 &&
                         (steps > LINKS_MAX * PATH_MAX || !go_on(&way, word, folder, &follows)))
                        return true;
        }
        return follows;
}
