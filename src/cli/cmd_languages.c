/* `sandbox languages`: what can run here. */
#include "cli/cli.h"
#include "cli/table.h"
#include "base/mem.h"

#include <jansson.h>

static const struct option languages_options[] = {
        OPTION_HEADING("Options"),
        { "json", 0, NULL, false, false, "as JSON" },
        { "languages", 0, "DIR", false, false, "a folder of further language files" },
        OPTION_HELP,
        OPTION_END,
};

static int print_table(const struct cli *cli, const char *text, struct error *err)
{
        static const char *const columns[] = {
                "name", "version", "path", "warm", "wasm", "status"
        };
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *root = json_loads(text, 0, NULL);
        size_t index;
        json_t *item;

        table_format(root, columns, ARRAY_SIZE(columns), &out);
        /* Why one cannot run stands below, where there is room for a sentence. */
        json_array_foreach(root, index, item)
        {
                const char *reason = json_string_value(json_object_get(item, "reason"));

                if (reason)
                        strbuf_addf(&out, "%s: %s\n",
                                    json_string_value(json_object_get(item, "name")), reason);
        }
        json_decref(root);
        if (out.failed)
                return error_set_nomem(err);
        return report_write(cli, out.data, out.length, err);
}

static int languages_main(const struct cli *cli, const struct options *options, struct error *err)
{
        AUTO_ENGINE sbx_engine *engine = NULL;
        sbx_error *failure = NULL;
        char *text;
        int r = setup_refuse_words(options, err);

        if (r == 0)
                r = setup_engine(options_value(options, "languages"), SETUP_NO_RUN, &engine, err);
        if (r < 0)
                return r;
        text = sbx_languages_json(engine, &failure);
        if (!text)
                return report_take(err, failure);
        if (options_given(options, "json"))
                return report_write_taken(cli, text, err);
        r = print_table(cli, text, err);
        sbx_string_free(text);
        return r;
}

const struct command cmd_languages = {
        .name = "languages",
        .summary = "what can run here, with versions and how warm it starts",
        .synopsis = "[--json] [--languages DIR]",
        .options = languages_options,
        .run = languages_main,
};
