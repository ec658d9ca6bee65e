/* Where the wasm backend's worker, engine and images are, and whether they may be loaded. */
#include "engine/passage.h"
#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory beside the worker where it is installed, or the one of the build. */
static char *find_parts(const char *worker)
{
        static const char *const beside[] = { "wasm", "../../wasm" };
        const char *slash = strrchr(worker, '/'), *chosen = secure_getenv("SANDBOX_WASM_PARTS");
        char path[4200], real[4300];

        if (chosen && *chosen)
                return realpath(chosen, NULL);
        for (size_t i = 0; slash && i < ARRAY_SIZE(beside); i++) {
                (void)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - worker), worker,
                               beside[i]);
                (void)snprintf(real, sizeof(real), "%s/libwasmtime.so", path);
                if (access(real, R_OK) == 0)
                        return realpath(path, NULL);
        }
        return NULL;
}

/* Native code is loaded from there: only we, root, or whoever the worker itself is from may have
 * put it there, and nobody else may change it. */
static bool is_trusted(const char *path, mode_t kind, const struct stat *worker)
{
        struct stat st;

        return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind &&
               !(st.st_mode & (S_IWOTH | S_IWGRP)) &&
               (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == worker->st_uid);
}

/* Whether somebody else could put another directory in the place of this one. Groups are left to
 * whoever made them: a home directory is often its owner's group's, /usr/local the staff's. */
static bool can_be_replaced(const char *directory)
{
        char path[4300];
        char *slash;
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s", directory);
        while ((slash = strrchr(path, '/')) != NULL) {
                *slash = '\0';
                if (stat(path[0] ? path : "/", &st) < 0 ||
                    ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)))
                        return true;
        }
        return false;
}

/* The parts that a guest needs, each as it must be. */
static int check_parts(const struct wasm_passage *wasm, const char *guest, struct error *err)
{
        static const struct {
                const char *format;
                mode_t kind;
                bool of_guest, may_lack;
        } parts[] = {
                { "%s", S_IFDIR, false, false },
                { "%s/libwasmtime.so", S_IFREG, false, false },
                { "%s/%s.cwasm", S_IFREG, true, false },
                { "%s/%s.zip", S_IFREG, true, true },
        };
        char path[4300];
        struct stat worker;
        int r;

        if (stat(wasm->worker, &worker) < 0)
                return error_set_errno(err, "'%s'", wasm->worker);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                if (parts[i].of_guest && str_equal(guest, "module"))
                        continue;
                (void)snprintf(path, sizeof(path), parts[i].format, wasm->parts, guest);
                if ((parts[i].may_lack && access(path, F_OK) < 0) ||
                    (is_trusted(path, parts[i].kind, &worker) &&
                     !(parts[i].kind == S_IFDIR && can_be_replaced(path))))
                        continue;
                r = error_set(err, SBX_EUNAVAILABLE,
                              "'%s' is not loaded: it can be written by others, is theirs, or is a "
                              "link",
                              path);
                error_hint(err, "make it root's or your own, and closed to others: chmod go-w");
                return r;
        }
        return 0;
}

/* The program, by its own path: it is mounted. What a package carries lies beside the other helper.
 * NULL where it is not there. */
static char *find_worker(const struct engine *engine)
{
        const char *chosen = secure_getenv("SANDBOX_WASM_WORKER");
        AUTO_FREE char *beside =
                chosen && *chosen ? NULL
                                  : engine_find_beside(engine->init_path, "sandbox-wasm", "wasm");
        AUTO_FREE char *found = NULL;

        if (beside)
                return TAKE(beside);
        found = engine_find_helper("sandbox-wasm", "SANDBOX_WASM_WORKER");
        return found ? realpath(found, NULL) : NULL;
}

char *wasm_about(const struct engine *engine, char **ret_parts)
{
        AUTO_FREE char *worker = find_worker(engine);
        AUTO_FREE char *parts = worker ? find_parts(worker) : NULL;
        char path[4200], text[4096];

        (void)snprintf(path, sizeof(path), "%s/about.json", parts ? parts : "");
        if (!parts || fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return NULL;
        if (ret_parts)
                *ret_parts = TAKE(parts);
        return mem_strdup(text);
}

char *wasm_version(struct passage *passage)
{
        AUTO_FREE char *about = wasm_about(passage->engine, NULL);
        json_t *json = about ? json_loads(about, 0, NULL) : NULL;
        const char *guest = wasm_guest_of(passage->language);
        json_t *one = json_object_get(json_object_get(json, "guests"), guest ? guest : "");
        char *version = mem_strdup(json_string_value(json_object_get(one, "version")));

        json_decref(json);
        return version;
}

static int missing(struct error *err, const char *what)
{
        int r = error_set(err, SBX_EUNAVAILABLE, "backend 'wasm' is not built: %s", what);

        error_hint(err, "build it once, in the source's folder: make wasm");
        return r;
}

int wasm_check(struct passage *passage, struct error *err)
{
        const char *guest = wasm_guest_of(passage->language);
        char path[4300];
        int r;

        if (!guest) {
                r = error_set(err, SBX_EUNAVAILABLE,
                              "backend 'wasm' runs python, javascript and modules, not '%s'",
                              passage->language->name);
                error_hint(err, "use '--backend container', or '--fallback container'");
                return r;
        }
        wasm_done(&passage->wasm);
        passage->wasm.worker = find_worker(passage->engine);
        passage->wasm.parts = passage->wasm.worker ? find_parts(passage->wasm.worker) : NULL;
        if (!passage->wasm.worker || access(passage->wasm.worker, X_OK) < 0)
                return missing(err, "the worker 'sandbox-wasm' is missing");
        (void)snprintf(path, sizeof(path), "%s/libwasmtime.so",
                       passage->wasm.parts ? passage->wasm.parts : "");
        if (!passage->wasm.parts || access(path, R_OK) < 0)
                return missing(err, "the engine is missing");
        (void)snprintf(path, sizeof(path), "%s/%s.cwasm", passage->wasm.parts, guest);
        if (!str_equal(guest, "module") && access(path, R_OK) < 0)
                return missing(err, "the guest is missing");
        return check_parts(&passage->wasm, guest, err);
}
