/*
 * The head of a proxy request, as bytes of somebody hostile: "CONNECT host:port" or a request in
 * absolute form ("GET http://host/path"). Pure functions over bytes; the fuzz target is
 * tests/fuzz/fuzz_proxy.c.
 */
#ifndef PROXY_REQUEST_H
#define PROXY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        REQUEST_HEAD_MAX = 16 << 10, /* bytes up to and with the empty line */
        REQUEST_HOST_MAX = 254,      /* a name's longest form, and NUL */
};

enum request_state {
        REQUEST_INCOMPLETE, /* go on reading */
        REQUEST_WRONG,      /* it will never be a request that we take */
        REQUEST_WHOLE,
};

struct proxy_request {
        bool is_tunnel;              /* CONNECT */
        char host[REQUEST_HOST_MAX]; /* lower case, without brackets and final dot */
        uint16_t port;
        size_t head_length;   /* with the empty line */
        size_t path_at;       /* absolute form: where the path begins within the head; a target
                               * without a path has it at its end */
        size_t path_length;   /* may be 0 */
        size_t method_length; /* the method begins the head */
        size_t line_length;   /* of the first line, with its end */
};

enum request_state request_parse(const char *data, size_t length,
                                 struct proxy_request *ret_request);
/* Splits "host:port", "[address]:port" or, with `default_port`, "host". False where it is neither.
 */
bool request_split_authority(const char *text, size_t length, uint16_t default_port,
                             char host[REQUEST_HOST_MAX], uint16_t *ret_port);
/* Writes the head of a request in absolute form as the server is to see it: origin form, Host by
 * the target, one request per connection, nothing that is meant for a proxy. Its length, or 0 where
 * `size` is too small. */
size_t request_rewrite(const char *head, const struct proxy_request *request, char *out,
                       size_t size);

#endif
