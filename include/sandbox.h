/*
 * sandbox.h - run untrusted code, contained.
 *
 * Life cycle: make one engine, make a request per run, run it, read the result, free both.
 *
 *         sbx_error *err = NULL;
 *         sbx_engine *engine = sbx_engine_new(NULL, &err);
 *         sbx_request *req = sbx_request_new("python", "print(6 * 7)");
 *         sbx_result *res = sbx_run(engine, req, &err);
 *         puts(sbx_result_stdout(res, NULL));
 *
 * Rules that hold for every function here:
 *  - Handles are opaque. Every *_free() accepts NULL.
 *  - `sbx_error **err` is last and may be NULL. It is set only when the function fails, and then
 *    belongs to the caller, who frees it with sbx_error_free().
 *  - Functions that return int return 0, or a negative SBX_E* code.
 *  - Strings given to the library are copied; strings it returns as `const char *` live as long as
 *    the handle they came from; strings it returns as `char *` are freed with sbx_string_free().
 *  - An engine may be used by many threads at once. A request or a result belongs to one thread at
 *    a time; only sbx_request_cancel() and sbx_cancel() may be called from anywhere, also from a
 *    signal handler, and sbx_turn_begin() and sbx_turn_end() from any thread.
 *  - An engine is for the process that made it: a child of that process neither uses nor frees it.
 *  - No global state, no signal handlers, no output of its own.
 *
 * "The program failed" and "the sandbox failed" are never confused: what the program did is a
 * result with a status; NULL with an error means that nothing was run, or, for SBX_EOUTPUT and
 * SBX_ENOMEM, that what ran could not be told.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SBX_API __attribute__((visibility("default")))
#else
#define SBX_API
#endif

/* Error codes: what kind of failure of ours it was. */
enum {
        SBX_OK = 0,
        SBX_EINVAL = -1,       /* bad argument, number, name or combination */
        SBX_ENOMEM = -2,       /* out of memory */
        SBX_ESYSTEM = -3,      /* a system call failed; the message says which and why */
        SBX_EPOLICY = -4,      /* the policy is invalid: file, line and column are in the message */
        SBX_ELANGUAGE = -5,    /* no such language, or not installed here */
        SBX_EREFUSED = -6,     /* a protection or limit cannot be enforced on this machine */
        SBX_EUNAVAILABLE = -7, /* not available in this build */
        SBX_ETOOBIG = -8,      /* larger than a stated maximum */
        SBX_EOUTPUT = -9,      /* the caller's output could not be written */
};

typedef struct sbx_error sbx_error;
typedef struct sbx_engine sbx_engine;
typedef struct sbx_policy sbx_policy;
typedef struct sbx_request sbx_request;
typedef struct sbx_execution sbx_execution;
typedef struct sbx_program sbx_program;
typedef struct sbx_result sbx_result;
typedef struct sbx_cases sbx_cases;

/* ---- errors ---- */

SBX_API int sbx_error_code(const sbx_error *err);
SBX_API const char *sbx_error_message(const sbx_error *err); /* one line, no full stop */
SBX_API const char *sbx_error_hint(const sbx_error *err);    /* the remedy, or NULL */
SBX_API void sbx_error_free(sbx_error *err);
SBX_API void sbx_string_free(char *text);

/* The version of the library, "0.1.0". */
SBX_API const char *sbx_version(void);

/* ---- engine ---- */

struct sbx_event;
typedef struct sbx_engine_options {
        size_t size;               /* sizeof(sbx_engine_options), for later versions */
        const char *languages_dir; /* a folder of further language files, or NULL */
        const char *init_path;     /* the helper program; NULL: found beside the program, else as
                                      installed */
        unsigned max_runs;         /* runs at once; 0: 256. Further ones wait their turn. */
        unsigned warm_slots;       /* containers at most for each kind of run, one ahead of those
                                      in use, and interpreters parked; 0: none */
        uint64_t warm_idle_ms;     /* they end after so long without such a run; 0: ten minutes */
        const char *keeper_path;   /* the socket of a keeper to borrow from, where warm_slots is 0;
                                      NULL: none */
        bool warm_waits;           /* a run waits until one is ready; for tests */
        bool early_start;          /* a run follows at once: its helper starts beside the engine */
        bool untrusted_requests;   /* what a request sets by itself (sbx_request_set and _add_mount)
                                      can only tighten the policy that it was given */
        /* Hears what becomes of what is kept warm ("slot.*"), on whatever thread it happens,
           several at once perhaps; must neither block nor call the engine. Or NULL. */
        void (*slot_handler)(const struct sbx_event *event, void *userdata);
        void *slot_userdata;
        uint64_t warm_memory; /* bytes that all parked interpreters may take together; those
                                 not asked for in the longest time give way, and one that is
                                 larger is not kept; below 32 MiB none; 0: 1 GiB */
        unsigned warm_least;  /* containers ready for each kind of run that was asked for, also
                                 after warm_idle_ms; at most warm_slots */
        bool serves_alone;    /* the process does nothing but sbx_engine_serve(): sbx_keeper_end()
                                 waits for its end */
} sbx_engine_options;

/* `options` may be NULL for the defaults. */
SBX_API sbx_engine *sbx_engine_new(const sbx_engine_options *options, sbx_error **err);
SBX_API void sbx_engine_free(sbx_engine *engine);

/* What became of runs that could start warm, and what is kept for them now. */
typedef struct sbx_stats {
        size_t size;       /* sizeof(sbx_stats), for later versions */
        uint64_t hatched;  /* runs in a container that was ready */
        uint64_t forked;   /* those of them whose interpreter was: a copy of it, or it itself */
        uint64_t missed;   /* runs for which none was ready */
        uint64_t ended;    /* containers that a run left other than it found them */
        uint64_t failures; /* containers and interpreters that could not be made */
        unsigned ready;    /* containers now */
        unsigned parked;   /* interpreters now */
        uint64_t memory;   /* bytes of those */
        unsigned making;   /* containers and interpreters that are being made, ended or put back */
} sbx_stats;
SBX_API int sbx_engine_stats(sbx_engine *engine, sbx_stats *stats, sbx_error **err);

/* Lends what the engine keeps warm to other processes of the same user, who name the socket in
 * their engine's options. `listen_fd` is a listening unix socket of type SOCK_SEQPACKET. Returns
 * 0 when `stop_fd` is readable or sbx_keeper_end() was called, 1 when nobody came for `idle_ms`
 * (0: ever); what runs then is ended. */
SBX_API int sbx_engine_serve(sbx_engine *engine, int listen_fd, int stop_fd, uint64_t idle_ms,
                             sbx_error **err);
/* What the keeper of this user's who listens at `path` keeps, as JSON: an object with socket, pid,
 * uptime, ends_in (seconds without a command; or null), commands (that are connected), hatched,
 * forked, missed, ended, failures and making as in sbx_stats, and kinds: objects with language
 * (null: containers alone), memory_limit (of its runs), warm ("fork", "once", "none"), ready,
 * in_use, interpreters, memory (bytes of one that is copied) and asked (seconds since it was).
 * Caller frees. Does not put off its end. */
SBX_API char *sbx_keeper_json(const char *path, sbx_error **err);
/* Has it end, which ends what runs in its containers. Returns when it serves no more; where its
 * engine serves_alone, when its process is gone. */
SBX_API int sbx_keeper_end(const char *path, sbx_error **err);

/* ---- policy: defaults < file < environment < what the request sets ---- */

SBX_API sbx_policy *sbx_policy_new(void);
SBX_API void sbx_policy_free(sbx_policy *policy);
/* Adds what a file says over what was loaded before: TOML where its name ends in .toml, else YAML.
 */
SBX_API int sbx_policy_load_file(sbx_policy *policy, const char *path, sbx_error **err);
/* The same for a policy that is built in, such as "strict", and the list of those as JSON: objects
 * with name and what. */
SBX_API int sbx_policy_load_profile(sbx_policy *policy, const char *name, sbx_error **err);
SBX_API bool sbx_policy_is_profile(const char *name);
SBX_API char *sbx_policy_profiles_json(sbx_error **err);
/* What is loaded afterwards, the environment and what requests set can only tighten what was loaded
 * so far; anything else is an error that names the value and its ceiling. The same is said in a
 * file by "sealed: true". */
SBX_API int sbx_policy_seal(sbx_policy *policy, sbx_error **err);
/* `name` stands for the file's name in messages, and its ending says what the text is. */
SBX_API int sbx_policy_load_text(sbx_policy *policy, const char *text, size_t length,
                                 const char *name, sbx_error **err);
/* Reads the SANDBOX_* variables of an environment block such as environ. */
SBX_API int sbx_policy_load_environment(sbx_policy *policy, char *const *environment,
                                        sbx_error **err);
/* The effective policy for a language (NULL: the general one), as "yaml" or "json" text; "explain"
 * is a JSON list that says for each value which layer set it: objects with key, value, text, layer
 * ("default", "language", "profile", "file", "environment", "request"), source (the file or the
 * variable), line, column and language (of the block). Caller frees. */
SBX_API char *sbx_policy_show(const sbx_policy *policy, const char *language, const char *form,
                              sbx_error **err);
/* The backend that the policy names first, such as "docker"; "auto" where it leaves the choice,
 * NULL where its parts contradict one another. A block for one language is not looked at. */
SBX_API const char *sbx_policy_backend(const sbx_policy *policy);
/* Whether this engine can run under the policy: languages it names that nobody has, and parts that
 * are not in this build, are errors. */
SBX_API int sbx_engine_check_policy(sbx_engine *engine, const sbx_policy *policy, sbx_error **err);
/* The JSON Schema of a policy file. Caller frees. */
SBX_API char *sbx_policy_schema(sbx_error **err);

/* ---- request ---- */

/* `language` may be NULL: then it is found from the file name or the code's "#!" line.
 * Returns NULL only when out of memory. */
SBX_API sbx_request *sbx_request_new(const char *language, const char *code);
SBX_API void sbx_request_free(sbx_request *req);

/* Code that may hold NUL bytes. Replaces what was given before. */
SBX_API int sbx_request_set_code(sbx_request *req, const void *code, size_t length,
                                 sbx_error **err);
/* Code in a regular file, open for reading: it is not read into memory, but for its first bytes.
 * The descriptor is copied; the file must not change until the run is over. */
SBX_API int sbx_request_set_code_fd(sbx_request *req, int fd, sbx_error **err);
/* A project of several files instead of one piece of code: each with its path in the project. A
 * descriptor may be a regular file, or a directory, which brings all that lies below it ("" is the
 * path of the project's own root). Links are kept as links; nothing is followed. */
SBX_API int sbx_request_add_source(sbx_request *req, const char *path, const void *data,
                                   size_t length, sbx_error **err);
SBX_API int sbx_request_add_source_fd(sbx_request *req, const char *path, int fd, sbx_error **err);
/* The file of the project that is run, or, in a language that has them, the name of a module
 * ("package.part"); NULL: found by the conventions of its language. */
SBX_API int sbx_request_set_entry(sbx_request *req, const char *path, sbx_error **err);
/* Files that the program finds in its workspace, as its own. */
SBX_API int sbx_request_add_input(sbx_request *req, const char *path, const void *data,
                                  size_t length, sbx_error **err);
SBX_API int sbx_request_add_input_fd(sbx_request *req, const char *path, int fd, sbx_error **err);
/* Copies the regular files of the workspace that match to a directory of the caller's when the
 * program has ended. A pattern with a slash is matched against the whole path ("out/a*.csv"), one
 * without against the name, in every folder. A name that begins with a dot, of a folder too, is
 * matched only where the pattern spells the dot out. Links are never followed. */
SBX_API int sbx_request_add_collect(sbx_request *req, const char *pattern, sbx_error **err);
SBX_API int sbx_request_set_collect_fd(sbx_request *req, int fd, sbx_error **err);
/* Copies all that the program leaves instead, folders and links as they are: for a directory that
 * the program could as well have had as its workspace. Links may lead anywhere. */
SBX_API int sbx_request_set_collect_all(sbx_request *req, bool all, sbx_error **err);
/* The name the code came from ("solve.py"): used to find the language. */
SBX_API int sbx_request_set_file_name(sbx_request *req, const char *name, sbx_error **err);
/* An identifier of the caller's, repeated in the result. */
SBX_API int sbx_request_set_name(sbx_request *req, const char *name, sbx_error **err);
SBX_API int sbx_request_add_argument(sbx_request *req, const char *argument, sbx_error **err);
/* Sets one policy value by its name in the policy file, such as "limits.timeout" to "2s",
 * "network.mode", "backend", "enforcement", "env.NAME", "filesystem.workspace". */
SBX_API int sbx_request_set(sbx_request *req, const char *key, const char *value, sbx_error **err);
/* Mounts `source` of the host at `target`; mode is "ro" or "rw". */
SBX_API int sbx_request_add_mount(sbx_request *req, const char *source, const char *target,
                                  const char *mode, sbx_error **err);
/* Opens a path of the caller's that the request is to use, as open(2) does, close-on-exec; with
 * O_DIRECTORY | O_CREAT a folder that is not there is made. Programs that ran before under the same
 * policy may have put a link on its way: in what any layer of the policy, or the request, lets them
 * write to, none is followed, and the path is SBX_EINVAL. What cannot be opened is SBX_ESYSTEM,
 * with errno. Call it when policy, mounts and workspace are set. */
SBX_API int sbx_request_open(sbx_request *req, const char *path, int flags, unsigned mode,
                             int *ret_fd, sbx_error **err);
/* The workspace: a folder of the caller's own, instead of what the policy says. It is no wish of
 * the request's, so no seal concerns it: for callers that keep a folder for each of their users. */
SBX_API int sbx_request_set_workspace(sbx_request *req, const char *path, sbx_error **err);
/* Takes a copy of the policy's layers. Without one, the defaults stand. */
SBX_API int sbx_request_set_policy(sbx_request *req, const sbx_policy *policy, sbx_error **err);
/* sbx_policy_show() with what the request sets on top. */
SBX_API char *sbx_request_show_policy(const sbx_request *req, const char *language,
                                      const char *form, sbx_error **err);

/* Dependencies: the path of the file that lists them (requirements.txt, package.json, go.mod,
 * Cargo.toml). They are installed, contained, before the program is compiled or run, by the
 * language's own tool, which reaches its package registry and nothing else; the program finds them
 * read-only. Files that lock versions are taken along where they lie beside it; one of them that is
 * a link is SBX_EINVAL. */
SBX_API int sbx_request_set_deps(sbx_request *req, const char *path, sbx_error **err);
/* A registry, "host" or "host:port", instead of those that the tool is set to. */
SBX_API int sbx_request_add_registry(sbx_request *req, const char *place, sbx_error **err);

/* Standard input: bytes, or a descriptor that stays the caller's and is read while the program
 * runs. */
SBX_API int sbx_request_set_stdin(sbx_request *req, const void *data, size_t length,
                                  sbx_error **err);
SBX_API int sbx_request_set_stdin_fd(sbx_request *req, int fd, sbx_error **err);
/* Passes a stream (1 or 2) through to a descriptor of the caller's as it comes, instead of keeping
 * it in the result. The cap of the policy holds all the same. */
SBX_API int sbx_request_set_output_fd(sbx_request *req, int stream, int fd, sbx_error **err);
/* Ends the program when a stream passes its cap; without this the rest is dropped and marked. */
SBX_API int sbx_request_set_output_kill(sbx_request *req, bool kill, sbx_error **err);

/* Starts the language itself, also where an engine keeps it warm: a new process whose addresses
 * nobody shares. */
SBX_API int sbx_request_set_no_warm(sbx_request *req, bool no_warm, sbx_error **err);
/* Compiles anew instead of taking what an earlier run of the same code left, and keeps nothing. */
SBX_API int sbx_request_set_no_cache(sbx_request *req, bool no_cache, sbx_error **err);

/* ---- templates: a program with placeholders, into which the request's code is put ---- */

/* A built-in template, such as "unittest". */
SBX_API int sbx_request_set_template(sbx_request *req, const char *name, sbx_error **err);
/* The text of a template file. `name` is the file's: where it ends in ".yaml" the text has keys,
 * else it is the program itself, and the name tells its language. */
SBX_API int sbx_request_set_template_text(sbx_request *req, const char *text, size_t length,
                                          const char *name, sbx_error **err);
/* The value for a placeholder other than "code". */
SBX_API int sbx_request_set_placeholder(sbx_request *req, const char *name, const void *value,
                                        size_t length, sbx_error **err);
/* The built-in templates as a JSON array: name, language, description, placeholders. Caller frees.
 */
SBX_API char *sbx_templates_json(sbx_error **err);

/* Leaves static analysis out because you trust the code; the result and an event say so. An engine
 * with `untrusted_requests` refuses it, as does a sealed policy. */
SBX_API int sbx_request_set_trusted(sbx_request *req, bool trusted, sbx_error **err);
/* A folder of further rules for static analysis: FOLDER/LANGUAGE/NAME.yaml, each with a NAME.scm
 * where it has queries. Read now. */
SBX_API int sbx_request_add_rules(sbx_request *req, const char *folder, sbx_error **err);
/* Whether somebody will look at what static analysis in the mode "warn" finds; else it is saved. */
SBX_API int sbx_request_set_warnings(sbx_request *req, bool wanted, sbx_error **err);

/* What happens while a run goes on. Called on the thread that runs it; must not block. */
typedef struct sbx_event {
        size_t size;
        const char *kind; /* "execution.start", "stdout", "usage", ...: docs/EVENTS.md has them */
        const char *id;   /* of the run */
        double time;      /* seconds since the run was asked for */
        const void
                *data; /* the bytes of "stdout" and "stderr"; "case": its JSON, as in the result */
        size_t length;
        const char *text;         /* "execution.start": the language; "security.violation",
                                     "security.bypass": what and why;
                                     "case": the verdict, a line for a person;
                                     others: the name of the limit or protection, or a sentence */
        uint64_t memory;          /* "usage": bytes now */
        double cpu_time;          /* "usage": seconds so far */
        uint32_t processes;       /* "usage": now */
        const sbx_result *result; /* "execution.complete" */
        /* "usage"; UINT64_MAX where it is not known: */
        double cpu_percent;   /* since the sample before; 100 is one CPU */
        uint64_t memory_peak; /* bytes */
        uint64_t disk;        /* bytes in what the program can write */
        uint64_t io_read, io_write;
        uint64_t network_in, network_out;
        /* "limit.warning": bytes, milliseconds or a count */
        uint64_t used, allowed;
} sbx_event;

typedef void (*sbx_event_handler)(const sbx_event *event, void *userdata);
SBX_API int sbx_request_set_event_handler(sbx_request *req, sbx_event_handler handler,
                                          void *userdata, sbx_error **err);
/* A second handler that hears all but output and usage, so that output passed through to a
 * descriptor need not be read: for logs. */
SBX_API int sbx_request_set_log_handler(sbx_request *req, sbx_event_handler handler, void *userdata,
                                        sbx_error **err);
/* For callers that hear of signals on the thread that runs the request, and only outside of the
 * library, as interpreters do: called there while the library waits for the program, the compiler
 * or the analysis, when a signal has interrupted it and five times a second. It may cancel the
 * request. */
typedef void (*sbx_wait_handler)(void *userdata);
SBX_API int sbx_request_set_wait_handler(sbx_request *req, sbx_wait_handler handler, void *userdata,
                                         sbx_error **err);
/* Leaves no record of the run, whatever the policy says; a sealed one that wants it refuses. */
SBX_API int sbx_request_set_no_record(sbx_request *req, bool no_record, sbx_error **err);

/* ---- running ---- */

/* Blocks until the program has ended and everything of it is gone; of a warm run no process
 * is left and no file within reach, and the engine takes its namespaces down meanwhile. A refusal
 * is a result with status "refused"; NULL means that the request itself was wrong. */
SBX_API sbx_result *sbx_run(sbx_engine *engine, sbx_request *req, sbx_error **err);
/* The same on a thread of its own. `req` must outlive the execution. */
SBX_API sbx_execution *sbx_start(sbx_engine *engine, sbx_request *req, sbx_error **err);
/* Waits, and frees the execution. */
SBX_API sbx_result *sbx_wait(sbx_execution *execution, sbx_error **err);
/* What a running execution uses, as of its latest sample ("monitoring.interval" of the policy
 * apart, 100 ms by default). Values that are not known are UINT64_MAX. Before the first sample, and
 * so for a run that is over before it, all is 0. `usage->size` must be set. */
typedef struct sbx_usage_sample {
        size_t size;
        double time;        /* seconds since the run was asked for */
        double cpu_time;    /* seconds so far */
        double cpu_percent; /* since the sample before; 100 is one CPU */
        uint64_t memory, memory_peak, disk;
        uint64_t io_read, io_write;
        uint64_t network_in, network_out;
        uint32_t processes;
} sbx_usage_sample;
SBX_API int sbx_usage(sbx_execution *execution, sbx_usage_sample *usage, sbx_error **err);
/* A program that lives on between several tasks, such as an interpreter that keeps its variables:
 * the limits of wall-clock and CPU time then hold for each turn instead of the whole run, and
 * output is not cut: the event handler hears all of it, and the result keeps none. All other limits
 * hold as ever. Before the first turn and within one the program may take the policy's timeout; a
 * turn that takes longer ends it. */
SBX_API int sbx_request_set_turns(sbx_request *req, sbx_error **err);
/* Both may be called from any thread. Call this before the program is given its task; 0: as long as
 * the policy allows, never longer. */
SBX_API int sbx_turn_begin(sbx_request *req, uint64_t timeout_ms, sbx_error **err);
/* No time passes for the program until the next turn. What it computes all the same counts for the
 * turn before. */
SBX_API int sbx_turn_end(sbx_request *req, sbx_error **err);
/* What a turn came to, as its caller knows. All is borrowed; `size` must be set. */
typedef struct sbx_turn {
        size_t size;
        const char *turn_of;   /* id of the program's run ("id" of its events), or NULL */
        const char *status;    /* "ok", "failed", "timeout", ...: as of a result */
        const char *message;   /* or NULL */
        int exit_code;         /* -1 where it did not exit */
        int signal;            /* 0 where none */
        double execution_time; /* seconds */
        uint64_t memory_used;  /* bytes, peak; 0: not known */
        /* [1], [2]: what it printed, as it was kept, and how many bytes there were. */
        const char *output[3];
        size_t output_length[3];
        uint64_t output_bytes[3];
} sbx_turn;
/* Keeps a record of a turn that is over, as of a run of its own, by the policy of `told`: a request
 * with the turn's language, code, arguments and name, which is not run. Gives the id of the record;
 * caller frees. Of a program that takes turns the records keep neither code nor files: its turns
 * have them. */
SBX_API char *sbx_turn_record(sbx_engine *engine, sbx_request *told, const sbx_turn *turn,
                              sbx_error **err);
/* Ends the run; its status becomes "cancelled". From any thread or signal handler. */
SBX_API void sbx_cancel(sbx_execution *execution);
/* The same by the request, which then stays cancelled: a new run takes a new request. */
SBX_API void sbx_request_cancel(sbx_request *req);

/* Compiles the code of a request once, so that many requests can run it, several at a time too.
 * `req` must outlive the program; its language, code and sources count. Check the result before
 * running: where its status is not "ok" ("compile_error", "refused") there is nothing to run. */
SBX_API sbx_program *sbx_program_new(sbx_engine *engine, sbx_request *req, sbx_error **err);
SBX_API void sbx_program_free(sbx_program *program);
SBX_API const sbx_result *sbx_program_result(const sbx_program *program);
/* The request runs the program, which must outlive it, instead of code of its own. */
SBX_API int sbx_request_set_program(sbx_request *req, const sbx_program *program, sbx_error **err);

/* ---- cases: one program, run once per case, with a verdict each ---- */

/* Reads the text of a cases file (YAML or JSON). `name` stands for the file in messages. */
SBX_API sbx_cases *sbx_cases_load(const char *text, size_t length, const char *name,
                                  sbx_error **err);
SBX_API void sbx_cases_free(sbx_cases *cases);
SBX_API size_t sbx_cases_count(const sbx_cases *cases);
/* The file that a case names for its "stdin" or "expected" part, as written, or NULL. The library
 * opens none: the caller does, if it wants to, and hands the bytes in. */
SBX_API const char *sbx_cases_file(const sbx_cases *cases, size_t index, const char *part);
SBX_API int sbx_cases_set_file(sbx_cases *cases, size_t index, const char *part, const void *data,
                               size_t length, sbx_error **err);
/* Runs the request once per case, `jobs` at once (0: one per CPU), and gives one result that tells
 * of all. The request's standard input and output descriptors are not used. Its event handler hears
 * a "case" as each ends, on whichever thread ran it, but never on two at once. */
SBX_API sbx_result *sbx_run_cases(sbx_engine *engine, sbx_request *req, const sbx_cases *cases,
                                  unsigned jobs, sbx_error **err);

/* Static analysis alone: the report of the request's code as a JSON object (docs/ANALYSIS.md).
 * Nothing runs. */
SBX_API char *sbx_check(sbx_engine *engine, sbx_request *req, sbx_error **err);

/* ---- result ---- */

SBX_API void sbx_result_free(sbx_result *result);
SBX_API const char *sbx_result_id(const sbx_result *result);
SBX_API const char *sbx_result_status(
        const sbx_result *result); /* "ok", "failed", "timeout", ... */
SBX_API bool sbx_result_success(const sbx_result *result);
SBX_API int sbx_result_exit_code(const sbx_result *result); /* -1 where the program did not exit */
SBX_API int sbx_result_signal(const sbx_result *result);    /* 0 where none */
SBX_API const char *sbx_result_message(const sbx_result *result); /* or NULL */
SBX_API const char *sbx_result_hint(const sbx_result *result);    /* a refusal's remedy, or NULL */
/* Always NUL-terminated after `*length` bytes; `length` may be NULL. */
SBX_API const char *sbx_result_stdout(const sbx_result *result, size_t *length);
SBX_API const char *sbx_result_stderr(const sbx_result *result, size_t *length);
/* Whether a stream (1 or 2) was cut at its cap. */
SBX_API bool sbx_result_truncated(const sbx_result *result, int stream);
SBX_API double sbx_result_execution_time(const sbx_result *result); /* seconds */
SBX_API double sbx_result_cpu_time(const sbx_result *result);
SBX_API uint64_t sbx_result_memory_used(const sbx_result *result); /* bytes, peak */
/* What static analysis found, as a JSON object (docs/ANALYSIS.md); NULL: there was none. */
SBX_API const char *sbx_result_analysis(const sbx_result *result);
/* The exit code that `sandbox run` gives for it. */
SBX_API int sbx_result_process_exit_code(const sbx_result *result);
/* Whether a protection or limit ("seccomp", "memory") was in force, and by which mechanism. */
SBX_API bool sbx_result_enforced(const sbx_result *result, const char *protection,
                                 const char **ret_by);
/* Names of the protections that were asked for and not in force, separated by commas; NULL where
 * there is none (or no memory to say so). Only a run that accepts less can have any. */
SBX_API char *sbx_result_missing(const sbx_result *result);
/* The whole result: "json" (one object, indented), "jsonline" (the same on one line) or "text"
 * (the report for a person; `color` concerns it alone). */
SBX_API char *sbx_result_format(const sbx_result *result, const char *form, bool color,
                                sbx_error **err);

/* ---- what this machine can do ---- */

/* Each language known, as a JSON array: name, version, path, warm, status. */
SBX_API char *sbx_languages_json(sbx_engine *engine, sbx_error **err);
/* The name of the language that has this name or this other name ("py": "python"). NULL where there
 * is none: the error names those there are. Caller frees. */
SBX_API char *sbx_language_name(sbx_engine *engine, const char *name, sbx_error **err);
/* Each protection and limit as this user gets it here: a JSON object. */
SBX_API char *sbx_doctor_json(sbx_engine *engine, sbx_error **err);

#ifdef __cplusplus
}
#endif

#endif
