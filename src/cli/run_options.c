#include "cli/run.h"
#include "base/mem.h"

#include <string.h>

/* The library names the policy value; here the option's name stands for it. */
static void drop_key(struct error *err, const char *key)
{
        size_t length = strlen(key);

        if (str_has_prefix(err->message, key) && str_has_prefix(err->message + length, ": "))
                memmove(err->message, err->message + length + 2,
                        strlen(err->message + length + 2) + 1);
}

/* Sets a policy value as it is written. */
static int apply_value(const struct option *option, const char *value, void *target,
                       struct error *err)
{
        sbx_error *failure = NULL;
        int r;

        if (sbx_request_set(target, option->key, value, &failure) == 0)
                return 0;
        r = report_take(err, failure);
        drop_key(err, option->key);
        return r;
}

/* A size whose bare number counts MiB. */
static int apply_mebibytes(const struct option *option, const char *value, void *target,
                           struct error *err)
{
        AUTO_STRBUF struct strbuf text = { 0 };
        bool is_bare = value[strspn(value, "0123456789.")] == '\0';

        strbuf_addf(&text, "%s%s", value, is_bare ? "M" : "");
        if (text.failed)
                return error_set_nomem(err);
        return apply_value(option, text.data, target, err);
}

static int apply_output_limit(const struct option *option, const char *value, void *target,
                              struct error *err)
{
        struct option other = *option;
        int r = apply_value(option, value, target, err);

        if (r < 0)
                return r;
        other.key = "limits.stderr";
        return apply_value(&other, value, target, err);
}

/* A flag that stands for the value "true". */
static int apply_true(const struct option *option, const char *value, void *target,
                      struct error *err)
{
        return apply_value(option, "true", target, err);
}

static int apply_allow(const struct option *option, const char *value, void *target,
                       struct error *err)
{
        const struct option mode = { .name = option->name, .key = "network.mode" };
        int r = apply_value(&mode, "allowlist", target, err);

        return r < 0 ? r : apply_value(option, value, target, err);
}

static int apply_env(const struct option *option, const char *value, void *target,
                     struct error *err)
{
        AUTO_STRBUF struct strbuf key = { 0 };
        const char *equals = strchr(value, '=');
        struct option variable = *option;
        char shown[160];
        int r;

        if (!equals || equals == value) {
                r = error_set(err, SBX_EINVAL, "'%s' is not of the form K=V",
                              str_printable(value, shown, sizeof(shown)));
                error_hint(err, "nothing of your environment enters by itself; to pass a variable "
                                "on: --env NAME=\"$NAME\"");
                return r;
        }
        strbuf_adds(&key, option->key);
        strbuf_add(&key, value, (size_t)(equals - value));
        if (key.failed)
                return error_set_nomem(err);
        variable.key = key.data;
        return apply_value(&variable, equals + 1, target, err);
}

static int apply_volume(const struct option *option, const char *value, void *target,
                        struct error *err)
{
        AUTO_FREE char *copy = mem_strdup(value);
        sbx_error *failure = NULL;
        char shown[160];
        char *place, *mode;
        int r;

        if (!copy)
                return error_set_nomem(err);
        place = strchr(copy, ':');
        if (place)
                *place++ = '\0';
        mode = place ? strchr(place, ':') : NULL;
        if (mode)
                *mode++ = '\0';
        if (!place || !*copy || !*place ||
            (mode && strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0)) {
                r = error_set(err, SBX_EINVAL, "'%s' is not of the form SRC:DST[:ro|rw]",
                              str_printable(value, shown, sizeof(shown)));
                error_hint(err, "for example --volume ./data:/data:ro");
                return r;
        }
        if (sbx_request_add_mount(target, copy, place, mode ? mode : "ro", &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_name(const struct option *option, const char *value, void *target,
                      struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_name(target, value, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_deps(const struct option *option, const char *value, void *target,
                      struct error *err)
{
        sbx_error *failure = NULL;

        return sbx_request_set_deps(target, value, &failure) < 0 ? report_take(err, failure) : 0;
}

static int apply_registry(const struct option *option, const char *value, void *target,
                          struct error *err)
{
        sbx_error *failure = NULL;

        return sbx_request_add_registry(target, value, &failure) < 0 ? report_take(err, failure)
                                                                     : 0;
}

static int apply_output_kill(const struct option *option, const char *value, void *target,
                             struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_output_kill(target, true, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

int run_apply_entry(const struct option *option, const char *value, void *target, struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_entry(target, value, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_collect(const struct option *option, const char *value, void *target,
                         struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_add_collect(target, value, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_no_warm(const struct option *option, const char *value, void *target,
                         struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_no_warm(target, true, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_no_cache(const struct option *option, const char *value, void *target,
                          struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_no_cache(target, true, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

int run_apply_rules(const struct option *option, const char *value, void *target, struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_add_rules(target, value, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_trusted(const struct option *option, const char *value, void *target,
                         struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_trusted(target, true, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int apply_no_record(const struct option *option, const char *value, void *target,
                           struct error *err)
{
        sbx_error *failure = NULL;

        if (sbx_request_set_no_record(target, true, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

#define NOT_HERE " (not available in this build)"

const struct option run_options[] = {
        OPTION_HEADING("Code"),
        { "lang", 'l', "NAME", false, false,
          "language or alias; else by the file's extension or '#!' line" },
        { "code", 'c', "TEXT", false, true, "run TEXT" },
        { "file", 'f', "PATH", true, false,
          "run the file PATH, as the word FILE does; '-' or nothing: standard input; a folder or "
          "several files are a project" },
        { "entry", 0, "PATH", false, false, "the file of a project that is run; else by convention",
          run_apply_entry },
        { "input-file", 0, "SRC[:DST]", true, false,
          "a file or folder that the program finds in its workspace" },
        { "collect", 0, "GLOB", true, false,
          "copy the files of the workspace that match out when the program has ended",
          apply_collect },
        { "collect-to", 0, "DIR", false, false, "where to (default: the current directory)" },
        { "no-cache", 0, NULL, false, false, "compile anew, and keep nothing of it",
          apply_no_cache },
        { "stdin", 0, "PATH", false, false,
          "the program's standard input; '-': ours; default empty" },
        { "languages", 0, "DIR", false, false, "a folder of further language files" },
        { "template", 0, "NAME|FILE", false, false,
          "put the code into a template: a built-in one or a file; 'sandbox templates' lists "
          "them" },
        { "set", 0, "K=V", true, false, "a value for the template" },
        { "set-file", 0, "K=PATH", true, false, "a value for the template from a file" },
        { "cases", 0, "FILE", false, false,
          "run once per case of FILE (YAML or JSON): input, arguments, expected output; a verdict "
          "each" },
        { "jobs", 0, "N", false, false, "cases at once; default: one per CPU" },
        { "check", 0, "MODE", false, false,
          "static analysis before the run: off, warn (default), block", apply_value,
          "analysis.mode" },
        { "rules", 0, "DIR", true, false, "a folder of further rules for static analysis",
          run_apply_rules },
        { "trusted", 0, NULL, false, false, "leave static analysis out; the result says so",
          apply_trusted },
        { "deps", 0, "FILE", false, false,
          "install what FILE lists first: requirements.txt, package.json, go.mod, Cargo.toml",
          apply_deps },
        { "registry", 0, "HOST[:PORT]", true, false,
          "where dependencies come from, instead of what the tool is set to", apply_registry },
        OPTION_HEADING("Limits"),
        { "timeout", 't', "T", false, false,
          "wall-clock time: 500ms, 2s, 1m; a bare number is seconds", apply_value,
          "limits.timeout" },
        { "cpu-time", 0, "T", false, false, "CPU time of all processes together", apply_value,
          "limits.cpu_time" },
        { "memory", 'm', "SIZE", false, false,
          "peak memory of all processes together: 64M, 1G; a bare number is MiB", apply_mebibytes,
          "limits.memory" },
        { "cpus", 0, "N", false, false, "share of the CPUs, fractions allowed", apply_value,
          "limits.cpus" },
        { "processes", 0, "N", false, false, "processes and threads", apply_value,
          "limits.processes" },
        { "disk", 0, "SIZE", false, false, "bytes that can be written; a bare number is MiB",
          apply_mebibytes, "limits.disk" },
        { "open-files", 0, "N", false, false, "descriptors per process", apply_value,
          "limits.open_files" },
        { "output-limit", 0, "SIZE", false, false,
          "output kept per stream, the rest is dropped and marked; a bare number is bytes",
          apply_output_limit, "limits.stdout" },
        { "output-kill", 0, NULL, false, false, "end the program when it passes the output limit",
          apply_output_kill },
        { "fuel", 0, "N", false, false, "instruction budget of the wasm backend", apply_value,
          "limits.fuel" },
        OPTION_HEADING("Surroundings"),
        { "network", 0, "MODE", false, false,
          "none (default), localhost, dns (names resolve), allowlist, host", apply_value,
          "network.mode" },
        { "allow-dns", 0, NULL, false, false, "every name resolves; implies the mode dns",
          apply_true, "network.dns" },
        { "allow", 0, "HOST[:PORT]", true, false,
          "a place that may be reached; implies the mode allowlist", apply_allow, "network.allow" },
        { "deny", 0, "HOST[:PORT]", true, false, "a place that is refused even where it is allowed",
          apply_value, "network.deny" },
        { "volume", 0, "SRC:DST[:ro|rw]", true, false,
          "mount SRC of the host at DST; read-only unless rw", apply_volume },
        { "workspace", 0, "DIR", false, false, "a working directory that persists between runs",
          apply_value, "filesystem.workspace" },
        { "env", 'e', "K=V", true, false,
          "set a variable; nothing of the caller's environment enters otherwise", apply_env,
          "env." },
        OPTION_HEADING("Containment"),
        { "backend", 0, "B", false, false, "auto (default), container, local, docker, wasm",
          apply_value, "backend" },
        { "fallback", 0, "B", false, false, "the backend to take where the first is not available",
          apply_value, "fallback" },
        { "enforcement", 0, "MODE", false, false,
          "strict (default): refuse what cannot be enforced; best-effort: run and list what was "
          "missing",
          apply_value, "enforcement" },
        { "policy", 0, "NAME|FILE", true, false,
          "policy: a shipped one by name, or a YAML or TOML file; else SANDBOX_POLICY" },
        { "sealed", 0, NULL, false, false,
          "what follows, other options and the environment can only tighten the policies before" },
        { "no-warm", 0, NULL, false, false, "start the language itself, in a fresh process",
          apply_no_warm },
        OPTION_HEADING("Output"),
        { "output", 'o', "FORM", false, false, "raw (default), text, json, jsonl" },
        { "json", 0, NULL, false, false, "short for --output json" },
        { "text", 0, NULL, false, false, "short for --output text" },
        { "name", 0, "ID", false, false, "an identifier of yours, repeated in the result",
          apply_name },
        { "no-record", 0, NULL, false, false, "leave no record of the run", apply_no_record },
        { "log", 0, "WHERE", false, false,
          "write events as JSON lines to a file, '-' (standard error), journald or syslog" },
        { "quiet", 'q', NULL, false, false, "say nothing of our own but refusals" },
        { "verbose", 'v', NULL, false, false,
          "tell on stderr which backend, limits and protections were in force" },
        OPTION_HELP,
        OPTION_END,
};

int run_output_form(const struct options *options, enum output_form *ret_form, struct error *err)
{
        static const char *const names[] = {
                [OUTPUT_RAW] = "raw",
                [OUTPUT_TEXT] = "text",
                [OUTPUT_JSON] = "json",
                [OUTPUT_JSONL] = "jsonl",
        };
        const char *name = options_value(options, "output");
        bool json = options_given(options, "json"), text = options_given(options, "text");
        char shown[80];
        int r;

        if ((name != NULL) + json + text > 1)
                return error_set(err, SBX_EINVAL,
                                 "more than one of '--output', '--json', '--text'");
        if (!name)
                name = json ? "json" : text ? "text" : "raw";
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                if (strcmp(name, names[i]) == 0) {
                        *ret_form = (enum output_form)i;
                        return 0;
                }
        }
        r = error_set(err, SBX_EINVAL, "option '--output': no such form '%s'",
                      str_printable(name, shown, sizeof(shown)));
        error_hint(err, "the forms are raw, text, json and jsonl");
        return r;
}

int run_check_combinations(const struct options *options, struct error *err)
{
        const char *network = options_value(options, "network");

        if (options_given(options, "quiet") && options_given(options, "verbose"))
                return error_set(err, SBX_EINVAL,
                                 "options '--quiet' and '--verbose' exclude each other");
        if (options_given(options, "cases") && options_given(options, "stdin"))
                return error_set(err, SBX_EINVAL,
                                 "option '--stdin': does not go with '--cases', which gives each "
                                 "case its own");
        if (options_given(options, "cases") && options_given(options, "collect"))
                return error_set(err, SBX_EINVAL, "option '--collect': does not go with '--cases'");
        if (options_given(options, "allow") && network && strcmp(network, "allowlist") != 0)
                return error_set(
                        err, SBX_EINVAL,
                        "option '--allow': does not go with '--network' other than allowlist");
        if (options_given(options, "collect-to") && !options_given(options, "collect"))
                return error_set(err, SBX_EINVAL,
                                 "option '--collect-to': nothing is collected without '--collect'");
        return 0;
}
