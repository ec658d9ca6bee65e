#include "analysis/scope.h"

#include <string.h>

const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_typescript(void);

static void bind_node(struct analysis *analysis, const struct unit *unit, TSNode name,
                      struct value value)
{
        size_t length;
        const char *text = unit_text(unit, name, &length);

        scope_bind(analysis, text, length, value, 0); /* imports come before everything */
}

/* {a as b, c}; what is only handed on gets no name here. */
static void import_members(struct analysis *analysis, const struct unit *unit, TSNode list,
                           struct value module, bool binds)
{
        uint32_t count = node_count(list);

        for (uint32_t i = 0; i < count; i++) {
                TSNode child = node_child(list, i);
                TSNode name = unit_named(unit, child, "name");
                TSNode alias = unit_named(unit, child, "alias");
                const char *text;
                size_t length;

                if (ts_node_is_null(name))
                        continue;
                text = unit_text(unit, name, &length);
                if (unit_role(unit, name) == ROLE_STRING && length >= 2) {
                        text++;
                        length -= 2;
                }
                match_import(analysis, unit, child, module, text, length);
                if (binds)
                        bind_node(analysis, unit, ts_node_is_null(alias) ? name : alias,
                                  value_member(analysis, unit, module, text, length));
        }
}

static void import_clause(struct analysis *analysis, const struct unit *unit, TSNode clause,
                          struct value module)
{
        uint32_t count = node_count(clause);

        for (uint32_t i = 0; i < count; i++) {
                TSNode child = node_child(clause, i);

                if (unit_role(unit, child) == ROLE_IDENTIFIER)
                        bind_node(analysis, unit, child, module);
                else if (unit_is(child, "namespace_import"))
                        bind_node(analysis, unit, node_child(child, 0), module);
                else if (unit_is(child, "named_imports"))
                        import_members(analysis, unit, child, module, true);
        }
}

/* import x = y.z of TypeScript */
static void import_alias(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = node_count(node);

        if (count == 2)
                bind_node(analysis, unit, node_child(node, 0),
                          value_of(analysis, unit, node_child(node, 1)));
}

static void import_javascript(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode source = unit_named(unit, node, "source");
        uint32_t count = node_count(node);
        struct value module;

        if (unit_is(node, "import_alias")) {
                import_alias(analysis, unit, node);
                return;
        }
        /* import x = require("y") of TypeScript has both in a clause. */
        for (uint32_t i = 0; i < count && ts_node_is_null(source); i++)
                if (unit_is(node_child(node, i), "import_require_clause"))
                        source = unit_named(unit, node_child(node, i), "source");
        if (ts_node_is_null(source))
                return;
        module = value_of(analysis, unit, source);
        if (module.kind != VALUE_TEXT)
                return;
        if (strncmp(module.text, "node:", 5) == 0) {
                module.text += 5;
                module.length -= 5;
        }
        module.kind = VALUE_NAME;
        match_import(analysis, unit, node, module, NULL, 0);
        for (uint32_t i = 0; i < count; i++) {
                TSNode child = node_child(node, i);

                if (unit_is(child, "import_clause"))
                        import_clause(analysis, unit, child, module);
                else if (unit_is(child, "export_clause"))
                        import_members(analysis, unit, child, module, false);
                else if (unit_is(child, "import_require_clause"))
                        bind_node(analysis, unit, node_child(child, 0), module);
        }
}

static const struct grammar_role roles[] = {
        { "identifier", ROLE_IDENTIFIER, { NULL } },
        { "shorthand_property_identifier_pattern", ROLE_IDENTIFIER, { NULL } },
        { "shorthand_property_identifier", ROLE_IDENTIFIER, { NULL } },
        { "import", ROLE_IDENTIFIER, { NULL } },
        { "member_expression", ROLE_MEMBER, { "object", "property" } },
        { "nested_identifier", ROLE_MEMBER, { "object", "property" } },
        { "subscript_expression", ROLE_INDEX, { "object", "index" } },
        { "call_expression", ROLE_CALL, { "function", "arguments" } },
        { "new_expression", ROLE_CALL, { "constructor", "arguments" } },
        { "string", ROLE_STRING, { NULL } },
        { "template_string", ROLE_STRING, { NULL } },
        { "template_substitution", ROLE_INTERPOLATION, { NULL } },
        { "binary_expression", ROLE_CONCAT, { "left", "right", "operator" } },
        { "parenthesized_expression", ROLE_WRAP, { NULL } },
        { "await_expression", ROLE_WRAP, { NULL } },
        { "as_expression", ROLE_WRAP, { NULL } },
        { "satisfies_expression", ROLE_WRAP, { NULL } },
        { "non_null_expression", ROLE_WRAP, { NULL } },
        { "type_assertion", ROLE_LAST, { NULL } },
        { "sequence_expression", ROLE_LAST, { NULL } },
        { "array", ROLE_LIST, { NULL } },
        { "array_pattern", ROLE_PARAMETERS, { NULL } },
        { "object_pattern", ROLE_PARAMETERS, { NULL } },
        { "pair_pattern", ROLE_PARAMETERS, { NULL } },
        { "variable_declarator", ROLE_BIND, { "name", "value" } },
        { "assignment_expression", ROLE_ASSIGN, { "left", "right" } },
        { "augmented_assignment_expression", ROLE_ASSIGN, { "left", "right", "operator" } },
        { "for_statement", ROLE_BRANCH, { NULL } },
        { "for_in_statement", ROLE_BRANCH, { NULL } },
        { "while_statement", ROLE_BRANCH, { NULL } },
        { "do_statement", ROLE_BRANCH, { NULL } },
        { "if_statement", ROLE_BRANCH, { NULL } },
        { "try_statement", ROLE_BRANCH, { NULL } },
        { "switch_statement", ROLE_BRANCH, { NULL } },
        { "class_declaration", ROLE_DEFINE, { "name" } },
        { "function_declaration", ROLE_DEFINE, { "name", "parameters" } },
        { "generator_function_declaration", ROLE_DEFINE, { "name", "parameters" } },
        { "method_definition", ROLE_LAMBDA, { NULL, "parameters" } },
        { "function_expression", ROLE_LAMBDA, { NULL, "parameters" } },
        { "arrow_function", ROLE_LAMBDA, { NULL, "parameters" } },
        { "formal_parameters", ROLE_PARAMETERS, { NULL } },
        { "required_parameter", ROLE_PARAMETERS, { NULL } },
        { "optional_parameter", ROLE_PARAMETERS, { NULL } },
        { "import_statement", ROLE_IMPORT, { NULL } },
        { "import_alias", ROLE_EXPORT, { NULL } },
        { "export_statement", ROLE_EXPORT, { NULL } },
        { "comment", ROLE_COMMENT, { NULL } },
        { "html_comment", ROLE_COMMENT, { NULL } },
        { "hash_bang_line", ROLE_COMMENT, { NULL } },
        { "type_annotation", ROLE_SKIP, { NULL } },
        { "interface_declaration", ROLE_SKIP, { NULL } },
        { "ambient_declaration", ROLE_SKIP, { NULL } },
        { "type_alias_declaration", ROLE_SKIP, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "require", KNOWN_IMPORT },
        { "import", KNOWN_IMPORT },
        { "module.require", KNOWN_IMPORT },
        { "process.mainModule.require", KNOWN_IMPORT },
        { "require.main.require", KNOWN_IMPORT },
        { "*._load", KNOWN_IMPORT },
        { "process.getBuiltinModule", KNOWN_IMPORT },
        { "*createRequire", KNOWN_REQUIRE },
        { "Reflect.get", KNOWN_MEMBER },
        { "Reflect", KNOWN_APPLY }, /* .apply */
        { "Reflect.construct", KNOWN_APPLY },
        { "String", KNOWN_SAME },
        { "Object", KNOWN_SAME },
        { "Object.getPrototypeOf", KNOWN_SAME },
        { "Reflect.getPrototypeOf", KNOWN_SAME },
        { "String.fromCharCode", KNOWN_CHARACTERS },
        { "String.fromCodePoint", KNOWN_CHARACTERS },
        { "atob", KNOWN_BASE64 },
        { "eval", KNOWN_CODE },
        { "Function", KNOWN_CODE },
        { "setTimeout", KNOWN_CODE },
        { "setInterval", KNOWN_CODE },
        { "vm.runInThisContext", KNOWN_CODE },
        { "vm.runInNewContext", KNOWN_CODE },
        { "child_process.exec", KNOWN_SHELL },
        { "child_process.execSync", KNOWN_SHELL },
        { "child_process.spawn", KNOWN_COMMAND },
        { "child_process.spawnSync", KNOWN_COMMAND },
        { "child_process.execFile", KNOWN_COMMAND },
        { "child_process.execFileSync", KNOWN_COMMAND },
        { NULL, KNOWN_NOTHING },
};

#define JAVASCRIPT                                                                                 \
        .rule_folders = (const char *const[]){ "javascript", NULL }, .roles = roles,               \
        .known = known, .transparent = (const char *const[]){ "globalThis.", "window.", "global.", \
                                                              "self.",       "node:",   NULL },    \
        .suffixes = (const char *const[]){ ".call", ".apply", ".bind", ".default", NULL },         \
        .calls_by_method = true, .import = import_javascript

const struct grammar grammar_javascript = {
        .name = "javascript",
        .language = tree_sitter_javascript,
        JAVASCRIPT,
};

const struct grammar grammar_typescript = {
        .name = "typescript",
        .language = tree_sitter_typescript,
        JAVASCRIPT,
};
