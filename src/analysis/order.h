/*
 * What the engine and sandbox-analyze say to each other over a stream socket, which is descriptor
 * 3 of the program: one struct with two memory files down, one JSON text up, then the end.
 *
 * The order file is a JSON object:
 *   language   of the source
 *   files      [ { name, offset, length } ]: where each lies in the file of the source; a NUL byte
 *              follows each
 *   lists      { imports, functions, commands, patterns }: what the policy forbids
 *   named      ids of rules that the policy names: each must be there
 *   rules      further rule files: [ { name, language, yaml, queries } ]
 *
 * The report is { "files": [ the object of report.c for each ] }, or { "error": "..." } where a
 * rule is wrong.
 */
#ifndef ANALYSIS_ORDER_H
#define ANALYSIS_ORDER_H

#include <stdint.h>

enum {
        ANALYZE_SOCKET = 3,
        ANALYZE_FDS = 2,                 /* the source, the order */
        ANALYZE_SOURCE_MAX = 4 << 20,    /* larger source is skipped */
        ANALYZE_ORDER_MAX = 8 << 20,     /* bytes of the order file */
        ANALYZE_REPORT_MAX = 4 << 20,    /* bytes of the report */
        ANALYZE_CPU_SECONDS = 5,         /* then the kernel ends it */
        ANALYZE_MEMORY_MAX = 1536 << 20, /* bytes of address space */
        ANALYZE_MAGIC = 0x5ba7a1e5
};

struct analyze_order {
        uint32_t magic;
        uint32_t source_length;
        uint32_t order_length;
};

#endif
