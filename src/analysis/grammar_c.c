#include "analysis/scope.h"

#include <ctype.h>
#include <string.h>

const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_cpp(void);

/* #define other system */
static void define_macro(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), value = unit_named(unit, node, "value");
        const char *text, *meaning;
        size_t length, rest;

        if (ts_node_is_null(name) || ts_node_is_null(value))
                return;
        text = unit_text(unit, name, &length);
        meaning = unit_text(unit, value, &rest);
        while (rest > 0 && isspace((unsigned char)*meaning)) {
                meaning++;
                rest--;
        }
        for (size_t i = 0; i < rest; i++)
                if (!isalnum((unsigned char)meaning[i]) && meaning[i] != '_' && meaning[i] != ':') {
                        if (!isspace((unsigned char)meaning[i]))
                                return;
                        rest = i;
                }
        if (rest > 0 && length < NAME_SHOWN_MAX && rest < NAME_SHOWN_MAX)
                scope_bind(analysis, text, length, value_name(analysis, unit, meaning, rest, false),
                           0);
}

/* The index of a parameter of the macro, or -1. */
static int parameter_index(const struct unit *unit, TSNode parameters, const char *name,
                           size_t length)
{
        uint32_t count = node_count(parameters);

        for (uint32_t i = 0; i < count && i < 10; i++) {
                size_t own;
                const char *text = unit_text(unit, node_child(parameters, i), &own);

                if (own == length && memcmp(text, name, length) == 0)
                        return (int)i;
        }
        return -1;
}

/* #define J(a, b) a##b: kept as "##" and its parts, a parameter as "#" and its number. known.c puts
 * the name together where the macro is used. */
static void define_paste(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), value = unit_named(unit, node, "value");
        TSNode parameters = unit_named(unit, node, "parameters");
        const char *text, *body, *parts = "##";
        size_t length, rest;

        body = unit_text(unit, value, &rest);
        text = unit_text(unit, name, &length);
        if (rest > NAME_SHOWN_MAX || length > NAME_SHOWN_MAX || !memmem(body, rest, "##", 2))
                return;
        for (size_t i = 0; i < rest;) {
                size_t part = 0;
                int index;

                if (isspace((unsigned char)body[i]) || body[i] == '#') {
                        i++;
                        continue;
                }
                while (i + part < rest &&
                       (isalnum((unsigned char)body[i + part]) || body[i + part] == '_'))
                        part++;
                if (part == 0)
                        return; /* more than a name */
                index = parameter_index(unit, parameters, body + i, part);
                parts = index < 0 ? arena_format(&analysis->arena, "%s%.*s ", parts, (int)part,
                                                 body + i)
                                  : arena_format(&analysis->arena, "%s#%d ", parts, index);
                i += part;
        }
        scope_bind(analysis, text, length, (struct value){ VALUE_NAME, true, parts, strlen(parts) },
                   0);
}

static void include_c(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode path = unit_named(unit, node, "path");
        const char *text;
        size_t length;

        if (unit_is(node, "preproc_def")) {
                define_macro(analysis, unit, node);
                return;
        }
        if (unit_is(node, "preproc_function_def")) {
                define_paste(analysis, unit, node);
                return;
        }
        if (ts_node_is_null(path))
                return;
        text = unit_text(unit, path, &length);
        if (length < 2 || (text[0] != '<' && text[0] != '"')) {
                /* #include MACRO */
                match_import(analysis, unit, node, value_of(analysis, unit, path), NULL, 0);
                return;
        }
        match_import(analysis, unit, node,
                     (struct value){ VALUE_NAME, false,
                                     arena_strndup(&analysis->arena, text + 1, length - 2),
                                     length - 2 },
                     NULL, 0);
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
        { "comment", ROLE_COMMENT, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "system", KNOWN_SHELL },   { "popen", KNOWN_SHELL },    { "execl", KNOWN_COMMAND },
        { "execlp", KNOWN_COMMAND }, { "execle", KNOWN_COMMAND }, { "execv", KNOWN_COMMAND },
        { "execvp", KNOWN_COMMAND }, { "execve", KNOWN_COMMAND }, { "dlsym", KNOWN_NAME_SECOND },
        { NULL, KNOWN_NOTHING },
};

const struct grammar grammar_c = {
        .name = "c",
        .language = tree_sitter_c,
        .rule_folders = (const char *const[]){ "c", NULL },
        .roles = roles,
        .known = known,
        .import = include_c,
};

const struct grammar grammar_cpp = {
        .name = "cpp",
        .language = tree_sitter_cpp,
        .rule_folders = (const char *const[]){ "c", "cpp", NULL },
        .roles = roles,
        .known = known,
        .transparent = (const char *const[]){ "std.", ".", NULL },
        .separators = ":",
        .import = include_c,
};
