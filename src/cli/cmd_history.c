#include "cli/history.h"
#include "cli/cli.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside the running program, as in a build tree, as installed. */
static const char *find_historian(const char *self, char *path, size_t size)
{
        static const char *const beside[] = {
                "sandbox-history",
                "../historian/sandbox-history",
                "../src/historian/sandbox-history",
                "../libexec/sandbox/sandbox-history",
        };
        const char *slash = strrchr(self, '/');

        for (size_t i = 0; slash && i < ARRAY_SIZE(beside); i++) {
                (void)snprintf(path, size, "%.*s/%s", (int)(slash - self), self, beside[i]);
                if (access(path, X_OK) == 0)
                        return path;
        }
        return SBX_LIBEXECDIR "/sandbox-history";
}

static int add_words(struct strlist *words, const char *self, const char *command,
                     const struct options *options)
{
        int r = strlist_add(words, self) < 0 ? -1 : strlist_add(words, command);

        for (size_t i = 0; r == 0 && i < options->use_count; i++) {
                const struct option_use *use = &options->uses[i];
                AUTO_STRBUF struct strbuf text = { 0 };

                strbuf_addf(&text, "--%s%s%s", use->option->name, use->value ? "=" : "",
                            use->value ? use->value : "");
                r = text.failed ? -1 : strlist_add(words, text.data);
        }
        for (size_t i = 0; r == 0 && i < options->word_count; i++)
                r = strlist_add(words, options->words[i]);
        return r;
}

/* Its name for itself is ours, by which it finds us again for `rerun`. */
static int execute(const char *command, const struct options *options, struct error *err)
{
        char self[4096] = "", path[4200];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        struct strlist words = { 0 };
        int r;

        self[n > 0 ? n : 0] = '\0';
        if (add_words(&words, self, command, options) < 0) {
                strlist_done(&words);
                return error_set_nomem(err);
        }
        (void)execv(find_historian(self, path, sizeof(path)), words.items);
        r = error_set(err, SBX_EUNAVAILABLE, "%s: start 'sandbox-history': %s", command,
                      strerror(errno));
        error_hint(err, "install sandbox completely: the program belongs beside it or in %s",
                   SBX_LIBEXECDIR);
        strlist_done(&words);
        return r;
}

static int history_main(const struct cli *cli, const struct options *options, struct error *err)
{
        return execute("history", options, err);
}

static int top_main(const struct cli *cli, const struct options *options, struct error *err)
{
        int r = setup_refuse_words(options, err);

        return r < 0 ? r : execute("top", options, err);
}

const struct command cmd_history = {
        .name = "history",
        .summary = "list, show, follow, prune, export, verify what has run",
        .synopsis = "[list | show ID | code ID | rerun ID | stats | follow | export | verify | "
                    "prune] [options]",
        .options = history_options,
        .notes = "ID is the identifier of a run, a beginning of it that no other has, or 'last'.\n",
        .run = history_main,
};

const struct command cmd_top = {
        .name = "top",
        .summary = "watch what is running",
        .synopsis = "[options]",
        .options = top_options,
        .notes = "Keys: up and down choose, k cancels the chosen run, q ends.\n",
        .run = top_main,
};
