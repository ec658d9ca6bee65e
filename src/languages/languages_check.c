/* Contradictions between the keys of a language file. */
#include "languages/languages_load.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static bool uses(const char *const *command, const char *word)
{
        for (; *command; command++)
                if (strstr(*command, word))
                        return true;
        return false;
}

/* Whether any command, variable or path of the language has the word. */
static bool is_used(const struct language *language, const char *word)
{
        const struct language_compile *compile = &language->compile, *prepare = &language->prepare,
                                      *project = &language->project.compile;
        const char *const *const lists[] = {
                language->run,
                language->env,
                language->paths,
                compile->command,
                compile->env,
                compile->paths,
                prepare->command,
                prepare->env,
                prepare->paths,
                project->command,
                project->env,
                project->paths,
                language->project.run,
                language->project.modules.run,
                language->project.modules.env,
                language->deps.registry,
                language->deps.install.command,
                language->deps.install.paths,
                language->deps.compile,
                language->deps.env,
                language->park.command,
                language->park.env,
                compile->park.command,
                compile->park.env,
        };

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                if (uses(lists[i], word))
                        return true;
        return false;
}

const char *language_contradiction(const struct language *language)
{
        const struct language_compile *compile = &language->compile;
        bool has_tool = language->candidates[0] != NULL;
        bool is_compiled = language->compile.command[0] != NULL;
        bool is_built = is_compiled || language->project.compile.command[0] != NULL;

        if ((language->memory_errors[0] == NULL) != (language->memory_exits[0] == NULL))
                return "'memory_errors' and 'memory_exits' go together";
        if (!has_tool && (is_used(language, "{tool}") || is_used(language, "{root}")))
                return "{tool} or {root} is used, and 'find' is missing";
        if (!language->runtime[0] &&
            (is_used(language, "{runtime}") || is_used(language, "{runtime_root}")))
                return "{runtime} is used, and missing in 'find'";
        if (!is_compiled && uses(language->run, "{output}"))
                return "{output} is used, and 'compile' is missing";
        if (!is_built && uses(language->project.run, "{output}"))
                return "{output} is used in 'project', and 'compile' is missing";
        if (!language->project.modules.package && is_used(language, "{module}"))
                return "{module} is used, and 'modules' is missing in 'project'";
        if (!language->prepare.command[0] && is_used(language, "{prepared}"))
                return "{prepared} is used, and 'prepare' is missing";
        if (!language->deps.files[0] && is_used(language, "{deps}"))
                return "{deps} is used, and 'deps' is missing";
        if (!language->heap_percent && is_used(language, "{heap_mib}"))
                return "{heap_mib} is used, and 'heap' is missing";
        if (!language->park.launcher && !compile->park.launcher && is_used(language, "{launcher}"))
                return "{launcher} is used, and missing in 'park'";
        if ((language->park.command[0] || compile->park.command[0]) &&
            str_equal(language->warm, "none"))
                return "'park' is given, and 'warm' says none";
        if (is_compiled && language->executable)
                return "a compiled language's code is not executable";
        if (language->minimum_version && !language->version_arguments[0])
                return "'minimum' is given, and 'version' is missing";
        if (has_tool && (!language->hello || !language->failing))
                return "'hello' and 'error' are missing: two programs that show it works";
        return NULL;
}
