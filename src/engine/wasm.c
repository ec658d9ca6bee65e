#include "engine/passage.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "wasm/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKER_INSIDE "/sandbox-wasm"
#define PARTS_INSIDE  "/wasm"

/* Which guest runs a language. */
static const struct {
        const char *language, *guest;
} guests[] = {
        { "python", "python" },
        { "javascript", "javascript" },
        { "wasm", "module" },
};

const char *wasm_guest_of(const struct language *language)
{
        for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
                if (str_equal(guests[i].language, language->name))
                        return guests[i].guest;
        return NULL;
}

void wasm_init(struct wasm_passage *wasm)
{
        *wasm = (struct wasm_passage){ .report_fd = -1 };
}

void wasm_done(struct wasm_passage *wasm)
{
        fd_close(wasm->report_fd);
        mem_free(wasm->worker);
        mem_free(wasm->parts);
        mem_free(wasm->launcher);
        strlist_done(&wasm->env);
        wasm_init(wasm);
}

bool wasm_is_used(const struct passage *passage)
{
        return passage->backend == &backend_wasm || passage->backend == &backend_wasm_bare;
}

bool wasm_has_guest(const struct language *language)
{
        return wasm_guest_of(language) != NULL;
}

/* Wheels without a part of their own for any machine, for the version that the guest is of. */
const char *const *wasm_installs(const struct passage *passage)
{
        static const char *const for_python[] = {
                "PIP_ONLY_BINARY=:all:", "PIP_PLATFORM=any",        "PIP_IMPLEMENTATION=py",
                "PIP_ABI=none",          "PIP_PYTHON_VERSION=3.13", NULL,
        };
        static const char *const none[] = { NULL };
        bool is_wanted = passage_first_backend(passage) == BACKEND_WASM;

        return is_wanted && str_equal(passage->language->name, "python") ? for_python : none;
}

/* ---- the worker's orders ---- */

static void add_word(struct strbuf *text, const char *word)
{
        strbuf_addf(text, "%zu:%s", strlen(word), word);
}

static void add_directory(struct strbuf *text, char kind, const char *inside, const char *outside)
{
        strbuf_add(text, &kind, 1);
        add_word(text, inside);
        add_word(text, outside);
}

/* The names inside are the same whatever is around the worker; the workspace is where it starts. */
static void add_directories(const struct passage *passage, const struct plan_input *input,
                            struct strbuf *text)
{
        const struct policy_values *policy = &passage->policy;
        bool bare = input->kind == PLAN_LOCAL;
        char path[4200];

        add_directory(text, 'w', "/workspace", ".");
        add_directory(text, 'w', "/app", ".");
        if (str_equal(wasm_guest_of(passage->language), "module"))
                add_directory(text, 'w', ".", ".");
        (void)snprintf(path, sizeof(path), "%s/code", bare ? input->scratch : "");
        add_directory(text, 'r', "/code", path);
        (void)snprintf(path, sizeof(path), "%s/tmp", bare ? input->scratch : "");
        add_directory(text, 'w', "/tmp", path);
        if (input->deps)
                add_directory(text, 'r', "/deps", bare ? input->deps : "/deps");
        for (size_t i = 0; i < policy->mount_count; i++)
                add_directory(text, policy->mounts[i].writable ? 'w' : 'r',
                              policy->mounts[i].target,
                              bare ? policy->mounts[i].source : policy->mounts[i].target);
}

static int add_environment(struct passage *passage, const struct plan_input *input)
{
        const struct limits *limits = &passage->policy.limits;
        AUTO_STRBUF struct strbuf text = { 0 };

        strbuf_adds(&text, WASM_VARIABLE "=g");
        add_word(&text, wasm_guest_of(passage->language));
        strbuf_adds(&text, "p");
        add_word(&text, input->kind == PLAN_LOCAL ? passage->wasm.parts : PARTS_INSIDE);
        strbuf_addf(&text, "m%llu,f%llu,", (unsigned long long)limits->memory_bytes,
                    (unsigned long long)limits->fuel);
        add_directories(passage, input, &text);
        if (text.failed || strlist_add(&passage->wasm.env, text.data) < 0 ||
            strlist_add(&passage->wasm.env, "HOME=/workspace") < 0 ||
            strlist_add(&passage->wasm.env, "TMPDIR=/tmp") < 0)
                return -1;
        if (!str_equal(passage->language->name, "python"))
                return 0;
        return strlist_add(&passage->wasm.env,
                           input->deps ? "PYTHONPATH=/workspace:/deps" : "PYTHONPATH=/workspace");
}

/* A file of a fixed size that is all zeros: nothing was told. */
static int make_report(void)
{
        const struct wasm_report empty = { 0 };
        AUTO_CLOSE int fd = memfd_create("report", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fd_write_all(fd, &empty, sizeof(empty)) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -1;
        return fd_take(&fd);
}

/* The worker's copy of the language: how the program is named, found and told about stays. */
static void borrow_language(struct passage *passage)
{
        static const char *const none[] = { NULL };
        struct wasm_passage *wasm = &passage->wasm;
        struct language *language = &wasm->language;
        /* The C library that worker and engine need: all that there is of the host in their root.
         */
        const struct language *of_modules = languages_by_name(passage->engine->languages, "wasm");

        *language = *passage->language;
        language->paths = of_modules ? of_modules->paths : none;
        language->env = none;
        language->deps.env = none;
        language->deps.mounts = none;
        language->full_proc = false;
        language->executable = false;
        language->warm = "fork";
        wasm->park[0] = wasm->worker;
        wasm->park[1] = "-c";
        wasm->park[2] = "{launcher}";
        wasm->park[3] = NULL;
        language->park = (struct language_park){ .command = wasm->park,
                                                 .launcher = wasm->launcher,
                                                 .preload = none,
                                                 .env = none,
                                                 .keeps = none,
                                                 .sets = none,
                                                 .cold = none,
                                                 .is_passing = true };
}

/* Whether a copy of a parked worker may be the run. */
static bool can_be_parked(const struct passage *passage)
{
        return !passage->order->request->no_warm && engine_is_warm(passage->engine) &&
               passage->backend == &backend_wasm && passage->policy.limits.processes >= 2;
}

const struct language *wasm_language(const struct passage *passage)
{
        return wasm_is_used(passage) ? &passage->wasm.language : passage->language;
}

bool wasm_is_part(const struct passage *passage, const struct plan_mount *mount)
{
        const struct wasm_passage *wasm = &passage->wasm;

        return wasm_is_used(passage) && mount->kind == PLAN_MOUNT_PLAIN &&
               (str_equal(mount->target, WORKER_INSIDE) ||
                str_equal(mount->target, PARTS_INSIDE)) &&
               (str_equal(mount->source, wasm->worker) || str_equal(mount->source, wasm->parts));
}

/* What a parked worker is started with: the guest, which of its images, where. */
static char *make_launcher(const struct passage *passage)
{
        const struct wasm_passage *wasm = &passage->wasm;
        const char *guest = wasm_guest_of(passage->language);
        AUTO_STRBUF struct strbuf text = { 0 };
        char path[4300];
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s/%s.cwasm", wasm->parts, guest);
        if (stat(path, &st) < 0)
                st = (struct stat){ 0 };
        strbuf_addf(&text, "%s %llu.%llu.%llu %s", guest, (unsigned long long)st.st_ino,
                    (unsigned long long)st.st_size, (unsigned long long)st.st_mtime, wasm->parts);
        return strbuf_take(&text);
}

/* The program's variables are given to the worker, which is native: none of those that the C
 * library or the worker itself obeys may be among them. */
static int check_variables(const struct plan_input *input, struct error *err)
{
        static const char *const obeyed[] = { "LD_",      "GLIBC_",   "MALLOC_", "GCONV_PATH=",
                                              "LOCPATH=", "NLSPATH=", "SANDBOX_" };
        const struct strlist *env = &input->policy->env;

        for (size_t i = 0; i < env->count; i++)
                for (size_t j = 0; j < ARRAY_SIZE(obeyed); j++)
                        if (str_has_prefix(env->items[i], obeyed[j]))
                                return error_set(err, SBX_EINVAL,
                                                 "variable '%.*s' is not for the wasm backend",
                                                 (int)strcspn(env->items[i], "="), env->items[i]);
        return 0;
}

/* Without mounts, a directory that lies within another can be reached through that one too, with
 * the rights and the files that are there. */
static int check_nesting(const struct policy_values *policy, struct error *err)
{
        static const char *const own[] = { "/workspace", "/app", "/code", "/tmp", "/deps", "/lib" };
        int r = 0;

        for (size_t i = 0; i < policy->mount_count && r == 0; i++) {
                const char *inner = policy->mounts[i].target, *outer = NULL;

                for (size_t j = 0; j < ARRAY_SIZE(own); j++)
                        if (path_is_within(inner, own[j]))
                                outer = own[j];
                for (size_t j = 0; j < policy->mount_count; j++)
                        if (j != i && path_is_within(inner, policy->mounts[j].target))
                                outer = policy->mounts[j].target;
                if (outer)
                        r = error_set(err, SBX_EUNAVAILABLE,
                                      "volume '%s' lies within '%s', and this machine allows no "
                                      "mounts to keep them apart",
                                      inner, outer);
        }
        if (r < 0)
                error_hint(err, "put it beside the other one, such as at '/data'");
        return r;
}

int wasm_describe(struct passage *passage, struct plan_input *input, struct step_files *files,
                  struct error *err)
{
        struct wasm_passage *wasm = &passage->wasm;
        bool bare = input->kind == PLAN_LOCAL;
        bool is_module = str_equal(wasm_guest_of(passage->language), "module");

        if (check_variables(input, err) < 0 || (bare && check_nesting(&passage->policy, err) < 0))
                return err->code;
        fd_close(wasm->report_fd);
        strlist_done(&wasm->env);
        wasm->report_fd = make_report();
        if (wasm->report_fd < 0)
                return error_set_errno(err, "make a file for the worker's report");
        mem_free(wasm->launcher);
        wasm->launcher = make_launcher(passage);
        if (!wasm->launcher || add_environment(passage, input) < 0)
                return error_set_nomem(err);
        borrow_language(passage);
        (void)snprintf(wasm->entry, sizeof(wasm->entry), "%s/{entry}", input->source_place);
        wasm->command[0] = "{tool}";
        wasm->command[1] = is_module ? "{file}" : wasm->entry;
        wasm->command[2] = "{args}";
        wasm->command[3] = NULL;
        wasm->mounts[0] = (struct plan_mount){ PLAN_MOUNT_PLAIN, wasm->worker, WORKER_INSIDE };
        wasm->mounts[1] = (struct plan_mount){ PLAN_MOUNT_PLAIN, wasm->parts, PARTS_INSIDE };
        input->language = &wasm->language;
        input->tool = bare ? wasm->worker : WORKER_INSIDE;
        input->runtime = "";
        input->command = wasm->command;
        input->extra_env = &wasm->env;
        input->park = can_be_parked(passage) ? &wasm->language.park : NULL;
        input->parts = wasm->mounts;
        input->part_count = WASM_PARTS;
        input->prepared = NULL;
        input->resolver = NULL;
        input->self_contained = false;
        files->fds[files->count++] = wasm->report_fd;
        input->report_fd = (uint32_t)files->count;
        return 0;
}

/* ---- what it told ---- */

static void take_usage(struct passage *passage, const struct wasm_report *report)
{
        struct result *result = passage->result;

        result->fuel.limit = passage->policy.limits.fuel;
        result->fuel.consumed = report->fuel_consumed;
        result->fuel.is_known = true;
        if (report->memory_peak > 0)
                result->run.usage.memory_peak = report->memory_peak;
}

int wasm_settle(struct passage *passage, struct error *err)
{
        static const enum outcome outcomes[WASM_END_COUNT] = {
                [WASM_END_FUEL] = OUTCOME_FUEL_EXHAUSTED,
                [WASM_END_MEMORY] = OUTCOME_MEMORY_LIMIT,
                [WASM_END_REFUSED] = OUTCOME_COMPILE_ERROR,
        };
        struct result *result = passage->result;
        struct result_step *run = &result->run;
        struct wasm_report report = { 0 };

        if (pread(passage->wasm.report_fd, &report, sizeof(report), 0) != sizeof(report) ||
            report.magic != WASM_REPORT_MAGIC || report.end >= WASM_END_COUNT)
                return 0; /* it was ended before it could say */
        report.text[sizeof(report.text) - 1] = '\0';
        if (report.end != WASM_END_REFUSED && report.end != WASM_END_BROKEN)
                take_usage(passage, &report);
        if (run->outcome != OUTCOME_OK && run->outcome != OUTCOME_FAILED)
                return 0; /* the monitor knows better */
        if (report.end == WASM_END_BROKEN) {
                (void)error_set(err, SBX_ESYSTEM, "%s", report.text);
                if (str_has_prefix(report.text, WASM_NOT_LOADED))
                        error_hint(err, "build it again, for this machine: make wasm");
                return SBX_ESYSTEM;
        }
        if (outcomes[report.end] == OUTCOME_OK)
                return 0;
        run->outcome = outcomes[report.end];
        if (report.end == WASM_END_FUEL)
                result_add_violation(result, "fuel", "instructions", "the limit was reached", 1);
        if (report.end == WASM_END_MEMORY)
                result_add_violation(result, "memory", "linear memory", "the limit was reached", 1);
        if (report.end == WASM_END_REFUSED)
                (void)result_set_message(result, "WebAssembly compile error: %s", report.text);
        return 0;
}
