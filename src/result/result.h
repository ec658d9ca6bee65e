/*
 * The result: what the program did, what it used, what contained it. SPEC of the JSON: docs/ and
 * the man page. Everything is owned by the result.
 */
#ifndef RESULT_RESULT_H
#define RESULT_RESULT_H

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/protection.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum outcome {
#define X(id, name) OUTCOME_##id,
#include "result/outcomes.def"
#undef X
        OUTCOME_COUNT
};
const char *outcome_name(enum outcome outcome);

/* One output stream as kept. */
struct result_stream {
        struct strbuf kept; /* up to the cap */
        uint64_t bytes;     /* all that was written, dropped ones included */
        bool truncated;
        bool passed_through; /* went to the caller's descriptor: kept for the artifacts alone */
        bool is_part;        /* of what was passed, the artifacts have but the beginning */
};

enum protection_state { STATE_NOT_ASKED, STATE_ENFORCED, STATE_MISSING };

struct result_protection {
        enum protection_state state; /* NOT_ASKED is left out of the JSON */
        const char *by;              /* static string: "cgroup-v1", "monitor", "namespace" */
        char detail[160];            /* or empty */
};

struct result_violation {
        char kind[24];
        char what[96];
        char why[96];
        uint64_t count;
};

struct result_limit {
        const char *name; /* static */
        double value;     /* seconds, bytes, counts */
        bool is_float;
};

struct usage {
        uint64_t wall_ns; /* from the program's exec to its end */
        uint64_t cpu_user_us;
        uint64_t cpu_system_us;
        uint64_t cpu_us; /* all of it, by the best source */
        uint64_t memory_peak;
        uint64_t startup_ns; /* from the call to the program's exec */
        uint64_t io_read_bytes;
        uint64_t io_write_bytes;
        uint32_t processes_peak;
        uint64_t net_connections;            /* made for the program */
        uint64_t net_rx_bytes, net_tx_bytes; /* on them, as far as was seen */
};

/* One step: the compiler's or the program's. */
struct result_step {
        enum outcome outcome;
        int exit_code; /* -1: did not exit */
        int signal;    /* 0: none */
        struct result_stream out, err;
        struct usage usage;
        bool cached;            /* it was not run: what it did before is told again */
        const char *broken_why; /* static: why the sandbox ended it, where that is known; or NULL */
};

/* Instructions, where the backend counts them. */
struct fuel {
        bool is_used;  /* the backend counts */
        bool is_known; /* and has told */
        uint64_t limit, consumed;
};

enum { RESULT_CASE_EXCERPT = 4096 }; /* bytes of a case's output that are kept to be shown */

/* One case of several: see engine/cases.h. */
struct result_case {
        size_t number;       /* from 1 */
        char *name;          /* or NULL */
        const char *verdict; /* static: "accepted", "wrong_answer", "timeout", ... */
        enum outcome outcome;
        int exit_code;                 /* -1: did not exit */
        int signal;                    /* 0: none */
        char *message;                 /* or NULL */
        size_t difference_line;        /* of the output; 0: none was found */
        char *expected, *got;          /* there, cut and printable; NULL: nothing more */
        struct result_stream out, err; /* the beginnings */
        struct usage usage;
};

enum { RESULT_LIMITS_MAX = 16, RESULT_VIOLATIONS_MAX = 24, RESULT_FILES_MAX = 1000 };

/* What static analysis came to, in short. */
struct result_analysis {
        const char *state; /* static: "done", "skipped", "trusted"; NULL: there was none */
        const char *risk;  /* static: "none" to "critical"; NULL: not known */
        uint64_t findings; /* those left out of the report included */
};

struct result {
        char id[CLOCK_ULID_MAX];
        char started_at[CLOCK_STAMP_MAX];
        char *name;          /* the caller's, or NULL */
        char *language;      /* or NULL while unknown */
        char *title;         /* "Python", for messages; or NULL */
        char *version;       /* or NULL */
        const char *backend; /* static, or NULL */
        char *fallback;      /* why it is not the one that was asked for, or NULL */
        struct result_step run;
        bool has_deps; /* dependencies were installed, or found: `deps` counts */
        struct result_step deps;
        bool compiled; /* a compile step took place: `compile` counts */
        struct result_step compile;
        char *message;                             /* or NULL */
        char *hint;                                /* a refusal's remedy, or NULL */
        struct strlist created, modified, deleted; /* sorted, relative */
        struct strlist collected;                  /* copied to the caller's directory */
        bool files_truncated;
        char *template_name;         /* or NULL: none was used */
        uint64_t template_code_line; /* of the program, at which the code begins; 0: nowhere */
        uint64_t template_lines;     /* of the program */
        struct result_case *cases;   /* owned, or NULL */
        size_t case_count;
        struct fuel fuel;
        const char *warm; /* static: "none", "fork", "once" */
        struct result_limit limits[RESULT_LIMITS_MAX];
        size_t limit_count;
        struct result_protection protections[PROTECTION_COUNT];
        struct result_violation violations[RESULT_VIOLATIONS_MAX];
        size_t violation_count;
        char *analysis; /* owned: the report as JSON; NULL: there was none */
        struct result_analysis analysed;
};

struct result *result_new(void); /* with id and time; NULL when out of memory */
void result_free(struct result *result);
void result_step_done(struct result_step *step);
int result_set_message(struct result *result, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void result_set_protection(struct result *result, enum protection id, enum protection_state state,
                           const char *by, const char *detail_format, ...)
        __attribute__((format(printf, 5, 6)));
/* Adds to a violation of the same kind and what, or appends; beyond the maximum it is dropped. */
void result_add_violation(struct result *result, const char *kind, const char *what,
                          const char *why, uint64_t count);
/* Cases without a verdict yet, numbered; NULL when out of memory. */
struct result_case *result_cases_new(size_t count);
void result_cases_free(struct result_case *cases, size_t count);
/* The exit code `sandbox run` gives: 0 to 255. */
int result_process_exit_code(const struct result *result);

/* result_analysis.c: a line, or nothing where there is nothing to say. */
void result_analysis_line(const struct result *result, struct strbuf *out);

/* result_json.c, result_text.c. NULL when out of memory. Caller frees. */
char *result_to_json(const struct result *result, bool one_line);
char *result_to_text(const struct result *result, bool color);
/* One case: a line of JSON, and a line for a person, without newline. */
char *result_case_to_json(const struct result_case *one);
char *result_case_to_text(const struct result_case *one, bool color);

#endif
