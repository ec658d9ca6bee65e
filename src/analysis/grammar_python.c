#include "analysis/scope.h"

#include <string.h>

const TSLanguage *tree_sitter_python(void);

/* Binds `name` to `module`, or the first part of a dotted name to itself. */
static void bind_module(struct analysis *analysis, const struct unit *unit, TSNode name,
                        struct value module)
{
        size_t length;
        const char *text = unit_text(unit, name, &length);

        scope_bind(analysis, text, length, module, ts_node_start_byte(name));
}

static struct value dotted(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        char plain[NAME_SHOWN_MAX * 2];
        size_t length, used = 0;
        const char *text = unit_text(unit, node, &length);

        /* Spaces may stand around the dots. */
        for (size_t i = 0; i < length && used < sizeof(plain) - 1; i++)
                if (!strchr(" \t\r\n\\\f", text[i]))
                        plain[used++] = text[i];
        text = text_normal(analysis, plain, used, &length);
        return value_name(analysis, unit, text, length, false);
}

static void import_one(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "name"), alias = unit_named(unit, node, "alias");
        struct value module = dotted(analysis, unit, ts_node_is_null(name) ? node : name);

        match_import(analysis, unit, node, module, NULL, 0);
        if (!ts_node_is_null(alias))
                bind_module(analysis, unit, alias, module);
        else if (!strchr(module.text, '.'))
                bind_module(analysis, unit, node, module);
        else
                scope_bind(
                        analysis, module.text, strcspn(module.text, "."),
                        value_name(analysis, unit, module.text, strcspn(module.text, "."), false),
                        ts_node_start_byte(node));
}

/* from module import name as alias */
static void import_name(struct analysis *analysis, const struct unit *unit, TSNode node,
                        struct value module)
{
        TSNode name = unit_named(unit, node, "name"), alias = unit_named(unit, node, "alias");
        struct value member;

        name = ts_node_is_null(name) ? node : name;
        member = dotted(analysis, unit, name);
        match_import(analysis, unit, node, module, member.text, member.length);
        bind_module(analysis, unit, ts_node_is_null(alias) ? name : alias,
                    value_member(analysis, unit, module, member.text, member.length));
}

static void import_python(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode from = unit_named(unit, node, "module_name");
        uint32_t count = node_count(node);
        struct value module = { 0 };

        if (unit_is(node, "future_import_statement"))
                return;
        if (!ts_node_is_null(from))
                module = dotted(analysis, unit, from);
        for (uint32_t i = 0; i < count; i++) {
                TSNode child = node_child(node, i);

                if (!ts_node_is_null(from) && ts_node_eq(child, from))
                        continue;
                if (unit_is(child, "wildcard_import")) {
                        match_import(analysis, unit, node, module, NULL, 0);
                        scope_add_wildcard(analysis, module.text);
                } else if (unit_is(child, "dotted_name") || unit_is(child, "aliased_import")) {
                        if (ts_node_is_null(from))
                                import_one(analysis, unit, child);
                        else
                                import_name(analysis, unit, child, module);
                }
        }
}

static const struct grammar_role roles[] = {
        { "identifier", ROLE_IDENTIFIER, { NULL } },
        { "attribute", ROLE_MEMBER, { "object", "attribute" } },
        { "subscript", ROLE_INDEX, { "value", "subscript" } },
        { "call", ROLE_CALL, { "function", "arguments" } },
        { "string", ROLE_STRING, { NULL } },
        { "concatenated_string", ROLE_STRINGS, { NULL } },
        { "interpolation", ROLE_INTERPOLATION, { NULL } },
        { "binary_operator", ROLE_CONCAT, { "left", "right", "operator" } },
        { "boolean_operator", ROLE_CONCAT, { "left", "right", "operator" } },
        { "parenthesized_expression", ROLE_WRAP, { NULL } },
        { "await", ROLE_WRAP, { NULL } },
        { "list", ROLE_LIST, { NULL } },
        { "tuple", ROLE_LIST, { NULL } },
        { "expression_list", ROLE_LIST, { NULL } },
        { "pattern_list", ROLE_PARAMETERS, { NULL } },
        { "tuple_pattern", ROLE_PARAMETERS, { NULL } },
        { "list_pattern", ROLE_PARAMETERS, { NULL } },
        { "assignment", ROLE_BIND, { "left", "right" } },
        { "augmented_assignment", ROLE_BIND, { "left", "right", "operator" } },
        { "named_expression", ROLE_BIND, { "name", "value" } },
        { "for_statement", ROLE_BRANCH, { NULL } },
        { "while_statement", ROLE_BRANCH, { NULL } },
        { "if_statement", ROLE_BRANCH, { NULL } },
        { "try_statement", ROLE_BRANCH, { NULL } },
        { "match_statement", ROLE_BRANCH, { NULL } },
        { "class_definition", ROLE_DEFINE, { "name" } },
        { "function_definition", ROLE_DEFINE, { "name", "parameters" } },
        { "lambda", ROLE_LAMBDA, { NULL, "parameters" } },
        { "parameters", ROLE_PARAMETERS, { NULL } },
        { "lambda_parameters", ROLE_PARAMETERS, { NULL } },
        { "typed_parameter", ROLE_PARAMETERS, { NULL } },
        { "list_splat_pattern", ROLE_PARAMETERS, { NULL } },
        { "dictionary_splat_pattern", ROLE_PARAMETERS, { NULL } },
        { "import_statement", ROLE_IMPORT, { NULL } },
        { "import_from_statement", ROLE_IMPORT, { NULL } },
        { "future_import_statement", ROLE_SKIP, { NULL } },
        { "global_statement", ROLE_GLOBAL, { NULL } },
        { "nonlocal_statement", ROLE_SKIP, { NULL } },
        { "comment", ROLE_COMMENT, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

static const struct grammar_known known[] = {
        { "__import__", KNOWN_IMPORT },
        { "importlib.import_module", KNOWN_IMPORT },
        { "importlib.__import__", KNOWN_IMPORT },
        { "importlib.util.find_spec", KNOWN_NOTHING },
        { "pkgutil.get_loader", KNOWN_NOTHING },
        { "getattr", KNOWN_MEMBER },
        { "object.__getattribute__", KNOWN_MEMBER },
        { "globals", KNOWN_NAMESPACE },
        { "locals", KNOWN_NAMESPACE },
        { "vars", KNOWN_NAMESPACE },
        { "functools.partial", KNOWN_SAME },
        { "str", KNOWN_SAME },
        { "bytes", KNOWN_SAME },
        { "chr", KNOWN_CHARACTERS },
        { "base64.b64decode", KNOWN_BASE64 },
        { "base64.urlsafe_b64decode", KNOWN_BASE64 },
        { "bytes.fromhex", KNOWN_HEX },
        { "binascii.unhexlify", KNOWN_HEX },
        { "eval", KNOWN_CODE },
        { "exec", KNOWN_CODE },
        { "compile", KNOWN_CODE },
        { "os.system", KNOWN_SHELL },
        { "os.popen", KNOWN_SHELL },
        { "subprocess.getoutput", KNOWN_SHELL },
        { "subprocess.getstatusoutput", KNOWN_SHELL },
        { "asyncio.create_subprocess_shell", KNOWN_SHELL },
        { "subprocess.run", KNOWN_COMMAND },
        { "subprocess.call", KNOWN_COMMAND },
        { "subprocess.check_call", KNOWN_COMMAND },
        { "subprocess.check_output", KNOWN_COMMAND },
        { "subprocess.Popen", KNOWN_COMMAND },
        { "asyncio.create_subprocess_exec", KNOWN_COMMAND },
        { NULL, KNOWN_NOTHING },
};

const struct grammar grammar_python = {
        .name = "python",
        .language = tree_sitter_python,
        .rule_folders = (const char *const[]){ "python", NULL },
        .roles = roles,
        .known = known,
        .transparent = (const char *const[]){ "builtins.", "__builtins__.", "__builtin__.",
                                              "sys.modules.", "__main__.", NULL },
        .suffixes = (const char *const[]){ ".__call__", ".__dict__", NULL },
        .held = (const char *const[]){ "os", "sys", "subprocess", "socket", "ctypes", "shutil",
                                       "importlib", "builtins", "pty", "multiprocessing", "signal",
                                       NULL },
        .import = import_python,
};
