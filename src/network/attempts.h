/*
 * What a guest without a way out tries to reach. The namespace that it is in refuses it, whatever
 * is said here: this is for the result alone, so that nothing has to be copied before it can be
 * believed.
 */
#ifndef NETWORK_ATTEMPTS_H
#define NETWORK_ATTEMPTS_H

#include "kernel/notify.h"

enum { ATTEMPT_MAX = 80 };

/* "connect 93.184.216.34:443", of a call that waits at `listener`; false where it leads nowhere
 * that is refused: to a socket of the guest's own, or, with `has_loopback`, to itself. */
bool attempt_describe(int listener, const struct notify_call *call, bool has_loopback,
                      char what[ATTEMPT_MAX]);

#endif
