#include "analysis/scope.h"

#include <string.h>

enum { USE_DEPTH_MAX = 8 };

const TSLanguage *tree_sitter_rust(void);

static struct value path_of(struct analysis *analysis, const struct unit *unit, TSNode node,
                            struct value outer)
{
        char plain[NAME_SHOWN_MAX * 2];
        size_t length, used = 0;
        const char *text = unit_text(unit, node, &length);

        for (size_t i = 0; i < length && used < sizeof(plain) - 1; i++)
                if (!strchr(" \t\r\n", text[i]))
                        plain[used++] = text[i];
        return value_member(analysis, unit, outer, plain, used);
}

static void bind_last(struct analysis *analysis, struct value path)
{
        const char *dot = strrchr(path.text, '.');
        const char *name = dot ? dot + 1 : path.text;

        scope_bind(analysis, name, strlen(name), path, 0);
}

static void use_tree(struct analysis *analysis, const struct unit *unit, TSNode node,
                     struct value outer, unsigned depth)
{
        TSNode path = unit_named(unit, node, "path"), list = unit_named(unit, node, "list");
        TSNode alias = unit_named(unit, node, "alias");
        struct value whole;
        const char *text;
        size_t length;

        if (depth > USE_DEPTH_MAX)
                return;
        if (unit_is(node, "use_list") || unit_is(node, "scoped_use_list")) {
                TSNode items = unit_is(node, "use_list") ? node : list;

                whole = ts_node_is_null(path) || unit_is(node, "use_list")
                                ? outer
                                : path_of(analysis, unit, path, outer);
                for (uint32_t i = 0; i < node_count(items) && i < 256; i++)
                        use_tree(analysis, unit, node_child(items, i), whole, depth + 1);
                return;
        }
        if (unit_is(node, "use_as_clause") && !ts_node_is_null(path)) {
                whole = path_of(analysis, unit, path, outer);
                match_import(analysis, unit, node, whole, NULL, 0);
                text = unit_text(unit, alias, &length);
                if (!ts_node_is_null(alias))
                        scope_bind(analysis, text, length, whole, 0);
                return;
        }
        if (unit_is(node, "use_wildcard")) {
                whole = node_count(node) ? path_of(analysis, unit, node_child(node, 0), outer)
                                         : outer;
                match_import(analysis, unit, node, whole, NULL, 0);
                scope_add_wildcard(analysis, whole.text);
                return;
        }
        if (unit_is(node, "self")) {
                whole = outer;
        } else {
                whole = path_of(analysis, unit, node, outer);
        }
        match_import(analysis, unit, node, whole, NULL, 0);
        bind_last(analysis, whole);
}

/* extern crate libc as l */
static void use_crate(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), alias = unit_named(unit, node, "alias");
        const struct value nothing = { VALUE_NAME, false, "", 0 };
        struct value crate = path_of(analysis, unit, name, nothing);
        size_t length;
        const char *text = unit_text(unit, ts_node_is_null(alias) ? name : alias, &length);

        match_import(analysis, unit, node, crate, NULL, 0);
        scope_bind(analysis, text, length, crate, 0);
}

static void import_rust(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode tree = unit_named(unit, node, "argument");
        const struct value nothing = { VALUE_NAME, false, "", 0 };

        if (unit_is(node, "extern_crate_declaration"))
                use_crate(analysis, unit, node);
        else if (!ts_node_is_null(tree))
                use_tree(analysis, unit, tree, nothing, 0);
}

static const struct grammar_role roles[] = {
        { "identifier", ROLE_IDENTIFIER, { NULL } },
        { "type_identifier", ROLE_IDENTIFIER, { NULL } },
        { "scoped_identifier", ROLE_MEMBER, { "path", "name" } },
        { "scoped_type_identifier", ROLE_MEMBER, { "path", "name" } },
        { "field_expression", ROLE_MEMBER, { "value", "field" } },
        { "call_expression", ROLE_CALL, { "function", "arguments" } },
        { "macro_invocation", ROLE_CALL, { "macro" } },
        { "generic_function", ROLE_WRAP, { "function" } },
        { "string_literal", ROLE_STRING, { NULL } },
        { "raw_string_literal", ROLE_STRING, { NULL } },
        { "binary_expression", ROLE_CONCAT, { "left", "right", "operator" } },
        { "parenthesized_expression", ROLE_WRAP, { NULL } },
        { "reference_expression", ROLE_WRAP, { "value" } },
        { "try_expression", ROLE_WRAP, { NULL } },
        { "array_expression", ROLE_LIST, { NULL } },
        { "let_declaration", ROLE_BIND, { "pattern", "value" } },
        { "type_item", ROLE_BIND, { "name", "type" } },
        { "const_item", ROLE_BIND, { "name", "value" } },
        { "static_item", ROLE_BIND, { "name", "value" } },
        { "assignment_expression", ROLE_ASSIGN, { "left", "right" } },
        { "if_expression", ROLE_BRANCH, { NULL } },
        { "match_expression", ROLE_BRANCH, { NULL } },
        { "loop_expression", ROLE_BRANCH, { NULL } },
        { "while_expression", ROLE_BRANCH, { NULL } },
        { "for_expression", ROLE_BRANCH, { NULL } },
        { "function_item", ROLE_DEFINE, { "name", "parameters" } },
        { "closure_expression", ROLE_LAMBDA, { NULL, "parameters" } },
        { "closure_parameters", ROLE_PARAMETERS, { NULL } },
        { "tuple_pattern", ROLE_PARAMETERS, { NULL } },
        { "use_declaration", ROLE_IMPORT, { NULL } },
        { "extern_crate_declaration", ROLE_IMPORT, { NULL } },
        { "token_tree", ROLE_TOKENS, { NULL } },
        { "line_comment", ROLE_COMMENT, { NULL } },
        { "block_comment", ROLE_COMMENT, { NULL } },
        { "attribute_item", ROLE_SKIP, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "std.process.Command.new", KNOWN_COMMAND },
        { "concat", KNOWN_TOKENS },
        { "std.concat", KNOWN_TOKENS },
        { NULL, KNOWN_NOTHING },
};

const struct grammar grammar_rust = {
        .name = "rust",
        .language = tree_sitter_rust,
        .rule_folders = (const char *const[]){ "rust", NULL },
        .roles = roles,
        .known = known,
        .transparent = (const char *const[]){ ".", "core.", NULL },
        .separators = ":",
        .has_full_names = true,
        .import = import_rust,
};
