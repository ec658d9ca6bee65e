#include "analysis/scope.h"

#include <ctype.h>
#include <string.h>

const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_cpp(void);

/* #define HEADER <sys/socket.h> */
static bool define_header(struct analysis *analysis, const char *name, size_t length,
                          const char *text, size_t rest)
{
        const char *end = rest > 2 ? memchr(text + 1, text[0] == '<' ? '>' : '"', rest - 1) : NULL;

        if (!end || (text[0] != '<' && text[0] != '"'))
                return false;
        scope_bind(analysis, name, length,
                   value_text(analysis, text + 1, (size_t)(end - text) - 1, true), 0);
        return true;
}

/* #define other system: also where `system` is such a name itself. */
static void define_name(struct analysis *analysis, const struct unit *unit, const char *name,
                        size_t length, const char *meaning, size_t rest)
{
        struct value values[ALTERNATIVES_MAX];
        unsigned count = scope_alternatives(analysis, unit, meaning, rest, UINT32_MAX, values);

        scope_bind(analysis, name, length,
                   count && values[0].kind == VALUE_NAME
                           ? values[0]
                           : value_name(analysis, unit, meaning, rest, false),
                   0);
}

static bool is_name(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != ':')
                        return false;
        return length > 0;
}

/* Without the spaces around. */
static const char *trimmed(const char *text, size_t *length)
{
        while (*length > 0 && isspace((unsigned char)text[*length - 1]))
                (*length)--;
        while (*length > 0 && isspace((unsigned char)*text)) {
                text++;
                (*length)--;
        }
        return text;
}

/* sys ## tem */
static const char *put_together(struct analysis *analysis, const char *text, size_t *length)
{
        char *out = arena_alloc(&analysis->arena, *length + 1);
        size_t used = 0;

        for (size_t i = 0; i < *length; i++)
                if (text[i] != '#' && !isspace((unsigned char)text[i]))
                        out[used++] = text[i];
        *length = used;
        return out;
}

/* The length without a comment at the end. */
static size_t uncommented(const struct unit *unit, const char *text, size_t length)
{
        struct lexeme lexeme;

        for (size_t at = 0; at < length; at = lexeme.end) {
                lexeme = lexis_next(text, length, at, unit->grammar == &grammar_cpp);
                if (lexeme.kind == LEXEME_COMMENT && lexeme.end == length)
                        return at;
        }
        return length;
}

static void define_macro(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), value = unit_named(unit, node, "value");
        const char *text, *meaning;
        size_t length, rest;

        if (ts_node_is_null(name) || ts_node_is_null(value))
                return;
        text = unit_text(unit, name, &length);
        meaning = unit_text(unit, value, &rest);
        rest = uncommented(unit, meaning, rest);
        meaning = trimmed(meaning, &rest);
        if (length >= NAME_SHOWN_MAX || define_header(analysis, text, length, meaning, rest))
                return;
        if (memmem(meaning, rest, "##", 2))
                meaning = put_together(analysis, meaning, &rest);
        if (is_name(meaning, rest) && rest < NAME_SHOWN_MAX)
                define_name(analysis, unit, text, length, meaning, rest);
        else
                words_match(analysis, unit, value, meaning, rest, (TSNode){ 0 });
}

/* The next word of a macro's body; 0: something else stands here. */
static size_t word_length(const char *text, size_t length)
{
        size_t word = 0;

        while (word < length && (isalnum((unsigned char)text[word]) || text[word] == '_'))
                word++;
        return word;
}

/* A part of a name that is put together: a parameter as "#" and its number. */
static const char *add_part(struct analysis *analysis, const struct unit *unit, TSNode parameters,
                            const char *parts, const char *word, size_t length)
{
        int index = words_index(unit, parameters, word, length);

        return index < 0 ? arena_format(&analysis->arena, "%s%.*s ", parts, (int)length, word)
                         : arena_format(&analysis->arena, "%s#%d ", parts, index);
}

/* #define J(a, b) a##b: kept as "##" and its parts. known.c puts the name together where the macro
 * is used. NULL where the body is more than that. */
static const char *paste_parts(struct analysis *analysis, const struct unit *unit,
                               TSNode parameters, const char *body, size_t length)
{
        const char *parts = "##";

        if (length > NAME_SHOWN_MAX || !memmem(body, length, "##", 2))
                return NULL;
        for (size_t i = 0; i < length;) {
                size_t part;

                if (isspace((unsigned char)body[i]) || body[i] == '#') {
                        i++;
                        continue;
                }
                part = word_length(body + i, length - i);
                if (part == 0)
                        return NULL;
                parts = add_part(analysis, unit, parameters, parts, body + i, part);
                i += part;
        }
        return parts;
}

enum { ARGUMENTS_MAX = 10 };

struct words {
        const char *text[ARGUMENTS_MAX];
        size_t length[ARGUMENTS_MAX];
        unsigned count;
};

/* The words of "(a, b)"; false where there is more. */
static bool read_arguments(const char *text, size_t length, struct words *ret_words)
{
        ret_words->count = 0;
        for (size_t i = 0; i < length;) {
                size_t word;

                if (isspace((unsigned char)text[i]) || strchr("(,)", text[i])) {
                        i++;
                        continue;
                }
                word = word_length(text + i, length - i);
                if (word == 0 || ret_words->count == ARGUMENTS_MAX)
                        return false;
                ret_words->text[ret_words->count] = text + i;
                ret_words->length[ret_words->count++] = word;
                i += word;
        }
        return true;
}

/* #define X(a, b) J(a, b): the parts of J, with its parameters as X has them. */
static const char *forwarded_parts(struct analysis *analysis, const struct unit *unit,
                                   TSNode parameters, const char *body, size_t length)
{
        struct value values[ALTERNATIVES_MAX];
        size_t name = word_length(body, length), part;
        const char *parts = "##";
        struct words words;

        if (name == 0 || length > NAME_SHOWN_MAX ||
            !read_arguments(body + name, length - name, &words) ||
            scope_alternatives(analysis, unit, body, name, UINT32_MAX, values) == 0 ||
            strncmp(values[0].text, "##", 2) != 0)
                return NULL;
        for (const char *at = values[0].text + 2; *at; at += part + (at[part] == ' ')) {
                unsigned index = at[0] == '#' ? (unsigned)(at[1] - '0') : words.count;

                part = strcspn(at, " ");
                if (index < words.count)
                        parts = add_part(analysis, unit, parameters, parts, words.text[index],
                                         words.length[index]);
                else
                        parts = add_part(analysis, unit, parameters, parts, at, part);
        }
        return parts;
}

static void define_function(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), value = unit_named(unit, node, "value");
        TSNode parameters = unit_named(unit, node, "parameters");
        const char *text, *body, *parts;
        size_t length, rest;

        text = unit_text(unit, name, &length);
        body = unit_text(unit, value, &rest);
        body = trimmed(body, &rest);
        if (ts_node_is_null(name) || ts_node_is_null(value) || length > NAME_SHOWN_MAX)
                return;
        parts = paste_parts(analysis, unit, parameters, body, rest);
        if (!parts)
                parts = forwarded_parts(analysis, unit, parameters, body, rest);
        if (parts)
                scope_bind(analysis, text, length,
                           (struct value){ VALUE_NAME, true, parts, strlen(parts) }, 0);
        else
                words_match(analysis, unit, value, body, rest, parameters);
}

/* #pragma weak other = system */
static void read_pragma(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode argument = unit_named(unit, node, "argument");
        size_t length;
        const char *text = unit_text(unit, argument, &length);

        if (memmem(text, length, "weak", 4) || memmem(text, length, "extname", 7))
                words_match(analysis, unit, argument, text, length, (TSNode){ 0 });
}

/* namespace other = std::filesystem */
static void name_namespace(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = node_count(node);
        size_t length, rest;
        const char *name = unit_text(unit, unit_named(unit, node, "name"), &length);
        const char *meaning = unit_text(unit, node_child(node, count ? count - 1 : 0), &rest);

        if (count > 1 && is_name(meaning, rest) && rest < NAME_SHOWN_MAX)
                define_name(analysis, unit, name, length, meaning, rest);
}

/* using namespace std::filesystem */
static void use_namespace(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        size_t length, rest;
        const char *text = unit_text(unit, node, &length), *name;

        name = unit_text(unit, node_child(node, 0), &rest);
        if (memmem(text, (size_t)(name - text), "namespace", strlen("namespace")) &&
            is_name(name, rest) && rest < NAME_SHOWN_MAX)
                scope_add_wildcard(analysis, value_name(analysis, unit, name, rest, false).text);
}

/* popen(X(a b), "r"): what a macro takes may make a declaration of a call, whose type is called. */
static void read_declaration(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode type = unit_named(unit, node, "type");
        size_t length;
        const char *text = unit_text(unit, type, &length);

        if (unit_is(type, "type_identifier") &&
            unit_is(unit_named(unit, node, "declarator"), "parenthesized_declarator"))
                words_match(analysis, unit, type, text, length, (TSNode){ 0 });
}

static void include(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode path = unit_named(unit, node, "path");
        struct value header;
        const char *text;
        size_t length;

        if (ts_node_is_null(path))
                return;
        text = unit_text(unit, path, &length);
        if (length > 2 && (text[0] == '<' || text[0] == '"'))
                header = value_text(analysis, text + 1, length - 2, false);
        else
                header = value_of(analysis, unit, path); /* #include MACRO */
        if (header.kind == VALUE_TEXT)
                header.kind = VALUE_NAME;
        match_import(analysis, unit, node, header, NULL, 0);
}

static void import_c(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        static const struct {
                const char *kind;
                void (*read)(struct analysis *analysis, const struct unit *unit, TSNode node);
        } kinds[] = {
                { "preproc_include", include },
                { "preproc_def", define_macro },
                { "preproc_function_def", define_function },
                { "preproc_call", read_pragma },
                { "namespace_alias_definition", name_namespace },
                { "using_declaration", use_namespace },
                { "declaration", read_declaration },
        };

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if (unit_is(node, kinds[i].kind))
                        kinds[i].read(analysis, unit, node);
}

static const struct grammar_role roles[] = {
        { "identifier", ROLE_IDENTIFIER, { NULL } },
        { "namespace_identifier", ROLE_IDENTIFIER, { NULL } },
        { "field_expression", ROLE_MEMBER, { "argument", "field" } },
        { "qualified_identifier", ROLE_MEMBER, { "scope", "name" } },
        { "subscript_expression", ROLE_INDEX, { "argument", "index" } },
        { "call_expression", ROLE_CALL, { "function", "arguments" } },
        { "string_literal", ROLE_STRING, { NULL } },
        { "raw_string_literal", ROLE_STRING, { NULL } },
        { "char_literal", ROLE_STRING, { NULL } },
        { "concatenated_string", ROLE_STRINGS, { NULL } },
        { "binary_expression", ROLE_CONCAT, { "left", "right", "operator" } },
        { "initializer_list", ROLE_LIST, { NULL } },
        { "parenthesized_expression", ROLE_WRAP, { NULL } },
        { "cast_expression", ROLE_WRAP, { "value" } },
        { "pointer_expression", ROLE_WRAP, { "argument" } },
        { "comma_expression", ROLE_LAST, { NULL } },
        { "init_declarator", ROLE_BIND, { "declarator", "value" } },
        { "assignment_expression", ROLE_ASSIGN, { "left", "right" } },
        { "if_statement", ROLE_BRANCH, { NULL } },
        { "for_statement", ROLE_BRANCH, { NULL } },
        { "for_range_loop", ROLE_BRANCH, { NULL } },
        { "while_statement", ROLE_BRANCH, { NULL } },
        { "do_statement", ROLE_BRANCH, { NULL } },
        { "switch_statement", ROLE_BRANCH, { NULL } },
        { "try_statement", ROLE_BRANCH, { NULL } },
        { "preproc_if", ROLE_BRANCH, { NULL } },
        { "preproc_ifdef", ROLE_BRANCH, { NULL } },
        { "function_definition", ROLE_DEFINE, { "declarator" } },
        { "lambda_expression", ROLE_LAMBDA, { NULL } },
        { "function_declarator", ROLE_PARAMETERS, { NULL } },
        { "parameter_list", ROLE_PARAMETERS, { NULL } },
        { "preproc_include", ROLE_IMPORT, { NULL } },
        { "preproc_def", ROLE_IMPORT, { NULL } },
        { "preproc_function_def", ROLE_IMPORT, { NULL } },
        { "preproc_call", ROLE_IMPORT, { NULL } },
        { "namespace_alias_definition", ROLE_IMPORT, { NULL } },
        { "using_declaration", ROLE_EXPORT, { NULL } },
        { "declaration", ROLE_EXPORT, { NULL } },
        { "template_function", ROLE_WRAP, { "name" } },
        { "attribute", ROLE_CALL, { "name" } },
        { "comment", ROLE_COMMENT, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "system", KNOWN_SHELL },
        { "popen", KNOWN_SHELL },
        { "execl", KNOWN_COMMAND },
        { "execlp", KNOWN_COMMAND },
        { "execle", KNOWN_COMMAND },
        { "execv", KNOWN_COMMAND },
        { "execvp", KNOWN_COMMAND },
        { "execve", KNOWN_COMMAND },
        { "dlsym", KNOWN_NAME_SECOND },
        { "alias", KNOWN_WORDS },
        { "weakref", KNOWN_WORDS },
        { "ifunc", KNOWN_WORDS },
        { "_Pragma", KNOWN_WORDS },
        { "string", KNOWN_SAME },
        { "string_view", KNOWN_SAME },
        { "static_cast", KNOWN_SAME },
        { "reinterpret_cast", KNOWN_SAME },
        { "const_cast", KNOWN_SAME },
        { NULL, KNOWN_NOTHING },
};

const struct grammar grammar_c = {
        .name = "c",
        .language = tree_sitter_c,
        .rule_folders = (const char *const[]){ "c", NULL },
        .roles = roles,
        .known = known,
        .import = import_c,
};

const struct grammar grammar_cpp = {
        .name = "cpp",
        .language = tree_sitter_cpp,
        .rule_folders = (const char *const[]){ "c", "cpp", NULL },
        .roles = roles,
        .known = known,
        .transparent = (const char *const[]){ "std.", ".", NULL },
        /* std::remove and std::bind are known for their work on ranges and functions. */
        .opaque = (const char *const[]){ "std.bind", "std.remove", NULL },
        .separators = ":",
        .import = import_c,
};
