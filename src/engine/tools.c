/*
 * Where the tools of languages were found a moment ago. To look takes two dozen system calls, which
 * is much beside a warm start; so an engine that keeps interpreters warm looks once a second, and
 * in between only whether the file is still the one that it found. A better candidate that is
 * installed meanwhile is seen by the next look.
 */
#include "engine/tools.h"
#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TOOLS_MAX = 64 };
#define GOOD_FOR_NS UINT64_C(1000000000)

struct found {
        const struct language *language; /* borrowed: it lives as long as the engine; NULL: free */
        char *path, *runtime;            /* owned */
        char version[sizeof(((struct language_tool *)0)->version)];
        struct stat st, runtime_st; /* the latter of what runs it, where something does */
        uint64_t at_ns;
};

struct tools {
        pthread_mutex_t lock;
        struct found found[TOOLS_MAX]; /* guarded by lock */
};

struct tools *tools_new(void)
{
        struct tools *tools = mem_alloc(sizeof(*tools));

        if (tools)
                (void)pthread_mutex_init(&tools->lock, NULL); /* cannot fail so */
        return tools;
}

static void forget(struct found *found)
{
        mem_free(found->path);
        mem_free(found->runtime);
        *found = (struct found){ 0 };
}

void tools_free(struct tools *tools)
{
        if (!tools)
                return;
        for (size_t i = 0; i < TOOLS_MAX; i++)
                forget(&tools->found[i]);
        (void)pthread_mutex_destroy(&tools->lock);
        mem_free(tools);
}

/* With the lock: the place of this language, or a free one, or NULL. */
static struct found *place_of(struct tools *tools, const struct language *language)
{
        struct found *free_one = NULL;

        for (size_t i = 0; i < TOOLS_MAX; i++) {
                if (tools->found[i].language == language)
                        return &tools->found[i];
                if (!free_one && !tools->found[i].language)
                        free_one = &tools->found[i];
        }
        return free_one;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_unchanged(const char *path, const struct stat *before)
{
        struct stat now;

        return stat(path, &now) == 0 && is_same_file(&now, before);
}

static bool is_good(const struct found *found)
{
        return clock_now_ns() - found->at_ns < GOOD_FOR_NS &&
               is_unchanged(found->path, &found->st) &&
               (!found->runtime[0] || is_unchanged(found->runtime, &found->runtime_st));
}

static bool recall(struct tools *tools, const struct language *language,
                   struct language_tool *ret_tool)
{
        bool is_known = false;
        struct found *found;

        (void)pthread_mutex_lock(&tools->lock);
        found = place_of(tools, language);
        if (found && found->language && is_good(found)) {
                (void)snprintf(ret_tool->path, sizeof(ret_tool->path), "%s", found->path);
                (void)snprintf(ret_tool->runtime, sizeof(ret_tool->runtime), "%s", found->runtime);
                memcpy(ret_tool->version, found->version, sizeof(found->version));
                is_known = true;
        }
        (void)pthread_mutex_unlock(&tools->lock);
        return is_known;
}

static void remember(struct tools *tools, const struct language *language,
                     const struct language_tool *tool)
{
        struct found now = { .language = language, .at_ns = clock_now_ns() };
        struct found *place;

        if (!tool->path[0] || stat(tool->path, &now.st) < 0 ||
            (tool->runtime[0] && stat(tool->runtime, &now.runtime_st) < 0))
                return;
        memcpy(now.version, tool->version, sizeof(now.version));
        now.path = mem_strdup(tool->path);
        now.runtime = mem_strdup(tool->runtime);
        (void)pthread_mutex_lock(&tools->lock);
        place = now.path && now.runtime ? place_of(tools, language) : NULL;
        if (place) {
                forget(place);
                *place = now;
        } else {
                forget(&now);
        }
        (void)pthread_mutex_unlock(&tools->lock);
}

int tools_find(struct tools *tools, const struct language *language, const char *cache_dir,
               struct language_tool *ret_tool, struct error *err)
{
        int r;

        if (tools && recall(tools, language, ret_tool))
                return 0;
        r = language_find(language, cache_dir, ret_tool, err);
        if (r == 0 && tools)
                remember(tools, language, ret_tool);
        return r;
}
