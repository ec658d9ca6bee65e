/*
 * The daemon, spoken to over HTTP by libcurl: a socket of this machine, or another machine with or
 * without TLS. One connection is kept for all calls; attaching takes another.
 */
#ifndef DOCKER_DAEMON_H
#define DOCKER_DAEMON_H

#include "base/error.h"
#include "base/str.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
        DAEMON_ANSWER_MAX = 8 << 20,
        DAEMON_TIMEOUT_MS = 20000,
        DAEMON_CONNECT_MS = 5000,
        DAEMON_FILES_FACTOR = 15, /* a call that carries files has so many times the time */
        DAEMON_API_OLDEST = 40,   /* of 1.x */
        DAEMON_API_NEWEST = 51,
};

struct daemon {
        CURL *curl;
        char *host;      /* owned: as it was given */
        char *socket;    /* owned: path, or NULL */
        char *base;      /* owned: the beginning of every address */
        char *cert_path; /* owned: a folder, or NULL: no TLS */
        bool verify;
        long timeout_ms;
        unsigned api;       /* 1.x that both speak; 0: not asked yet */
        bool is_podman;     /* which takes the filter as a file of its machine */
        char *profile_path; /* owned: that file, where there is one */
        const char *users;  /* why its containers are in a user namespace; NULL: they are not */
        bool (*is_over)(void *); /* asked while a call is under way: whether to give up; or NULL */
        void *context;
};

/* `host` as in DOCKER_HOST. Nothing is connected yet. */
int daemon_open(struct daemon *daemon, const char *host, const char *cert_path, bool verify,
                long timeout_ms, struct error *err);
void daemon_close(struct daemon *daemon);
/* Connects and agrees on a version. */
int daemon_greet(struct daemon *daemon, struct error *err);

/* users.c: asks why its containers are in a user namespace, if they are; one that does not answer
 * is taken for one whose are not. */
void daemon_ask_users(struct daemon *daemon);

/* One call. `body` is JSON or NULL. An answer of 400 and above is an error with the daemon's own
 * words, its number in `ret_status`; which may be NULL, as `ret_answer`, which the caller frees. */
int daemon_call(struct daemon *daemon, const char *method, const char *path, const json_t *body,
                json_t **ret_answer, long *ret_status, struct error *err);

/* The same with a body that is read piece by piece: what is left to send is given by `read`. */
struct daemon_source {
        size_t (*read)(void *context, char *buffer, size_t size);
        void *context;
};
int daemon_put(struct daemon *daemon, const char *method, const char *path, const char *type,
               const struct daemon_source *source, struct strbuf *ret_answer, struct error *err);
/* The same with an answer that is handed on piece by piece; `write` returns false to give up. */
struct daemon_sink {
        bool (*write)(void *context, const char *data, size_t length);
        void *context;
        const struct daemon_source *source; /* what is sent meanwhile, or NULL */
        const char *type;
        bool has_no_end; /* it may take as long as it likes */
};
int daemon_fetch(struct daemon *daemon, const char *method, const char *path,
                 const struct daemon_sink *sink, struct error *err);

/* Attaches to a container: a connection that carries its streams from here on. `ret_curl` holds it
 * and is the caller's to curl_easy_cleanup(). */
int daemon_attach(struct daemon *daemon, const char *path, CURL **ret_curl, int *ret_fd,
                  struct strbuf *ret_first, struct error *err);

/* Puts the host, its TLS and its socket into a handle. */
void daemon_dress(const struct daemon *daemon, CURL *curl);

#endif
