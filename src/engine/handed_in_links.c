/*
 * The way to what is handed in, and links that a program could have made.
 *
 * What is handed in is named by the caller, who may use links. But below a directory that programs
 * can write to, those of earlier runs may have put one: what it leads to was never handed in. So a
 * path that goes into such a directory must go on from there without a link. A program that runs
 * meanwhile may exchange a folder and a link: what was found here is opened without following one.
 */
#include "engine/handed_in.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "kernel/sys.h"
#include "policy/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 40 };

/* The way so far, without links, and the words that are left to go. */
struct way {
        char place[PATH_MAX]; /* "": the root */
        char rest[2 * PATH_MAX];
        bool ends_in_link;
        struct handed_in_way *found;
};

static bool fail(int error)
{
        errno = error;
        return false;
}

static bool put_before(struct way *way, const char *path, bool slash)
{
        size_t length = strlen(path), rest = strlen(way->rest);

        if (length + slash + rest >= sizeof(way->rest))
                return fail(ENAMETOOLONG);
        memmove(way->rest + length + slash, way->rest, rest + 1);
        memcpy(way->rest, path, length);
        if (slash)
                way->rest[length] = '/';
        if (path[0] == '/')
                way->place[0] = '\0';
        return true;
}

/* Whether a slash follows is what makes a word a folder's. */
static bool take_word(struct way *way, char ret[NAME_MAX + 1], bool *ret_slash)
{
        size_t length = strcspn(way->rest, "/");

        if (length > NAME_MAX)
                return fail(ENAMETOOLONG);
        memcpy(ret, way->rest, length);
        ret[length] = '\0';
        *ret_slash = way->rest[length] == '/';
        length += *ret_slash;
        memmove(way->rest, way->rest + length, strlen(way->rest + length) + 1);
        return true;
}

static void go_up(struct way *way)
{
        char *slash = strrchr(way->place, '/');

        if (slash)
                *slash = '\0';
}

static bool is_at_end(const struct way *way)
{
        return way->rest[strspn(way->rest, "/")] == '\0';
}

/* The links in /proc are no paths: they lead to what is open, which may have no name. */
static bool follow_open(struct way *way, const char *link)
{
        way->found->is_open = is_at_end(way);
        if (way->found->is_open)
                (void)strcpy(way->place, link);
        else if (!realpath(link, way->place))
                return false;
        if (strcmp(way->place, "/") == 0)
                way->place[0] = '\0';
        return true;
}

static bool follow(struct way *way, const char *link, const char *target, bool slash)
{
        struct strlist *links = &way->found->links;

        if (str_has_prefix(link, "/proc/"))
                return follow_open(way, link);
        if (links->count == LINKS_MAX)
                return fail(ELOOP);
        if (strlist_add(links, way->place[0] ? way->place : "/") < 0)
                return fail(ENOMEM);
        way->ends_in_link |= is_at_end(way);
        return put_before(way, target, slash);
}

static bool is_folder(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Goes one word further. */
static bool go_on(struct way *way, const char *word, bool slash)
{
        char next[PATH_MAX + NAME_MAX + 2], target[PATH_MAX];
        ssize_t n;
        int why;

        (void)snprintf(next, sizeof(next), "%s/%s", way->place, word);
        if (strlen(next) >= PATH_MAX)
                return fail(ENAMETOOLONG);
        n = readlink(next, target, sizeof(target) - 1);
        if (n >= 0) {
                target[n] = '\0';
                return follow(way, next, target, slash);
        }
        why = errno; /* EINVAL: there is something, and no link */
        if (why != EINVAL && (why != ENOENT || !is_at_end(way)))
                return false;
        if (why == EINVAL && slash && !is_folder(next))
                return fail(ENOTDIR);
        way->found->is_dangling = why == ENOENT && way->ends_in_link;
        (void)strcpy(way->place, next);
        return true;
}

static bool go(struct way *way)
{
        char word[NAME_MAX + 1];
        bool slash;

        if (!take_word(way, word, &slash))
                return false;
        if (strcmp(word, "..") == 0)
                go_up(way);
        else if (word[0] && strcmp(word, ".") != 0)
                return go_on(way, word, slash);
        return true;
}

static bool begin(struct way *way, const char *given)
{
        char here[PATH_MAX];

        if (!given[0])
                return fail(ENOENT);
        if (!put_before(way, given, false))
                return false;
        if (given[0] == '/')
                return true;
        if (!getcwd(here, sizeof(here)))
                return false;
        return here[0] == '/' ? put_before(way, here, true) : fail(ENOENT);
}

int handed_in_walk(const char *given, struct handed_in_way *ret_way)
{
        struct way way = { .found = ret_way };
        bool goes;

        *ret_way = (struct handed_in_way){ 0 };
        goes = begin(&way, given);
        while (goes && way.rest[0])
                goes = go(&way);
        if (goes) {
                ret_way->place = mem_strdup(way.place[0] ? way.place : "/");
                goes = ret_way->place || fail(ENOMEM);
        }
        if (!goes)
                handed_in_way_done(ret_way);
        return goes ? 0 : -1;
}

void handed_in_way_done(struct handed_in_way *way)
{
        int saved = errno;

        mem_free(way->place);
        strlist_done(&way->links);
        *way = (struct handed_in_way){ 0 };
        errno = saved;
}

/* What cannot be reached, no program of this user's has written to. */
static int add_place(const char *path, struct strlist *places, struct error *err)
{
        struct handed_in_way way;
        int r;

        if (handed_in_walk(path, &way) < 0)
                return errno == ENOMEM ? error_set_nomem(err) : 0;
        r = strlist_add(places, way.place);
        handed_in_way_done(&way);
        return r < 0 ? error_set_nomem(err) : 0;
}

int handed_in_writable(const struct policy *const *layers, size_t count, const char *workspace,
                       struct strlist *ret_places, struct error *err)
{
        struct strlist paths = { 0 };
        int r = workspace && strlist_add(&paths, workspace) < 0 ? error_set_nomem(err) : 0;

        for (size_t i = 0; i < count && r == 0; i++)
                if (layers[i])
                        r = policy_add_writable(layers[i], &paths, err);
        for (size_t i = 0; i < paths.count && r == 0; i++)
                r = add_place(paths.items[i], ret_places, err);
        strlist_done(&paths);
        return r;
}

static int refuse_planted(const char *what, const char *given, const struct handed_in_way *way,
                          const struct strlist *writable, struct error *err)
{
        for (size_t i = 0; i < way->links.count; i++)
                for (size_t j = 0; j < writable->count; j++) {
                        char shown[256], place[256];
                        int r;

                        if (!path_is_within(way->links.items[i], writable->items[j]))
                                continue;
                        r = error_set(
                                err, SBX_EINVAL,
                                "%s '%s' goes through a link in '%s', which programs can write to",
                                what, str_printable(given, shown, sizeof(shown)),
                                str_printable(writable->items[j], place, sizeof(place)));
                        error_hint(err, "name the place itself, or remove the link if a program "
                                        "made it");
                        return r;
                }
        return 0;
}

int handed_in_find(const char *what, const char *given, bool directory,
                   const struct strlist *writable, char **ret_place, struct error *err)
{
        struct handed_in_way way;
        char *place = NULL;
        int r;

        if (handed_in_walk(given, &way) < 0)
                return handed_in_failed(what, given, directory, err);
        r = refuse_planted(what, given, &way, writable, err);
        errno = ENOENT;
        if (r == 0 && !way.is_dangling)
                place = way.is_open ? realpath(way.place, NULL) : TAKE(way.place);
        if (r == 0 && !place)
                r = handed_in_failed(what, given, directory, err);
        if (r == 0)
                *ret_place = place;
        handed_in_way_done(&way);
        return r;
}

/* The folder above a place, opened without a link, and the name in it. */
static int open_parent(const char *place, const char **ret_name)
{
        const char *slash = strrchr(place, '/');
        char parent[PATH_MAX];

        (void)snprintf(parent, sizeof(parent), "%.*s", slash > place ? (int)(slash - place) : 1,
                       place);
        *ret_name = slash[1] ? slash + 1 : ".";
        return sys_openat2(AT_FDCWD, parent, O_PATH | O_DIRECTORY, SYS_RESOLVE_NO_SYMLINKS);
}

int handed_in_make_folder(const char *place, unsigned mode)
{
        const char *name;
        AUTO_CLOSE int parent = open_parent(place, &name);

        return parent < 0 ? -1 : mkdirat(parent, name, mode);
}

int handed_in_remove_folder(const char *place)
{
        const char *name;
        AUTO_CLOSE int parent = open_parent(place, &name);

        return parent < 0 ? -1 : unlinkat(parent, name, AT_REMOVEDIR);
}

/* Below a folder that is open already; a name that has become a link meanwhile is not followed. */
static int open_at(int folder, const char *name, int flags, unsigned mode)
{
        if ((flags & O_DIRECTORY) && (flags & O_CREAT)) {
                if (mkdirat(folder, name, mode) < 0 && errno != EEXIST)
                        return -1;
                flags &= ~O_CREAT;
        }
        return openat(folder, name, flags | O_CLOEXEC, mode);
}

static int open_found(const struct handed_in_way *way, int flags, unsigned mode)
{
        const char *name;
        AUTO_CLOSE int parent = -1;

        if (way->is_dangling && (flags & O_DIRECTORY)) {
                errno = ENOENT;
                return -1;
        }
        if (way->is_open)
                return open_at(AT_FDCWD, way->place, flags, mode);
        parent = open_parent(way->place, &name);
        return parent < 0 ? -1 : open_at(parent, name, flags | O_NOFOLLOW, mode);
}

int handed_in_open(const char *what, const char *given, int flags, unsigned mode,
                   const struct strlist *writable, int *ret_fd, struct error *err)
{
        struct handed_in_way way = { 0 };
        char shown[256];
        int fd = -1, r = 0, why;

        if (writable->count == 0) {
                fd = open_at(AT_FDCWD, given, flags, mode); /* every link is the caller's own */
        } else if (handed_in_walk(given, &way) == 0) {
                r = refuse_planted(what, given, &way, writable, err);
                fd = r == 0 ? open_found(&way, flags, mode) : -1;
        }
        why = errno;
        handed_in_way_done(&way);
        if (r == 0 && fd < 0)
                r = error_set_errno(err, "open '%s'", str_printable(given, shown, sizeof(shown)));
        if (r == 0)
                *ret_fd = fd;
        errno = why;
        return r;
}
