/*
 * Numbers as people write them: durations, sizes, counts. One documented meaning or an error:
 * signs, leading zeros, exponents, blanks, NaN and overflow are refused.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/error.h"

#include <stdint.h>

/* "500ms", "2s", "1.5s", "1m", "1h"; a bare number is seconds. Result in milliseconds, rounded up.
 */
int units_parse_duration(const char *text, uint64_t *ret_ms, struct error *err);
/* "64M", "64MiB", "64MB", "1G", "512K", "100B"; K, KB and KiB are all 1024. A bare number counts in
 * `bare_unit` bytes (1 in policy files, 1 MiB for --memory). Result in bytes. */
int units_parse_size(const char *text, uint64_t bare_unit, uint64_t *ret_bytes, struct error *err);
/* A whole number without sign. */
int units_parse_count(const char *text, uint64_t *ret_count, struct error *err);
/* A number with up to three decimals, as thousandths: "0.5" is 500. */
int units_parse_thousandths(const char *text, uint64_t *ret_value, struct error *err);

enum { UNITS_TEXT_MAX = 32 };
/* "64 MiB", "1.5 GiB", "100 B"; returns `buffer`. */
const char *units_format_size(uint64_t bytes, char buffer[UNITS_TEXT_MAX]);
/* "5s", "0.2s", "1.25s"; returns `buffer`. */
const char *units_format_duration(uint64_t ms, char buffer[UNITS_TEXT_MAX]);

#endif
