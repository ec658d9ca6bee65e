/*
 * The error value: our own failures and refusals, never the guest's outcome.
 *
 * A function that can fail returns 0 or a negative SBX_E* and fills `struct error *err`, passed
 * last and allowed to be NULL. The buffers are inside the struct, so that reporting never
 * allocates. Messages are lower case, without a full stop: what was tried, on what, why; names in
 * single quotes.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "sandbox.h"

enum { ERROR_MESSAGE_MAX = 1024, ERROR_HINT_MAX = 512 };

struct error {
        int code;      /* SBX_E*, 0 when unset */
        int sys_errno; /* errno of the failed call, or 0 */
        char message[ERROR_MESSAGE_MAX];
        char hint[ERROR_HINT_MAX]; /* the remedy, or empty */
};

/* Fills `err` and returns `code`. Leaves sys_errno 0. */
int error_set(struct error *err, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The same for a failed system call: SBX_ESYSTEM, with ": <strerror(errno)>" appended. */
int error_set_errno(struct error *err, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Adds the remedy. */
void error_hint(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts "<context>: " in front of the message, on the way up. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Out of memory; returns SBX_ENOMEM. */
int error_set_nomem(struct error *err);

#endif
