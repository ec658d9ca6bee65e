/* The wasm backend's side of a run: what the worker is given, and what it told. */
#ifndef ENGINE_WASM_H
#define ENGINE_WASM_H

#include "base/error.h"
#include "base/mem.h"
#include "languages/languages.h"
#include "plan/build.h"

#include <stdbool.h>

struct passage;
struct step_files;

enum { WASM_PARTS = 2, WASM_COMMAND_MAX = 4 };

/* Beside the linear memory: the engine, its image, tables. */
#define WASM_OVERHEAD (UINT64_C(64) << 20)

struct wasm_passage {
        int report_fd;            /* owned: what the worker writes into, or -1 */
        char *worker;             /* owned: the program */
        char *parts;              /* owned: the directory with engine and images */
        char *launcher;           /* owned: what a parked worker is started with, or NULL */
        struct strlist env;       /* of the worker */
        struct language language; /* the run's, with the paths of the worker */
        const char *command[WASM_COMMAND_MAX];
        const char *park[WASM_COMMAND_MAX]; /* how a worker is parked */
        struct plan_mount mounts[WASM_PARTS];
        char entry[4200]; /* where the guest finds its program */
};

void wasm_init(struct wasm_passage *wasm);
void wasm_done(struct wasm_passage *wasm);
/* Whether the run is on this backend, in either of its ways. */
bool wasm_is_used(const struct passage *passage);
/* The guest that runs a language; NULL where there is none. */
const char *wasm_guest_of(const struct language *language);
/* Whether the language has a guest, or is one. */
bool wasm_has_guest(const struct language *language);
/* "K=V" for what installs dependencies, so that a guest can use them; empty on other backends. */
const char *const *wasm_installs(const struct passage *passage);
/* The language as the run uses it: with the paths of the worker, where it is on this backend. */
const struct language *wasm_language(const struct passage *passage);
/* Whether the mount is one of the worker's own. */
bool wasm_is_part(const struct passage *passage, const struct plan_mount *mount);
/* Turns the plan of a run into that of the worker. */
int wasm_describe(struct passage *passage, struct plan_input *input, struct step_files *files,
                  struct error *err);
/* Puts what the worker told into the result. */
int wasm_settle(struct passage *passage, struct error *err);

/* wasm_parts.c: whether engine and guest of the language are there, and nobody else could have
 * changed them; else why not, SBX_EUNAVAILABLE. */
int wasm_check(struct passage *passage, struct error *err);
/* The version of the guest, as it was built; NULL where it is not known. Caller frees. */
char *wasm_version(struct passage *passage);
/* about.json of the parts as text, and where they are looked for; NULL where nothing was built. */
struct engine;
char *wasm_about(const struct engine *engine, char **ret_parts);

#endif
