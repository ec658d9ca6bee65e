/*
 * Which registry the installer is set to: the tool itself is asked, by the command of the language
 * file, with the caller's environment and configuration. It answers in lines:
 *
 *         registry URL    a registry; also one of a private network
 *         host URL        where a registry keeps its files, if that is elsewhere
 *         env NAME=VALUE  what the installer needs in its environment
 *         path PATH       what it must see of the system: certificates, a folder of packages
 *
 * Anything else is an error of the language file. Where it fails, the first line of its standard
 * error says why, and one that begins with "hint: " what to do.
 */
#include "engine/passage.h"
#include "engine/ask.h"
#include "engine/watched.h"
#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

enum { ASK_MS = 60000, REGISTRY_LINES_MAX = 256 };

static int add_word(const struct passage *passage, const char *word, struct strlist *command)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        watched_expand(&passage->tool, word, &text);
        return text.failed ? -1 : strlist_add(command, text.data ? text.data : "");
}

/* Whether the sandbox has something of its own there, which would cover it. */
static bool is_covered(const char *path)
{
        static const char *const places[] = { "/tmp/", "/workspace/", "/code/", "/dev/", "/proc/" };

        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (str_has_prefix(path, places[i]))
                        return true;
        return false;
}

/* What the installer must see: mounted, or, where that is covered, copied. */
static int take_path(struct deps *deps, const char *path, struct error *err)
{
        AUTO_CLOSE int fd = -1;

        if (!is_covered(path))
                return strlist_add(&deps->paths, path) < 0 ? error_set_nomem(err) : 0;
        if (bundle_find(&deps->copies, path + 1))
                return 0;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return error_set_errno(err, "open '%s' for the installer", path);
        return bundle_add_fd(&deps->copies, path + 1, 0644, fd, err);
}

static int take_line(struct passage *passage, char *line, struct error *err)
{
        struct deps *deps = &passage->deps;
        bool is_given = passage->code->registries.count > 0;
        char *value = strchr(line, ' ');
        char shown[160];

        if (value)
                *value++ = '\0';
        if (value && (str_equal(line, "registry") || str_equal(line, "host")))
                return is_given ? 0
                                : gateway_add_place(&deps->places, value,
                                                    str_equal(line, "registry"), err);
        if (value && str_equal(line, "env") && strchr(value, '='))
                return strlist_add(&deps->env, value) < 0 ? error_set_nomem(err) : 0;
        if (value && str_equal(line, "path") && value[0] == '/')
                return take_path(deps, value, err);
        return error_set(err, SBX_EINVAL, "language '%s': its registry command says '%s'",
                         passage->language->name, str_printable(line, shown, sizeof(shown)));
}

static int take_answer(struct passage *passage, char *text, struct error *err)
{
        char *rest = NULL;
        int r = 0, count = 0;

        for (char *line = strtok_r(text, "\n", &rest); line && r == 0;
             line = strtok_r(NULL, "\n", &rest))
                r = ++count > REGISTRY_LINES_MAX ? error_set(err, SBX_ETOOBIG, "too long an answer")
                                                 : take_line(passage, line, err);
        return r;
}

/* What the command said of its failure. */
static int fail_answer(const struct passage *passage, const struct ask_answer *answer,
                       struct error *err)
{
        const char *text = answer->err.data ? answer->err.data : "";
        const char *hint = strstr(text, "hint: ");
        char shown[256], line[256];
        size_t length = strcspn(text, "\n");
        int r;

        (void)memcpy(line, text, length < sizeof(line) ? length : sizeof(line) - 1);
        line[length < sizeof(line) ? length : sizeof(line) - 1] = '\0';
        r = error_set(err, SBX_EREFUSED, "cannot find out the package registry of %s: %s",
                      passage->language->title,
                      line[0] ? str_printable(line, shown, sizeof(shown)) : "no answer");
        if (hint)
                error_hint(err, "%.*s", (int)strcspn(hint + 6, "\n"), hint + 6);
        else
                error_hint(err, "name it with '--registry HOST[:PORT]'");
        return r;
}

int registry_ask(struct passage *passage, struct error *err)
{
        const struct strlist *given = &passage->code->registries;
        struct strlist command = { 0 };
        struct ask_answer answer;
        int r = 0;

        for (size_t i = 0; i < given->count && r == 0; i++)
                r = gateway_add_place(&passage->deps.places, given->items[i], true, err);
        for (const char *const *word = passage->language->deps.registry; *word && r == 0; word++)
                if (add_word(passage, *word, &command) < 0)
                        r = error_set_nomem(err);
        if (r == 0)
                r = ask(&command, ASK_MS, passage->order->cancel_fd, &answer, err);
        strlist_done(&command);
        if (r < 0)
                return r;
        if (WIFEXITED(answer.wait_status) && WEXITSTATUS(answer.wait_status) == 0)
                r = take_answer(passage, answer.out.data ? answer.out.data : (char[]){ "" }, err);
        else
                r = fail_answer(passage, &answer, err);
        ask_answer_done(&answer);
        return r < 0 ? r : bundle_settle(&passage->deps.copies, err);
}
