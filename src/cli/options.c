#include "cli/options.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 160 };

/* The walk along argv. */
struct cursor {
        int argc;
        char **argv;
        int at;
};

static const struct option *find_long(const struct option *table, const char *name, size_t length)
{
        for (; table->help; table++)
                if (table->name && strlen(table->name) == length &&
                    memcmp(table->name, name, length) == 0)
                        return table;
        return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
        for (; table->help; table++)
                if (table->name && table->letter == letter)
                        return table;
        return NULL;
}

static const char *nth_name(const void *list, size_t index)
{
        const struct option *table = list;

        for (; table->help; table++)
                if (table->name && index-- == 0)
                        return table->name;
        return NULL;
}

static int unknown_option(const struct option *table, const char *word, struct error *err)
{
        char name[SHOWN_MAX], shown[SHOWN_MAX];
        const char *near;
        size_t length = strcspn(word, "=");
        int r;

        (void)snprintf(name, sizeof(name), "%.*s", (int)(length < SHOWN_MAX ? length : SHOWN_MAX),
                       word);
        r = error_set(err, SBX_EINVAL, "unknown option '%s'",
                      str_printable(name, shown, sizeof(shown)));
        near = nearest_name(name + strspn(name, "-"), nth_name, table);
        if (near)
                error_hint(err, "did you mean '--%s'?", near);
        else
                error_hint(err, "--help lists the options; a file name that begins with a dash is "
                                "written './-name'");
        return r;
}

/* The hint: how it is written, and, where that was wrong, how often. */
static int misused(const struct option *option, const char *why, const char *how_often,
                   struct error *err)
{
        (void)error_set(err, SBX_EINVAL, "option '--%s': %s", option->name, why);
        error_hint(err, "write '--%s%s%s'%s", option->name, option->argument ? " " : "",
                   option->argument ? option->argument : "", how_often);
        return SBX_EINVAL;
}

static int add_use(struct options *options, const struct option *option, const char *value,
                   struct error *err)
{
        if (value && !*value && !option->allow_empty)
                return misused(option, "the value is empty", "", err);
        if (!option->repeatable && options_given(options, option->name))
                return misused(option, "given twice", " once", err);
        if (MEM_GROW(options->uses, options->use_count, options->use_capacity) < 0)
                return error_set_nomem(err);
        options->uses[options->use_count++] = (struct option_use){ option, value };
        return 0;
}

static int add_word(struct options *options, const char *word, struct error *err)
{
        if (MEM_GROW(options->words, options->word_count, options->word_capacity) < 0)
                return error_set_nomem(err);
        options->words[options->word_count++] = word;
        return 0;
}

/* `attached` is the value written in the same word, or NULL. */
static int take_use(struct options *options, const struct option *option, const char *attached,
                    struct cursor *cursor, struct error *err)
{
        if (!option->argument) {
                if (attached)
                        return misused(option, "takes no value", "", err);
                return add_use(options, option, NULL, err);
        }
        if (attached)
                return add_use(options, option, attached, err);
        /* "--" after an option that wants a value is a forgotten value, never the value. */
        if (cursor->at >= cursor->argc || strcmp(cursor->argv[cursor->at], "--") == 0)
                return misused(option, "needs a value", "", err);
        return add_use(options, option, cursor->argv[cursor->at++], err);
}

static int take_long(struct options *options, const struct option *table, const char *word,
                     struct cursor *cursor, struct error *err)
{
        const char *name = word + 2;
        size_t length = strcspn(name, "=");
        const struct option *option = find_long(table, name, length);

        if (!option)
                return unknown_option(table, word, err);
        return take_use(options, option, name[length] ? name + length + 1 : NULL, cursor, err);
}

static int take_short(struct options *options, const struct option *table, const char *word,
                      struct cursor *cursor, struct error *err)
{
        const struct option *option = find_letter(table, word[1]);

        if (!option)
                return unknown_option(table, word, err);
        return take_use(options, option, word[2] ? word + 2 : NULL, cursor, err);
}

/* Only the latest use is looked at: ten thousand variables on a command line cost no more than one.
 */
static bool asks_for_help(const struct options *options)
{
        return options->use_count > 0 &&
               str_equal(options->uses[options->use_count - 1].option->name, "help");
}

int options_parse(struct options *options, const struct option *table, int argc, char **argv,
                  struct error *err)
{
        struct cursor cursor = { argc, argv, 0 };

        while (cursor.at < argc && !asks_for_help(options)) {
                const char *word = argv[cursor.at++];
                int r;

                if (strcmp(word, "--") == 0) {
                        options->rest = argv + cursor.at;
                        options->rest_count = (size_t)(argc - cursor.at);
                        options->rest_given = true;
                        return 0;
                }
                if (word[0] != '-' || word[1] == '\0')
                        r = add_word(options, word, err);
                else if (word[1] == '-')
                        r = take_long(options, table, word, &cursor, err);
                else
                        r = take_short(options, table, word, &cursor, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

void options_done(struct options *options)
{
        mem_free(options->uses);
        mem_free(options->words);
        *options = (struct options){ 0 };
}

const char *options_value(const struct options *options, const char *name)
{
        const char *value = NULL;

        for (size_t i = 0; i < options->use_count; i++)
                if (str_equal(options->uses[i].option->name, name))
                        value = options->uses[i].value;
        return value;
}

bool options_given(const struct options *options, const char *name)
{
        for (size_t i = 0; i < options->use_count; i++)
                if (str_equal(options->uses[i].option->name, name))
                        return true;
        return false;
}

int options_apply(const struct options *options, void *target, struct error *err)
{
        for (size_t i = 0; i < options->use_count; i++) {
                const struct option_use *use = &options->uses[i];
                int r = use->option->apply
                                ? use->option->apply(use->option, use->value, target, err)
                                : 0;

                if (r < 0) {
                        error_prefix(err, "option '--%s'", use->option->name);
                        return r;
                }
        }
        return 0;
}

/* The option whose name a message begins with. */
static const struct option *find_blamed(const struct option *table, const char *message)
{
        static const char begin[] = "option '--";
        const char *name = message + strlen(begin);

        if (!str_has_prefix(message, begin))
                return NULL;
        for (; table->help; table++) {
                size_t length = table->name ? strlen(table->name) : 0;

                if (length > 0 && strncmp(name, table->name, length) == 0 && name[length] == '\'')
                        return table;
        }
        return NULL;
}

void options_hint(const struct option *table, const char *command, struct error *err)
{
        const struct option *option = find_blamed(table, err->message);

        if (err->hint[0])
                return;
        if (option)
                error_hint(err, "'--%s%s%s': %s", option->name, option->argument ? " " : "",
                           option->argument ? option->argument : "", option->help);
        else if (err->code == SBX_EINVAL)
                error_hint(err, "'sandbox %s --help' says how it is used", command);
}
