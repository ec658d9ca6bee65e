#include "analysis/scope.h"

#include <string.h>

const TSLanguage *tree_sitter_java(void);

/* The name as it is written, spaces left out. */
static struct value written(struct analysis *analysis, const char *text, size_t length)
{
        char *name = arena_strndup(&analysis->arena, text, length);
        size_t used = 0;

        for (size_t i = 0; i < length; i++)
                if (!strchr(" \t\r\n\f", text[i]))
                        name[used++] = text[i];
        name[used] = '\0';
        return (struct value){ VALUE_NAME, false, name, used };
}

static void import_java(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = node_count(node);
        struct value path = { 0 }, full = { 0 };
        bool all = false;
        const char *dot;

        for (uint32_t i = 0; i < count; i++) {
                TSNode child = node_child(node, i);
                size_t length;
                const char *text = unit_text(unit, child, &length);

                if (unit_is(child, "asterisk"))
                        all = true;
                else if (unit_is(child, "scoped_identifier") || unit_is(child, "identifier"))
                        full = written(analysis, text, length);
        }
        if (full.kind != VALUE_NAME)
                return;
        path = value_name(analysis, unit, full.text, full.length, false);
        match_import(analysis, unit, node, full, NULL, 0);
        dot = strrchr(path.text, '.');
        if (all)
                scope_add_wildcard(analysis, path.text);
        else if (dot)
                scope_bind(analysis, dot + 1, strlen(dot + 1), path, 0);
}

static const struct grammar_role roles[] = {
        { "identifier", ROLE_IDENTIFIER, { NULL } },
        { "type_identifier", ROLE_IDENTIFIER, { NULL } },
        { "field_access", ROLE_MEMBER, { "object", "field" } },
        { "scoped_identifier", ROLE_MEMBER, { "scope", "name" } },
        { "scoped_type_identifier", ROLE_PATH, { NULL } },
        { "generic_type", ROLE_WRAP, { NULL } },
        { "method_reference", ROLE_MEMBER, { NULL } },
        { "class_literal", ROLE_WRAP, { NULL } },
        { "method_invocation", ROLE_METHOD, { "object", "name", "arguments" } },
        { "object_creation_expression", ROLE_CALL, { "type", "arguments" } },
        { "string_literal", ROLE_STRING, { NULL } },
        { "character_literal", ROLE_STRING, { NULL } },
        { "binary_expression", ROLE_CONCAT, { "left", "right", "operator" } },
        { "parenthesized_expression", ROLE_WRAP, { NULL } },
        { "cast_expression", ROLE_WRAP, { "value" } },
        { "array_initializer", ROLE_LIST, { NULL } },
        { "variable_declarator", ROLE_BIND, { "name", "value" } },
        { "assignment_expression", ROLE_ASSIGN, { "left", "right", "operator" } },
        { "if_statement", ROLE_BRANCH, { NULL } },
        { "for_statement", ROLE_BRANCH, { NULL } },
        { "enhanced_for_statement", ROLE_BRANCH, { NULL } },
        { "while_statement", ROLE_BRANCH, { NULL } },
        { "do_statement", ROLE_BRANCH, { NULL } },
        { "try_statement", ROLE_BRANCH, { NULL } },
        { "switch_expression", ROLE_BRANCH, { NULL } },
        { "class_declaration", ROLE_DEFINE, { "name" } },
        { "record_declaration", ROLE_DEFINE, { "name" } },
        { "method_declaration", ROLE_LAMBDA, { NULL, "parameters" } },
        { "constructor_declaration", ROLE_LAMBDA, { NULL, "parameters" } },
        { "lambda_expression", ROLE_LAMBDA, { NULL, "parameters" } },
        { "import_declaration", ROLE_IMPORT, { NULL } },
        { "package_declaration", ROLE_SKIP, { NULL } },
        { "line_comment", ROLE_COMMENT, { NULL } },
        { "block_comment", ROLE_COMMENT, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "Class.forName", KNOWN_NAME }, { "Runtime.getRuntime().exec", KNOWN_COMMAND },
        { "*.exec", KNOWN_COMMAND },     { "ProcessBuilder", KNOWN_COMMAND },
        { NULL, KNOWN_NOTHING },
};

const struct grammar grammar_java = {
        .name = "java",
        .language = tree_sitter_java,
        .rule_folders = (const char *const[]){ "java", NULL },
        .roles = roles,
        .known = known,
        .transparent = (const char *const[]){ "java.lang.", NULL },
        .strips_before_classes = true,
        .has_full_names = true,
        .import = import_java,
};
