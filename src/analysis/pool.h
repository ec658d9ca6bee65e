/*
 * Memory for the parsing library and the report. One source makes tens of thousands of small pieces
 * that come and go in a few sizes, and all of them end with the process: pieces of one size are
 * kept for the next that wants it, and nothing is ever given back to the C library, whose allocator
 * took a fifth of the whole time.
 */
#ifndef ANALYSIS_POOL_H
#define ANALYSIS_POOL_H

#include <stddef.h>

/* From here on the parsing library and jansson take their memory here; once, before either is used.
 */
void pool_use(size_t source_length);
/* Zeroed; NULL when out of memory. */
void *pool_alloc(size_t size);
void pool_free(void *data);

#endif
