#include "analysis/scope.h"

#include <string.h>

const TSLanguage *tree_sitter_go(void);

/* A package is known by its alias or by the last part of its path. */
static void import_go(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), path = unit_named(unit, node, "path");
        struct value module;
        const char *base;
        size_t length;

        if (ts_node_is_null(path))
                return;
        module = value_of(analysis, unit, path);
        if (module.kind != VALUE_TEXT)
                return;
        module.kind = VALUE_NAME;
        match_import(analysis, unit, node, module, NULL, 0);
        if (unit_is(name, "dot")) {
                scope_add_wildcard(analysis, module.text);
        } else if (!ts_node_is_null(name)) {
                base = unit_text(unit, name, &length);
                scope_bind(analysis, base, length, module, 0);
        } else {
                base = strrchr(module.text, '/');
                base = base ? base + 1 : module.text;
                scope_bind(analysis, base, strlen(base), module, 0);
        }
}

static const struct grammar_role roles[] = {
        { "identifier", ROLE_IDENTIFIER, { NULL } },
        { "package_identifier", ROLE_IDENTIFIER, { NULL } },
        { "selector_expression", ROLE_MEMBER, { "operand", "field" } },
        { "qualified_type", ROLE_MEMBER, { "package", "name" } },
        { "index_expression", ROLE_INDEX, { "operand", "index" } },
        { "call_expression", ROLE_CALL, { "function", "arguments" } },
        { "composite_literal", ROLE_CALL, { "type" } },
        { "interpreted_string_literal", ROLE_STRING, { NULL } },
        { "raw_string_literal", ROLE_STRING, { NULL } },
        { "rune_literal", ROLE_STRING, { NULL } },
        { "binary_expression", ROLE_CONCAT, { "left", "right", "operator" } },
        { "parenthesized_expression", ROLE_WRAP, { NULL } },
        { "expression_list", ROLE_LIST, { NULL } },
        { "short_var_declaration", ROLE_BIND, { "left", "right" } },
        { "var_spec", ROLE_BIND, { "name", "value" } },
        { "const_spec", ROLE_BIND, { "name", "value" } },
        { "assignment_statement", ROLE_ASSIGN, { "left", "right" } },
        { "if_statement", ROLE_BRANCH, { NULL } },
        { "for_statement", ROLE_BRANCH, { NULL } },
        { "expression_switch_statement", ROLE_BRANCH, { NULL } },
        { "type_switch_statement", ROLE_BRANCH, { NULL } },
        { "select_statement", ROLE_BRANCH, { NULL } },
        { "function_declaration", ROLE_DEFINE, { "name", "parameters" } },
        { "method_declaration", ROLE_LAMBDA, { NULL, "parameters" } },
        { "func_literal", ROLE_LAMBDA, { NULL, "parameters" } },
        { "import_spec", ROLE_IMPORT, { NULL } },
        { "package_clause", ROLE_SKIP, { NULL } },
        { "comment", ROLE_COMMENT, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "os/exec.Command", KNOWN_COMMAND },
        { "os/exec.CommandContext", KNOWN_COMMAND_SECOND },
        { "syscall.Exec", KNOWN_COMMAND },
        { "os.StartProcess", KNOWN_COMMAND },
        { "string", KNOWN_SAME },
        { NULL, KNOWN_NOTHING },
};

const struct grammar grammar_go = {
        .name = "go",
        .language = tree_sitter_go,
        .rule_folders = (const char *const[]){ "go", NULL },
        .roles = roles,
        .known = known,
        .import = import_go,
};
