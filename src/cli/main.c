/*
 * The program `sandbox`, also called `sandbox-run`: finds the sub-command and calls it.
 *
 * Both names behave alike. A first word that is no sub-command belongs to `run`.
 */
#include "cli/cli.h"
#include "base/fd.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
        &cmd_run, &cmd_check,  &cmd_languages, &cmd_templates, &cmd_policy, &cmd_history,
        &cmd_top, &cmd_doctor, &cmd_bench,     &cmd_keeper,    &cmd_mcp,    &cmd_images,
};

/* Named in the documentation, not in this build: refused rather than taken for file names. */
static const struct {
        const char *name;
        const char *summary;
} unavailable[] = {
        { "serve", "HTTP server" },
        { "worker", "queue worker" },
};

static const struct command *find_command(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (str_equal(commands[i]->name, name))
                        return commands[i];
        return NULL;
}

static bool is_unavailable(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(unavailable); i++)
                if (str_equal(unavailable[i].name, name))
                        return true;
        return false;
}

static const char *nth_command(const void *list, size_t index)
{
        return index < ARRAY_SIZE(commands) ? commands[index]->name : NULL;
}

const char *command_nearest(const char *word)
{
        return nearest_name(word, nth_command, NULL);
}

static void add_usage(struct strbuf *out)
{
        strbuf_adds(out, "usage: sandbox [run] [options] [FILE | -] [-- ARGS...]\n"
                         "       sandbox COMMAND [options]\n"
                         "       sandbox help [COMMAND]\n");
}

static int print_general_help(const struct cli *cli, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        strbuf_adds(&out, "Run untrusted code, contained.\n\n");
        add_usage(&out);
        strbuf_adds(&out, "\nCommands:\n");
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                strbuf_addf(&out, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
        strbuf_adds(&out, "\nNot available in this build:\n");
        for (size_t i = 0; i < ARRAY_SIZE(unavailable); i++)
                strbuf_addf(&out, "  %-12s%s\n", unavailable[i].name, unavailable[i].summary);
        strbuf_adds(&out, "\nOptions:\n"
                          "  -h, --help  show this help and exit\n"
                          "      --version\n"
                          "              show the version and exit\n"
                          "\nA first word that is no command belongs to 'run'; a file named like a "
                          "command is\nwritten './check'.\n"
                          "\nExample:\n  sandbox run --lang python --code 'print(6 * 7)'\n");
        if (out.failed)
                return error_set_nomem(err);
        return report_write(cli, out.data, out.length, err);
}

static int print_command_help(const struct cli *cli, const struct command *command,
                              struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        strbuf_addf(&out, "usage: sandbox %s %s\n\n%s\n", command->name, command->synopsis,
                    command->summary);
        options_help(command->options, &out);
        if (command->notes)
                strbuf_addf(&out, "\n%s", command->notes);
        if (out.failed)
                return error_set_nomem(err);
        return report_write(cli, out.data, out.length, err);
}

static int run_command(const struct cli *cli, const struct command *command, int argc, char **argv,
                       struct error *err)
{
        AUTO_OPTIONS struct options options = { 0 };
        int r = options_parse(&options, command->options, argc, argv, err);

        if (r == 0 && options_given(&options, "help"))
                return print_command_help(cli, command, err);
        if (r == 0 && command->uses_groups)
                scope_enter(command->name, argc, argv);
        if (r == 0)
                r = command->run(cli, &options, err);
        if (r < 0)
                options_hint(command->options, command->name, err);
        return r;
}

static int refuse_unavailable(const char *name, struct error *err)
{
        int r = error_set(err, SBX_EUNAVAILABLE, "%s: not available in this build", name);

        error_hint(err, "'sandbox --help' lists the commands that are");
        return r;
}

static int help_main(const struct cli *cli, int argc, char **argv, struct error *err)
{
        const struct command *command;
        char shown[80];
        int r;

        if (argc == 0)
                return print_general_help(cli, err);
        command = argc == 1 ? find_command(argv[0]) : NULL;
        if (command)
                return print_command_help(cli, command, err);
        if (is_unavailable(argv[0]))
                return refuse_unavailable(argv[0], err);
        r = error_set(err, SBX_EINVAL, "help: no such command '%s'",
                      str_printable(argv[argc - 1], shown, sizeof(shown)));
        error_hint(err, "'sandbox --help' lists the commands");
        return r;
}

static int print_version(const struct cli *cli, struct error *err)
{
        char line[80];
        int length = snprintf(line, sizeof(line), "sandbox %s\n", sbx_version());

        return report_write(cli, line, (size_t)length, err);
}

/* Without a word and with a terminal there is nobody to give us code: say how it is used. */
static int print_usage(struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        add_usage(&out);
        strbuf_adds(&out, "example: sandbox run --lang python --code 'print(6 * 7)'\n");
        if (out.failed)
                return error_set_nomem(err);
        (void)fd_write_all(2, out.data, out.length); /* nowhere left to complain */
        return EXIT_NOT_RUN;
}

/* argv[0] is the first word after the program's name. */
static int dispatch(const struct cli *cli, int argc, char **argv, struct error *err)
{
        const char *word = argc > 0 ? argv[0] : NULL;
        const struct command *command = word ? find_command(word) : NULL;

        if (!word && isatty(0))
                return print_usage(err);
        if (command)
                return run_command(cli, command, argc - 1, argv + 1, err);
        if (word && is_unavailable(word))
                return refuse_unavailable(word, err);
        if (str_equal(word, "help"))
                return help_main(cli, argc - 1, argv + 1, err);
        if (argc == 1 && (str_equal(word, "--help") || str_equal(word, "-h")))
                return print_general_help(cli, err);
        if (argc == 1 && str_equal(word, "--version"))
                return print_version(cli, err);
        return run_command(cli, &cmd_run, argc, argv, err);
}

int main(int argc, char **argv)
{
        struct cli cli = { { false } };
        struct error err = { 0 };
        int code;

        if (fd_open_standard(cli.closed) < 0)
                return EXIT_NOT_RUN;
        /* A reader that goes away is an error to tell and to clean up after, not our death. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        code = dispatch(&cli, argc > 0 ? argc - 1 : 0, argv + (argc > 0), &err);
        if (code >= 0)
                return code;
        report_error(&err);
        return EXIT_NOT_RUN;
}
