/*
 * What the worker of the wasm backend leaves for the supervisor, in a memory file that both hold.
 * The numbers are the worker's word: a guest that had broken out of WebAssembly could write them,
 * and would gain nothing but a wrong sentence.
 */
#ifndef WASM_REPORT_H
#define WASM_REPORT_H

#include <stdint.h>

enum wasm_end {
        WASM_END_NONE,    /* it was ended before it could say */
        WASM_END_EXITED,  /* by itself; its code is the process's */
        WASM_END_FUEL,    /* all of it used up */
        WASM_END_MEMORY,  /* it could not go on without more */
        WASM_END_TRAP,    /* it did what no program may do */
        WASM_END_STOPPED, /* it was interrupted */
        WASM_END_REFUSED, /* it is no module that can be run */
        WASM_END_BROKEN,  /* engine or image do not work here */
        WASM_END_COUNT
};

struct wasm_report {
        uint32_t magic;
        uint32_t end; /* enum wasm_end */
        uint64_t fuel_consumed;
        uint64_t memory_peak; /* bytes of its linear memory */
        char text[240];       /* why, for a person */
};

enum {
        WASM_REPORT_MAGIC = 0x31776273, /* "sbw1" */
        WASM_REPORT_FD = 4,             /* where the worker has it */
        WASM_TRAP_EXIT = 134,           /* as for a program that aborts */
};

/* How the text of a report begins where engine or image are not for this machine. */
#define WASM_NOT_LOADED "the guest cannot be loaded"

/* What a guest that was made by this project returns when it had no memory left. */
enum { WASM_CODE_MEMORY = 1 << 16 };

/* The variable in which the worker finds what the run may have; the guest never sees it. Words
 * without anything between them:
 *
 *   gLENGTH:NAME                      guest: "python", "javascript" or "module"
 *   pLENGTH:PATH                      directory with engine and images
 *   mNUMBER, fNUMBER,                 bytes of linear memory, fuel
 *   rLENGTH:INSIDE LENGTH:OUTSIDE     a directory to read: its name inside, its path
 *   wLENGTH:INSIDE LENGTH:OUTSIDE     a directory to write (without the blank) */
#define WASM_VARIABLE "SANDBOX_WASM"

#endif
