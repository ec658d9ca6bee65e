/* The keys of a language file, and what may stand under each: see docs/LANGUAGES.md. */
#include "languages/languages_errors.h"
#include "languages/languages_load.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const placeholder_names[] = {
#define X(id, name) [PLACEHOLDER_##id] = "{" name "}",
        LANGUAGE_PLACEHOLDERS(X)
#undef X
};

enum language_placeholder language_placeholder(const char *text, size_t length)
{
        unsigned found = 0;

        while (found < PLACEHOLDER_COUNT && (strlen(placeholder_names[found]) != length ||
                                             memcmp(placeholder_names[found], text, length) != 0))
                found++;
        return (enum language_placeholder)found;
}

static bool consists_of(const char *text, const char *characters)
{
        return *text && text[strspn(text, characters)] == '\0';
}

static const char *refuse_name(const char *text)
{
        if (strlen(text) > LANGUAGE_NAME_MAX ||
            !consists_of(text, "abcdefghijklmnopqrstuvwxyz0123456789+#-_"))
                return "must be up to 32 lower-case letters, digits, '+', '#', '-' or '_'";
        return NULL;
}

static const char *refuse_file_name(const char *text)
{
        if (!*text || strlen(text) > LANGUAGE_NAME_MAX || str_equal(text, ".") ||
            str_equal(text, ".."))
                return "must be a file name of up to 32 bytes";
        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if (*p <= ' ' || *p == '/' || *p == 0x7f)
                        return "must be a file name without '/', blanks and control bytes";
        return NULL;
}

static const char *refuse_extension(const char *text)
{
        if (text[0] != '.' || text[1] == '\0' || refuse_file_name(text))
                return "must be an extension such as '.py'";
        return NULL;
}

/* Normal form alone: the same path must not be listed, or found, under two spellings. */
static const char *refuse_path(const char *text)
{
        if (text[0] != '/' || text[1] == '\0')
                return "must be an absolute path, and not '/' itself";
        for (const char *part = text; *part == '/';) {
                size_t length = strcspn(part + 1, "/");

                if (length == 0 || (length == 1 && part[1] == '.') ||
                    (length == 2 && part[1] == '.' && part[2] == '.'))
                        return "must be a path without '.', '..', '//' and trailing '/'";
                part += length + 1;
        }
        return NULL;
}

/* A path of the system, or one below the directory that the tool was installed to. That directory
 * itself may be /usr: it is never meant as a whole. */
static const char *refuse_visible(const char *text)
{
        static const char *const roots[] = { "{root}", "{runtime_root}" };

        for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
                if (str_has_prefix(text, roots[i]))
                        return text[strlen(roots[i])] == '/' ? refuse_path(text + strlen(roots[i]))
                                                             : "must name something below {root}";
        return refuse_path(text);
}

static const char *refuse_candidate(const char *text)
{
        const char *star = strchr(text, '*');

        if (star && strchr(star + 1, '*'))
                return "may hold one '*'";
        return refuse_path(str_has_prefix(text, "~/") ? text + 1 : text);
}

static const char *refuse_version(const char *text)
{
        if (!consists_of(text, "0123456789.") || !isdigit((unsigned char)text[0]) ||
            strlen(text) > LANGUAGE_NAME_MAX)
                return "must be a version such as '3.10'";
        return NULL;
}

static const char *refuse_magic(const char *text)
{
        if (!*text || strlen(text) > LANGUAGE_NAME_MAX)
                return "must be 1 to 32 bytes";
        for (; *text; text++)
                if ((unsigned char)*text >= 0x80)
                        return "must consist of bytes below \\x80";
        return NULL;
}

static const char *refuse_warm(const char *text)
{
        if (!str_equal(text, "none") && !str_equal(text, "fork") && !str_equal(text, "once"))
                return "must be none, fork or once";
        return NULL;
}

/* A visible path, or one of the caller's: below the home, or where a variable says. */
static const char *refuse_watched(const char *text)
{
        size_t name;

        if (text[0] == '~')
                return refuse_path(text + 1);
        if (text[0] != '$')
                return refuse_visible(text);
        name = strspn(text + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (name == 0 || (text[1 + name] && refuse_path(text + 1 + name)))
                return "must be '$NAME' or '$NAME/path'";
        return NULL;
}

/* The name before '=' of an environment entry. */
static const char *refuse_variable(const char *text)
{
        size_t length = strcspn(text, "=");

        if (length == 0 || isdigit((unsigned char)text[0]))
                return "must be a variable's name";
        for (size_t i = 0; i < length; i++)
                if (!isalnum((unsigned char)text[i]) && text[i] != '_')
                        return "must be a variable's name: letters, digits and '_'";
        return NULL;
}

/* "folder=/path": the name of a folder, then where it is seen. */
static const char *refuse_deps_mount(const char *text)
{
        const char *equals = strchr(text, '=');

        return refuse_variable(text) ? refuse_variable(text)
               : equals              ? refuse_path(equals + 1)
                                     : NULL;
}

static const char *refuse_empty(const char *text)
{
        return *text ? NULL : "must not be empty";
}

/* What is searched for in the code. */
static const char *refuse_words(const char *text)
{
        return *text && strlen(text) <= LANGUAGE_PATH_MAX ? NULL : "must be 1 to 255 bytes";
}

/* A file, or a directory: that one ends with a slash. */
static const char *refuse_output(const char *text)
{
        char name[LANGUAGE_NAME_MAX + 2];
        size_t length = strlen(text);

        if (length < 2 || length >= sizeof(name) || text[length - 1] != '/')
                return refuse_file_name(text);
        memcpy(name, text, length - 1);
        name[length - 1] = '\0';
        return refuse_file_name(name);
}

/* A file below the directory of a project. */
static const char *refuse_relative(const char *text)
{
        char absolute[LANGUAGE_PATH_MAX + 2];

        if (!*text || strlen(text) > LANGUAGE_PATH_MAX)
                return "must be a path of up to 255 bytes";
        (void)snprintf(absolute, sizeof(absolute), "/%s", text);
        return refuse_path(absolute) ? "must be a path below the project, without '.' and '..'"
                                     : NULL;
}

/* A word in braces that we would not replace is a slip of the pen, not an argument. */
static const char *refuse_argument(const char *text)
{
        for (const char *brace = strchr(text, '{'); brace; brace = strchr(brace + 1, '{')) {
                size_t length = strspn(brace + 1, "abcdefghijklmnopqrstuvwxyz_");

                if (length > 0 && brace[length + 1] == '}' &&
                    language_placeholder(brace, length + 2) == PLACEHOLDER_COUNT)
                        return "holds a word in braces that is no placeholder";
        }
        return NULL;
}

static const char *refuse_sentence(const char *text)
{
        return language_refuse_pattern(text, "{text}");
}

static const char *refuse_line(const char *text)
{
        return language_refuse_pattern(text, "{line}");
}

static const char *refuse_pattern(const char *text)
{
        return *text ? language_refuse_pattern(text, "") : "must not be empty";
}

static const char *refuse_exit(const char *text)
{
        size_t digits = strspn(text, "0123456789");
        bool is_one = digits > 0 && digits <= 3 && !text[digits] && text[0] != '0';

        return is_one && strtoul(text, NULL, 10) <= 255 ? NULL
                                                        : "must be an exit code from 1 to 255";
}

#define REQUIRED true
#define OPTIONAL false
/* clang-format off */
#define KEY(name_, kind_, required_, member_, refuse_)                                             \
        { .name = (name_), .kind = KIND_##kind_, .required = (required_), .refuse = (refuse_),     \
          .offset = offsetof(struct language, member_), .member = #member_ }
#define MAPPING(name_, keys_) { .name = (name_), .kind = KIND_MAPPING, .keys = (keys_) }
#define END { .kind = KIND_END }
/* clang-format on */

static const struct language_key find_keys[] = {
        KEY("candidates", LIST, REQUIRED, candidates, refuse_candidate),
        KEY("runtime", LIST, OPTIONAL, runtime, refuse_candidate),
        KEY("version", LIST, OPTIONAL, version_arguments, NULL),
        KEY("minimum", STRING, OPTIONAL, minimum_version, refuse_version),
        KEY("install", STRING, REQUIRED, install, refuse_empty),
        END,
};

#define LIMIT_KEYS(place_)                                                                         \
        {                                                                                          \
                KEY("timeout", DURATION, OPTIONAL, place_.timeout_ms, NULL),                       \
                        KEY("cpu_time", DURATION, OPTIONAL, place_.cpu_time_ms, NULL),             \
                        KEY("memory", SIZE, OPTIONAL, place_.memory_bytes, NULL),                  \
                        KEY("processes", COUNT, OPTIONAL, place_.processes, NULL),                 \
                        KEY("disk", SIZE, OPTIONAL, place_.disk_bytes, NULL),                      \
                        KEY("open_files", COUNT, OPTIONAL, place_.open_files, NULL), END,          \
        }

static const struct language_key limit_keys[] = LIMIT_KEYS(limits);
static const struct language_key compile_limit_keys[] = LIMIT_KEYS(compile.limits);
static const struct language_key prepare_limit_keys[] = LIMIT_KEYS(prepare.limits);
static const struct language_key project_limit_keys[] = LIMIT_KEYS(project.compile.limits);

#define PARK_KEYS(place_)                                                                          \
        {                                                                                          \
                KEY("command", LIST, REQUIRED, place_.command, refuse_argument),                   \
                        KEY("launcher", STRING, OPTIONAL, place_.launcher, NULL),                  \
                        KEY("forks", FLAG, OPTIONAL, place_.forks, NULL),                          \
                        KEY("poses", FLAG, OPTIONAL, place_.poses, NULL),                          \
                        KEY("no_args", FLAG, OPTIONAL, place_.no_args, NULL),                      \
                        KEY("preload", LIST, OPTIONAL, place_.preload, refuse_empty),              \
                        KEY("env", ENV, OPTIONAL, place_.env, refuse_variable),                    \
                        KEY("keeps", LIST, OPTIONAL, place_.keeps, refuse_variable),               \
                        KEY("sets", LIST, OPTIONAL, place_.sets, refuse_variable),                 \
                        KEY("cold", LIST, OPTIONAL, place_.cold, refuse_variable), END,            \
        }

static const struct language_key compile_park_keys[] = PARK_KEYS(compile.park);

static const struct language_key compile_keys[] = {
        KEY("command", LIST, REQUIRED, compile.command, refuse_argument),
        KEY("output", STRING, REQUIRED, compile.output, refuse_output),
        KEY("paths", LIST, OPTIONAL, compile.paths, refuse_visible),
        KEY("watch", LIST, OPTIONAL, compile.watch, refuse_watched),
        KEY("env", ENV, OPTIONAL, compile.env, refuse_variable),
        MAPPING("limits", compile_limit_keys),
        MAPPING("park", compile_park_keys),
        END,
};

static const struct language_key prepare_keys[] = {
        KEY("command", LIST, REQUIRED, prepare.command, refuse_argument),
        KEY("when", STRING, OPTIONAL, prepare_when, refuse_words),
        KEY("paths", LIST, OPTIONAL, prepare.paths, refuse_visible),
        KEY("env", ENV, OPTIONAL, prepare.env, refuse_variable),
        MAPPING("limits", prepare_limit_keys),
        END,
};

static const struct language_key project_compile_keys[] = {
        KEY("command", LIST, REQUIRED, project.compile.command, refuse_argument),
        KEY("output", STRING, REQUIRED, project.compile.output, refuse_output),
        KEY("paths", LIST, OPTIONAL, project.compile.paths, refuse_visible),
        KEY("watch", LIST, OPTIONAL, project.compile.watch, refuse_watched),
        KEY("env", ENV, OPTIONAL, project.compile.env, refuse_variable),
        MAPPING("limits", project_limit_keys),
        END,
};

static const struct language_key modules_keys[] = {
        KEY("package", STRING, REQUIRED, project.modules.package, refuse_file_name),
        KEY("start", STRING, REQUIRED, project.modules.start, refuse_file_name),
        KEY("run", LIST, REQUIRED, project.modules.run, refuse_argument),
        KEY("env", ENV, OPTIONAL, project.modules.env, refuse_variable),
        END,
};

static const struct language_key project_keys[] = {
        KEY("markers", LIST, OPTIONAL, project.markers, refuse_relative),
        KEY("entries", LIST, OPTIONAL, project.entries, refuse_relative),
        KEY("over", LIST, OPTIONAL, project.over, refuse_name),
        MAPPING("compile", project_compile_keys),
        KEY("run", LIST, OPTIONAL, project.run, refuse_argument),
        MAPPING("modules", modules_keys),
        END,
};

static const struct language_key deps_limit_keys[] = LIMIT_KEYS(deps.install.limits);

static const struct language_key deps_install_keys[] = {
        KEY("command", LIST, REQUIRED, deps.install.command, refuse_argument),
        KEY("paths", LIST, OPTIONAL, deps.install.paths, refuse_visible),
        KEY("env", ENV, OPTIONAL, deps.install.env, refuse_variable),
        MAPPING("limits", deps_limit_keys),
        END,
};

static const struct language_key deps_keys[] = {
        KEY("files", LIST, REQUIRED, deps.files, refuse_file_name),
        KEY("locks", LIST, OPTIONAL, deps.locks, refuse_file_name),
        KEY("variables", LIST, OPTIONAL, deps.variables, refuse_empty),
        KEY("watch", LIST, OPTIONAL, deps.watch, refuse_watched),
        KEY("registry", LIST, REQUIRED, deps.registry, refuse_argument),
        MAPPING("install", deps_install_keys),
        KEY("compile", LIST, OPTIONAL, deps.compile, refuse_argument),
        KEY("mounts", ENV, OPTIONAL, deps.mounts, refuse_deps_mount),
        KEY("env", ENV, OPTIONAL, deps.env, refuse_variable),
        END,
};

static const struct language_key park_keys[] = PARK_KEYS(park);

const struct language_key language_keys[] = {
        KEY("name", STRING, REQUIRED, name, refuse_name),
        KEY("title", STRING, REQUIRED, title, refuse_empty),
        KEY("aliases", LIST, OPTIONAL, aliases, refuse_name),
        KEY("extensions", LIST, OPTIONAL, extensions, refuse_extension),
        KEY("shebangs", LIST, OPTIONAL, shebangs, refuse_file_name),
        KEY("syntax_errors", LIST, OPTIONAL, syntax_errors, refuse_sentence),
        KEY("compile_errors", LIST, OPTIONAL, compile_errors, refuse_sentence),
        KEY("error_lines", LIST, OPTIONAL, error_lines, refuse_line),
        KEY("memory_errors", LIST, OPTIONAL, memory_errors, refuse_pattern),
        KEY("memory_exits", LIST, OPTIONAL, memory_exits, refuse_exit),
        KEY("magic", STRING, OPTIONAL, magic, refuse_magic),
        MAPPING("find", find_keys),
        KEY("paths", LIST, OPTIONAL, paths, refuse_visible),
        KEY("file", STRING, REQUIRED, file, refuse_file_name),
        KEY("executable", FLAG, OPTIONAL, executable, NULL),
        KEY("proc", PROC, OPTIONAL, full_proc, NULL),
        MAPPING("limits", limit_keys),
        KEY("heap", PERCENT, OPTIONAL, heap_percent, NULL),
        MAPPING("compile", compile_keys),
        MAPPING("prepare", prepare_keys),
        MAPPING("project", project_keys),
        MAPPING("deps", deps_keys),
        KEY("run", LIST, REQUIRED, run, refuse_argument),
        KEY("env", ENV, OPTIONAL, env, refuse_variable),
        KEY("warm", STRING, OPTIONAL, warm, refuse_warm),
        MAPPING("park", park_keys),
        KEY("hello", STRING, OPTIONAL, hello, NULL),
        KEY("error", STRING, OPTIONAL, failing, NULL),
        END,
};
