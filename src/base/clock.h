/* Time: monotonic for limits, wall clock for records; and the identifiers made of it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>

uint64_t clock_now_ns(void); /* monotonic */
/* A time that the kernel counted, in microseconds. */
uint64_t clock_us(struct timeval time);

enum { CLOCK_STAMP_MAX = 32, CLOCK_ULID_MAX = 27 };
/* "2026-11-15T06:04:11.123Z" of now; returns `buffer`. */
const char *clock_stamp(char buffer[CLOCK_STAMP_MAX]);
/* The same of a time that is past. */
const char *clock_stamp_before(uint64_t ns, char buffer[CLOCK_STAMP_MAX]);
/* A new ULID: 48 bits of time, 80 random bits, 26 characters. 0, or -1 with errno. */
int clock_ulid(char buffer[CLOCK_ULID_MAX]);

#endif
