/* Requests: what the program needs beside its language. */
#include "request/request.h"
#include "base/str.h"

#include <string.h>

enum { DEPS_PATH_MAX = 4095, REGISTRY_MAX = 255, REGISTRIES_MAX = 16 };

int request_set_deps(struct request *req, const char *path, struct error *err)
{
        char *copy;

        if (!*path || strlen(path) > DEPS_PATH_MAX)
                return error_set(err, SBX_EINVAL,
                                 "the path of the dependencies must be 1 to %d bytes",
                                 DEPS_PATH_MAX);
        copy = mem_strdup(path);
        if (!copy)
                return error_set_nomem(err);
        mem_free(req->deps);
        req->deps = copy;
        return 0;
}

int request_add_registry(struct request *req, const char *place, struct error *err)
{
        static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789.-_:[]";
        const char *colon = strrchr(place, ':');
        char shown[160];
        int r;

        if (!*place || place[strspn(place, characters)] || strlen(place) > REGISTRY_MAX ||
            place[0] == ':' || (colon && !colon[1])) {
                r = error_set(err, SBX_EINVAL, "'%s' is not of the form HOST[:PORT]",
                              str_printable(place, shown, sizeof(shown)));
                error_hint(err, "a name or an address, without 'https://' and path");
                return r;
        }
        if (req->registries.count == REGISTRIES_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d registries", REGISTRIES_MAX);
        return strlist_add(&req->registries, place) < 0 ? error_set_nomem(err) : 0;
}
