/* `sandbox doctor`: what this machine can enforce, what it cannot, and the command that fixes it.
 */
#include "cli/cli.h"
#include "cli/program.h"
#include "base/mem.h"

#include <jansson.h>
#include <string.h>

static const struct option doctor_options[] = {
        OPTION_HEADING("Options"),
        { "json", 0, NULL, false, false, "as JSON" },
        { "clean", 0, NULL, false, false,
          "instead, remove what killed runs left in the engine of the backend docker" },
        OPTION_HELP,
        OPTION_END,
};

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text && *text ? text : otherwise;
}

static const char *mark(bool available, bool color)
{
        if (color)
                return available ? "\033[32mok\033[0m     " : "\033[31mmissing\033[0m";
        return available ? "ok     " : "missing";
}

/* "wasmtime 50.0.1 (28 MiB), python 3.13.5 (33 MiB)": what a backend brings with it. */
static void add_built(struct strbuf *out, const json_t *built)
{
        const json_t *engine = json_object_get(built, "engine");
        const char *name;
        json_t *guest;

        if (!engine)
                return;
        strbuf_addf(out, "  %-18s%s %s (%lld MiB)", "", text_of(engine, "name", "?"),
                    text_of(engine, "version", "?"),
                    (long long)json_integer_value(json_object_get(engine, "bytes")) >> 20);
        json_object_foreach(json_object_get(built, "guests"), name, guest)
        {
                strbuf_addf(out, ", %s %s (%lld MiB)", name, text_of(guest, "version", "?"),
                            (long long)json_integer_value(json_object_get(guest, "bytes")) >> 20);
        }
        strbuf_adds(out, "\n");
}

static void add_kinds(struct strbuf *out, const char *title, const json_t *kinds, bool color)
{
        size_t index;
        json_t *item;

        strbuf_addf(out, "\n%s\n", title);
        json_array_foreach(kinds, index, item)
        {
                bool available = json_is_true(json_object_get(item, "available"));

                strbuf_addf(out, "  %-18s%s  %s\n", text_of(item, "name", "?"),
                            mark(available, color), text_of(item, "reason", ""));
                add_built(out, json_object_get(item, "built"));
        }
}

static void add_protections(struct strbuf *out, const json_t *protections, const char *backend,
                            bool color)
{
        size_t index;
        json_t *item;

        strbuf_addf(out, "\nprotections and limits%s\n",
                    strcmp(backend, "local") == 0
                            ? " of the backend local, for no container starts here"
                            : "");
        json_array_foreach(protections, index, item)
        {
                bool available = json_is_true(json_object_get(item, "available"));
                const char *detail = text_of(item, "detail", NULL);

                strbuf_addf(out, "  %-18s%s  %-21s%s\n", text_of(item, "name", "?"),
                            mark(available, color), text_of(item, "by", "-"),
                            detail ? detail : text_of(item, "sentence", ""));
        }
}

/* The remedies, below the tables and each said once: one command often mends several things. */
static void add_fixes(struct strbuf *out, const json_t *list, struct strbuf *said)
{
        size_t index;
        json_t *item;

        json_array_foreach(list, index, item)
        {
                const char *fix = text_of(item, "fix", NULL);

                if (!fix || json_is_true(json_object_get(item, "available")))
                        continue;
                if (said->data && strstr(said->data, fix))
                        continue;
                if (!said->data)
                        strbuf_adds(out, "\nto mend\n");
                strbuf_addf(said, "%s\n", fix);
                strbuf_addf(out, "  %-18s%s\n", text_of(item, "name", "?"), fix);
        }
}

static void format_report(const json_t *root, bool color, struct strbuf *out)
{
        AUTO_STRBUF struct strbuf said = { 0 };
        const json_t *backends = json_object_get(root, "backends");
        const json_t *protections = json_object_get(root, "protections");
        const json_t *networks = json_object_get(root, "network_modes");

        strbuf_addf(out, "kernel %s, user %s (%lld), cgroup %s\n", text_of(root, "kernel", "?"),
                    text_of(root, "user", "?"),
                    (long long)json_integer_value(json_object_get(root, "uid")),
                    text_of(root, "cgroup", "?"));
        if (text_of(root, "cgroup_reason", NULL))
                strbuf_addf(out, "no control groups: %s\n", text_of(root, "cgroup_reason", ""));
        add_kinds(out, "backends", backends, color);
        add_kinds(out, "network modes that ask for each connection", networks, color);
        add_protections(out, protections, text_of(root, "protections_of", ""), color);
        add_fixes(out, backends, &said);
        add_fixes(out, networks, &said);
        add_fixes(out, protections, &said);
        strbuf_addf(out, "\n%s\n",
                    json_is_true(json_object_get(root, "strict_run_possible"))
                            ? "A run with the default policy is enforced in full here."
                            : "A run with the default policy is refused here; see above.");
}

static int doctor_main(const struct cli *cli, const struct options *options, struct error *err)
{
        AUTO_ENGINE sbx_engine *engine = NULL;
        AUTO_STRBUF struct strbuf out = { 0 };
        sbx_error *failure = NULL;
        bool possible;
        json_t *root;
        char *text;
        int r = setup_refuse_words(options, err);

        if (r == 0 && options_given(options, "clean"))
                return program_execute("sandbox-docker", "docker", "doctor", options, err);
        if (r == 0)
                r = setup_engine(NULL, SETUP_NO_RUN, &engine, err);
        if (r < 0)
                return r;
        text = sbx_doctor_json(engine, &failure);
        if (!text)
                return report_take(err, failure);
        root = json_loads(text, 0, NULL);
        possible = json_is_true(json_object_get(root, "strict_run_possible"));
        if (options_given(options, "json")) {
                r = report_write_taken(cli, text, err);
        } else {
                format_report(root, report_is_colored(1), &out);
                sbx_string_free(text);
                r = out.failed ? error_set_nomem(err)
                               : report_write(cli, out.data, out.length, err);
        }
        json_decref(root);
        return r < 0 ? r : !possible;
}

const struct command cmd_doctor = {
        .name = "doctor",
        .summary = "what this machine can enforce, what it cannot, and the command that fixes it",
        .synopsis = "[--json | --clean]",
        .uses_groups = true,
        .options = doctor_options,
        .notes = "Exit code: 0 where a run with the default policy is enforced in full, else 1.\n",
        .run = doctor_main,
};
