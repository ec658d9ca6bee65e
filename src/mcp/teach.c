/*
 * Denials that teach: one short paragraph for a model. What was refused, why, what to do instead.
 * The choice by the program's own words is a guess, and only ever adds advice.
 */
#include "mcp/mcp.h"

#include <string.h>

/* By the status of the run. %s is its message. */
static const struct {
        const char *status, *why, *instead;
} by_status[] = {
        { "blocked", "The security policy does not allow this code, so it was not run.",
          "Do the task without what is named: pure computation, the standard library and files in "
          "the working directory are allowed. check_code tells in advance what would be blocked." },
        { "refused",
          "A protection or limit that the policy wants cannot be had on this machine, so "
          "nothing was run.",
          "This is not a mistake in the code: tell the user." },
        { "timeout", "The program was ended because it reached its limit of wall-clock time.",
          "Do less work in one call, use a faster way, or split the work; a longer 'timeout' is "
          "possible only up to what get_limits says." },
        { "cpu_limit", "The program was ended because it used up its CPU time.",
          "Use a faster algorithm, or split the work over several calls." },
        { "memory_limit", "The program was ended because it needed more memory than it may have.",
          "Work on the data in parts, use smaller types or generators, or free what is no longer "
          "needed. get_limits has the limit." },
        { "process_limit", "The program wanted more processes or threads than it may have.",
          "Use fewer workers. get_limits has the limit." },
        { "disk_limit", "The program wrote more to its workspace than it may.",
          "Write less, or remove files that are no longer needed. get_limits has the limit." },
        { "output_limit", "The program was ended because it printed more than it may.",
          "Print a summary, or write the data to a file." },
        { "internal_error", "The sandbox itself failed.",
          "This is not a mistake in the code: try once more, then tell the user." },
};

/* By words of the program's errors. */
static const struct {
        const char *needle, *lesson;
} by_words[] = {
        { "ModuleNotFoundError", NULL },
        { "Cannot find module", NULL },
        { "ERR_MODULE_NOT_FOUND", NULL },
        { "Temporary failure in name resolution", "" },
        { "Name or service not known", "" },
        { "socket.gaierror", "" },
        { "EAI_AGAIN", "" },
        { "ENETUNREACH", "" },
        { "Network is unreachable", "" },
        { "Could not resolve host", "" },
        { "sock.connect", "" },
        { "connect EACCES", "" },
        { "connect EPERM", "" },
        { "Read-only file system",
          "The program tried to write outside of its working directory, which is all that it may "
          "write besides /tmp. Use relative paths." },
        { "EROFS",
          "The program tried to write outside of its working directory, which is all that it may "
          "write besides /tmp. Use relative paths." },
};

/* [1]: where packages are not installed. */
static const char *const no_module[] = {
        "A package is missing: only the standard library and what is installed here can be "
        "imported. Name it in 'packages' (run_code, create_session) or 'libraries' (execute_code) "
        "to have it installed first, or do without it.",
        "A package is missing: only the standard library and what is installed here can be "
        "imported, and this server installs none. Do without it.",
};
static const char *const no_network[] = {
        "The connection was refused: programs run without a network here. Put the data into the "
        "code, into 'files' or 'stdin', or into the session with write_file; packages are "
        "installed through 'packages', not from within the program.",
        "The connection was refused: programs run without a network here. Put the data into the "
        "code, into 'files' or 'stdin', or into the session with write_file.",
};

static const char some_network[] =
        "programs reach only what the policy allows here; 'network' of get_limits names it. Use a "
        "host from there, or put the data into the code, into 'files' or 'stdin', or into the "
        "session with write_file.";

/* Whether the policy lets programs of the result's language resolve names or reach somebody. */
static bool reaches_somebody(const sbx_policy *policy, const json_t *result)
{
        const char *language = json_string_value(json_object_get(result, "language"));
        char *text = sbx_policy_show(policy, language, "json", NULL);
        json_t *shown = text ? json_loads(text, 0, NULL) : NULL;
        const char *mode =
                json_string_value(json_object_get(json_object_get(shown, "network"), "mode"));
        bool reaches = mode && strcmp(mode, "none") != 0 && strcmp(mode, "localhost") != 0;

        json_decref(shown);
        sbx_string_free(text);
        return reaches;
}

static const char *lesson_by_words(const char *output, size_t length, bool no_packages)
{
        for (size_t i = 0; i < ARRAY_SIZE(by_words); i++) {
                const char *lesson = by_words[i].lesson;

                if (memmem(output, length, by_words[i].needle, strlen(by_words[i].needle)))
                        return !lesson   ? no_module[no_packages]
                               : *lesson ? lesson
                                         : no_network[no_packages];
        }
        return NULL;
}

/* The first attempt that was refused, or NULL. */
static const json_t *network_violation(const json_t *result)
{
        size_t index;
        json_t *one;

        json_array_foreach(json_object_get(result, "violations"), index, one)
        {
                const char *kind = json_string_value(json_object_get(one, "kind"));

                if (kind && strcmp(kind, "network") == 0)
                        return one;
        }
        return NULL;
}

static char *teach_network(const struct server *server, const json_t *result)
{
        const json_t *refused = network_violation(result);
        const char *what = json_string_value(json_object_get(refused, "what"));
        const char *why = json_string_value(json_object_get(refused, "why"));
        AUTO_STRBUF struct strbuf text = { 0 };

        if (!reaches_somebody(server->policy, result))
                return mem_strdup(no_network[server->no_packages]);
        if (what && why)
                strbuf_addf(&text, "The connection was refused (%s: %s): ", what, why);
        else
                strbuf_adds(&text, "The connection failed, and ");
        strbuf_adds(&text, some_network);
        if (!server->no_packages)
                strbuf_adds(&text, " Packages are installed through 'packages'.");
        return strbuf_take(&text);
}

/* Where nothing can be reached, an attempt is what went wrong only if nothing else is known to. */
static bool is_about_network(const struct server *server, const json_t *result, const char *lesson)
{
        if (!network_violation(result))
                return false;
        return reaches_somebody(server->policy, result) ||
               (!lesson && !json_is_true(json_object_get(result, "success")));
}

static char *by_table(const char *status, const char *message, bool in_session)
{
        for (size_t i = 0; i < ARRAY_SIZE(by_status); i++) {
                AUTO_STRBUF struct strbuf text = { 0 };

                if (strcmp(by_status[i].status, status) != 0)
                        continue;
                strbuf_addf(&text, "%s%s%s %s", message ? message : "", message ? ". " : "",
                            by_status[i].why, by_status[i].instead);
                if (in_session && strcmp(status, "blocked") != 0)
                        strbuf_adds(&text, " The session's files are kept.");
                return strbuf_take(&text);
        }
        return NULL;
}

char *teach(const struct server *server, const json_t *result, const char *error_output,
            size_t length, bool in_session)
{
        const char *status = json_string_value(json_object_get(result, "status"));
        const char *message = json_string_value(json_object_get(result, "message"));
        bool truncated = json_is_true(json_object_get(result, "stdout_truncated")) ||
                         json_is_true(json_object_get(result, "stderr_truncated"));
        const char *lesson = NULL;
        char *text = status ? by_table(status, message, in_session) : NULL;

        if (text)
                return text;
        if (!json_is_true(json_object_get(result, "success")))
                lesson = lesson_by_words(error_output, length, server->no_packages);
        if (lesson == no_network[server->no_packages] || is_about_network(server, result, lesson))
                return teach_network(server, result);
        if (!lesson && truncated)
                lesson =
                        "The output passed its limit and was cut; the program went on. Print less, "
                        "or write it to a file and read that in parts.";
        return lesson ? mem_strdup(lesson) : NULL;
}
