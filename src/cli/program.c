#include "cli/program.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside the running program, as in a build tree, as installed. */
static const char *find_program(const char *self, const char *name, const char *folder, char *path,
                                size_t size)
{
        static const char *const beside[] = { "", "../%s/", "../src/%s/", "../libexec/sandbox/" };
        const char *slash = strrchr(self, '/');

        for (size_t i = 0; slash && i < ARRAY_SIZE(beside); i++) {
                size_t before = strcspn(beside[i], "%");
                bool has_folder = beside[i][before] != '\0';

                (void)snprintf(path, size, "%.*s/%.*s%s%s%s", (int)(slash - self), self,
                               (int)before, beside[i], has_folder ? folder : "",
                               has_folder ? "/" : "", name);
                if (access(path, X_OK) == 0)
                        return path;
        }
        (void)snprintf(path, size, "%s/%s", SBX_LIBEXECDIR, name);
        return path;
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

/* Its name for itself is ours, by which it finds us again. */
int program_execute(const char *name, const char *folder, const char *command,
                    const struct options *options, struct error *err)
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
        (void)execv(find_program(self, name, folder, path, sizeof(path)), words.items);
        r = error_set(err, SBX_EUNAVAILABLE, "%s: start '%s': %s", command, name, strerror(errno));
        error_hint(err, "install sandbox completely: the program belongs beside it or in %s",
                   SBX_LIBEXECDIR);
        strlist_done(&words);
        return r;
}
