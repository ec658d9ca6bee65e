/* `sandbox keeper --status` and `--stop`: a look at the keeper that is there, and its end. */
#include "cli/cli.h"
#include "cli/table.h"
#include "base/mem.h"
#include "base/units.h"

#include <jansson.h>
#include <string.h>

bool keeper_is_asked(const struct options *options)
{
        return options_given(options, "status") || options_given(options, "stop") ||
               options_given(options, "json");
}

/* Those of a keeper that starts say nothing here. */
static int refuse_others(const struct options *options, struct error *err)
{
        bool stops = options_given(options, "stop");
        const char *wanted = stops ? "stop" : "status";

        for (size_t i = 0; i < options->use_count; i++) {
                const char *name = options->uses[i].option->name;

                if (strcmp(name, wanted) == 0 || strcmp(name, "socket") == 0 ||
                    strcmp(name, "quiet") == 0 || (!stops && strcmp(name, "json") == 0))
                        continue;
                (void)error_set(err, SBX_EINVAL, "option '--%s' does not go with '--%s'", name,
                                wanted);
                error_hint(err,
                           "--status shows the keeper that runs, --stop ends it, and both take "
                           "--socket");
                return SBX_EINVAL;
        }
        if (!options_given(options, wanted)) {
                (void)error_set(err, SBX_EINVAL, "option '--json' goes with '--status'");
                return SBX_EINVAL;
        }
        return 0;
}

static long long number_of(const json_t *object, const char *key)
{
        return (long long)json_integer_value(json_object_get(object, key));
}

static const char *seconds_of(const json_t *object, const char *key, char text[UNITS_TEXT_MAX])
{
        double seconds = json_number_value(json_object_get(object, key));

        return units_format_duration((uint64_t)seconds * 1000, text);
}

/* One kind as a person reads it. */
static json_t *row_for_people(const json_t *kind)
{
        const char *language = json_string_value(json_object_get(kind, "language"));
        long long memory = number_of(kind, "memory"), limit = number_of(kind, "memory_limit");
        char size[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX], asked[UNITS_TEXT_MAX];

        return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o}", "language",
                         language ? language : "any", "limit",
                         limit ? units_format_size((uint64_t)limit, most) : "", "warm",
                         language ? json_string_value(json_object_get(kind, "warm")) : "container",
                         "ready", json_sprintf("%lld", number_of(kind, "ready")), "in use",
                         json_sprintf("%lld", number_of(kind, "in_use")), "interpreters",
                         json_sprintf("%lld", number_of(kind, "interpreters")), "memory",
                         memory ? units_format_size((uint64_t)memory, size) : "", "asked for",
                         json_sprintf("%s ago", seconds_of(kind, "asked", asked)));
}

static json_t *rows_for_people(const json_t *kinds)
{
        json_t *rows = json_array();
        size_t index;
        json_t *kind;

        json_array_foreach(kinds, index, kind)
        {
                (void)json_array_append_new(rows, row_for_people(kind));
        }
        return rows;
}

static void format_state(const json_t *root, struct strbuf *out)
{
        static const char *const columns[] = { "language", "limit",        "warm",   "ready",
                                               "in use",   "interpreters", "memory", "asked for" };
        json_t *rows = rows_for_people(json_object_get(root, "kinds"));
        long long forked = number_of(root, "forked"), hatched = number_of(root, "hatched");
        char text[UNITS_TEXT_MAX];

        strbuf_addf(out, "the keeper on '%s': process %lld, up %s\n",
                    json_string_value(json_object_get(root, "socket")), number_of(root, "pid"),
                    seconds_of(root, "uptime", text));
        if (json_is_null(json_object_get(root, "ends_in")))
                strbuf_adds(out, "ends when it is told to\n");
        else if (number_of(root, "commands") == 0)
                strbuf_addf(out, "ends in %s where nobody asks\n",
                            seconds_of(root, "ends_in", text));
        strbuf_addf(out,
                    "runs so far: %lld by an interpreter that was ready, %lld in a container "
                    "that was, %lld that found none\n",
                    forked, hatched - forked, number_of(root, "missed"));
        strbuf_addf(out, "being made or ended: %lld; could not be made: %lld\n",
                    number_of(root, "making"), number_of(root, "failures"));
        if (json_array_size(rows) > 0) {
                strbuf_adds(out, "\n");
                table_format(rows, columns, ARRAY_SIZE(columns), out);
        } else {
                strbuf_adds(out, "nothing is ready: the first run of each kind has it made\n");
        }
        json_decref(rows);
}

static int show(const struct cli *cli, const struct options *options, const char *path,
                struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        sbx_error *failure = NULL;
        char *text = sbx_keeper_json(path, &failure);
        json_t *root;

        if (!text)
                return report_take(err, failure);
        if (options_given(options, "json"))
                return report_write_taken(cli, text, err);
        root = json_loads(text, 0, NULL);
        sbx_string_free(text);
        format_state(root, &out);
        json_decref(root);
        return !root || out.failed ? error_set_nomem(err)
                                   : report_write(cli, out.data, out.length, err);
}

int keeper_ask(const struct cli *cli, const struct options *options, const char *path,
               struct error *err)
{
        sbx_error *failure = NULL;
        int r = refuse_others(options, err);

        if (r < 0)
                return r;
        if (options_given(options, "status"))
                return show(cli, options, path, err);
        if (sbx_keeper_end(path, &failure) < 0)
                return report_take(err, failure);
        if (!options_given(options, "quiet"))
                report_line("the keeper has ended", NULL);
        return 0;
}
