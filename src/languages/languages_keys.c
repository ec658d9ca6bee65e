/* The keys of a language file, and what may stand under each: see docs/LANGUAGES.md. */
#include "languages/languages_load.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

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

static const char *refuse_candidate(const char *text)
{
        const char *star = strchr(text, '*');

        if (star && (strchr(star, '/') || strchr(star + 1, '*')))
                return "may hold one '*', in the last part of the path";
        return refuse_path(text);
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

static const char *refuse_empty(const char *text)
{
        return *text ? NULL : "must not be empty";
}

/* A word in braces that we would not replace is a slip of the pen, not an argument. */
static const char *refuse_argument(const char *text)
{
        static const char *const known[] = { "{tool}", "{file}", "{output}", "{args}" };
        size_t length = strlen(text);

        if (length < 3 || text[0] != '{' || text[length - 1] != '}' ||
            strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") != length - 2)
                return NULL;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
                if (str_equal(text, known[i]))
                        return NULL;
        return "must be {tool}, {file}, {output} or {args}";
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
        KEY("version", LIST, OPTIONAL, version_arguments, NULL),
        KEY("minimum", STRING, OPTIONAL, minimum_version, refuse_version),
        KEY("install", STRING, REQUIRED, install, refuse_empty),
        END,
};

static const struct language_key limit_keys[] = {
        KEY("timeout", DURATION, OPTIONAL, compile.timeout_ms, NULL),
        KEY("memory", SIZE, OPTIONAL, compile.memory_bytes, NULL),
        KEY("processes", COUNT, OPTIONAL, compile.processes, NULL),
        KEY("disk", SIZE, OPTIONAL, compile.disk_bytes, NULL),
        END,
};

static const struct language_key compile_keys[] = {
        KEY("command", LIST, REQUIRED, compile.command, refuse_argument),
        KEY("output", STRING, REQUIRED, compile.output, refuse_file_name),
        KEY("paths", LIST, OPTIONAL, compile.paths, refuse_path),
        MAPPING("limits", limit_keys),
        END,
};

const struct language_key language_keys[] = {
        KEY("name", STRING, REQUIRED, name, refuse_name),
        KEY("title", STRING, REQUIRED, title, refuse_empty),
        KEY("aliases", LIST, OPTIONAL, aliases, refuse_name),
        KEY("extensions", LIST, OPTIONAL, extensions, refuse_extension),
        KEY("shebangs", LIST, OPTIONAL, shebangs, refuse_file_name),
        KEY("syntax_errors", LIST, OPTIONAL, syntax_errors, refuse_empty),
        KEY("magic", STRING, OPTIONAL, magic, refuse_magic),
        MAPPING("find", find_keys),
        KEY("paths", LIST, OPTIONAL, paths, refuse_path),
        KEY("file", STRING, REQUIRED, file, refuse_file_name),
        KEY("executable", FLAG, OPTIONAL, executable, NULL),
        KEY("proc", PROC, OPTIONAL, full_proc, NULL),
        MAPPING("compile", compile_keys),
        KEY("run", LIST, REQUIRED, run, refuse_argument),
        KEY("env", ENV, OPTIONAL, env, refuse_variable),
        KEY("warm", STRING, OPTIONAL, warm, refuse_warm),
        KEY("hello", STRING, OPTIONAL, hello, NULL),
        KEY("error", STRING, OPTIONAL, failing, NULL),
        END,
};
