/*
 * Turns: what goes through the pipe by which a caller tells the monitor of a long-lived program
 * that a turn begins or has ended. Each message is one 64-bit number, which a pipe takes whole.
 */
#ifndef BASE_TURN_H
#define BASE_TURN_H

#include <stdint.h>

/* Any other number begins a turn: its time in milliseconds, 0 for as long as the policy allows. */
#define TURN_ENDS UINT64_MAX

#endif
