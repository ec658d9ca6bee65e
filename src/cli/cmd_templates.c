/* `sandbox templates`: what --template can name. */
#include "cli/cli.h"
#include "cli/table.h"
#include "base/mem.h"

#include <jansson.h>

static const struct option templates_options[] = {
        OPTION_HEADING("Options"),
        { "json", 0, NULL, false, false, "as JSON, with what each value is" },
        OPTION_HELP,
        OPTION_END,
};

/* "function [args] [kwargs]": those in brackets have a default. */
static json_t *list_values(const json_t *placeholders)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        size_t index;
        json_t *item;

        json_array_foreach(placeholders, index, item)
        {
                const char *name = json_string_value(json_object_get(item, "name"));
                bool required = json_is_true(json_object_get(item, "required"));

                if (!name || str_equal(name, "code"))
                        continue;
                strbuf_addf(&out, "%s%s%s%s", out.length ? " " : "", required ? "" : "[", name,
                            required ? "" : "]");
        }
        return out.length && !out.failed ? json_string(out.data) : json_null();
}

static int print_table(const struct cli *cli, const char *text, struct error *err)
{
        static const char *const columns[] = { "name", "language", "values", "description" };
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *root = json_loads(text, 0, NULL);
        size_t index;
        json_t *item;

        json_array_foreach(root, index, item)(void) json_object_set_new(
                item, "values", list_values(json_object_get(item, "placeholders")));
        table_format(root, columns, ARRAY_SIZE(columns), &out);
        json_decref(root);
        if (out.failed)
                return error_set_nomem(err);
        return report_write(cli, out.data, out.length, err);
}

static int templates_main(const struct cli *cli, const struct options *options, struct error *err)
{
        sbx_error *failure = NULL;
        char *text;
        int r = setup_refuse_words(options, err);

        if (r < 0)
                return r;
        text = sbx_templates_json(&failure);
        if (!text)
                return report_take(err, failure);
        if (options_given(options, "json"))
                return report_write_taken(cli, text, err);
        r = print_table(cli, text, err);
        sbx_string_free(text);
        return r;
}

const struct command cmd_templates = {
        .name = "templates",
        .summary = "programs with placeholders that code can be put into",
        .synopsis = "[--json]",
        .options = templates_options,
        .run = templates_main,
};
