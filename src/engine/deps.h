/*
 * The dependencies of a program: installed in a contained step of their own, which may reach the
 * package registry and nothing else, kept by what they came from, and mounted read-only at /deps
 * for compiler and program.
 */
#ifndef ENGINE_DEPS_H
#define ENGINE_DEPS_H

#include "base/bundle.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/gateway.h"
#include "engine/store.h"

struct passage;

struct deps {
        struct bundle files;      /* the list, and what locks it */
        char key[HASH_TEXT_MAX];  /* "": there are none */
        struct store_entry entry; /* where they are kept, once they are there */
        struct gateway gateway;   /* while they are installed */
        struct strlist places;    /* that it may reach */
        struct strlist env;       /* for the installer: "K=V" */
        struct strlist paths;     /* for the installer: files and folders of the system */
        struct bundle copies;     /* the same, of places that it has its own of */
        struct result_violation refused[RESULT_VIOLATIONS_MAX]; /* to be told with the rest */
        size_t refused_count;
};

void deps_init(struct deps *deps);
void deps_done(struct passage *passage);
/* Adds what the installer was refused to the result. */
void deps_tell(const struct passage *passage);

/* deps_message.c: the sentence of the result, where it is theirs. */
bool deps_compose(struct result *result);

/* registry.c: asks the tool where its registry is; fills places, env and paths. */
int registry_ask(struct passage *passage, struct error *err);

#endif
