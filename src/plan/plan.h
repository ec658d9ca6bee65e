/*
 * The plan: the complete, immutable order for one run, with nothing left to default.
 *
 * The supervisor fills it in, encodes it into a sealed memory file and hands it, with descriptors,
 * to the helper (src/init), which decodes it without allocating: strings point into the encoded
 * bytes, arrays into an arena of the caller's. The decoder trusts no length.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/error.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum plan_kind { PLAN_CONTAINER, PLAN_LOCAL };
enum plan_network {
        PLAN_NETWORK_NONE,
        PLAN_NETWORK_LOCALHOST,
        PLAN_NETWORK_ASKED, /* a loopback and a resolver; connections are the supervisor's to make
                             */
        PLAN_NETWORK_HOST
};

/* What the monitor is asked about before it starts. */
enum plan_ask { PLAN_ASK_NOTHING, PLAN_ASK_ALL, PLAN_ASK_THREADS };

enum plan_mount_kind {
        PLAN_MOUNT_SYSTEM, /* a path of the host at its own place, read-only; absent is fine, a
                            * symbolic link is made again */
        PLAN_MOUNT_PLAIN,  /* a file of the host, read-only, as everybody sees it */
        PLAN_MOUNT_READ,   /* a volume, read-only */
        PLAN_MOUNT_WRITE,  /* a volume, writable */
        PLAN_MOUNT_KINDS
};

struct plan_mount {
        uint32_t kind;
        const char *source; /* absolute, without symbolic links (a SYSTEM path may be one) */
        const char *target; /* absolute */
};

/* A file made inside: its bytes, or a part of a descriptor to copy. */
struct plan_file {
        const char *path;      /* absolute */
        uint32_t mode;         /* with S_IFLNK: a link, whose target the bytes are */
        uint32_t by_guest;     /* the guest makes it, in its workspace, as its own */
        uint32_t fd_number;    /* 1 + index among the plan's file descriptors; 0: `data` */
        uint64_t offset, size; /* of the part, where there is a descriptor */
        const char *data;
        uint32_t length;
};

struct plan {
#define U32(field) uint32_t field;
#define U64(field) uint64_t field;
#define STR(field) const char *field;
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        struct plan_mount *mounts;
        uint32_t mount_count;
        struct plan_file *files;
        uint32_t file_count;
        const char **arguments; /* NULL-terminated */
        uint32_t argument_count;
        const char **environment; /* NULL-terminated */
        uint32_t environment_count;
};

enum {
        PLAN_MAGIC = 0x31786273, /* "sbx1" */
        PLAN_BYTES_MAX = 16 << 20,
        PLAN_LIST_MAX = 200000,
};

/* Appends the encoded plan. Out of memory is in `out->failed`. */
void plan_encode(const struct plan *plan, struct strbuf *out);

/* An arena as large as this is enough for any plan of `length` encoded bytes. */
size_t plan_arena_size(size_t length);
/* Decodes; NULL, or what is wrong with it. `arena` must be aligned for pointers and outlive the
 * plan, as must `data`. */
const char *plan_decode(const void *data, size_t length, void *arena, size_t arena_size,
                        struct plan *ret_plan);

#endif
