#include "analysis/analysis.h"

const TSLanguage *tree_sitter_bash(void);

static const struct grammar_role roles[] = {
        { "variable_name", ROLE_IDENTIFIER, { NULL } },
        { "variable_assignment", ROLE_BIND, { "name", "value" } },
        { "command", ROLE_COMMAND, { NULL } },
        { "pipeline", ROLE_PIPELINE, { NULL } },
        { "redirected_statement", ROLE_REDIRECTED, { NULL } },
        { "if_statement", ROLE_BRANCH, { NULL } },
        { "while_statement", ROLE_BRANCH, { NULL } },
        { "for_statement", ROLE_BRANCH, { NULL } },
        { "case_statement", ROLE_BRANCH, { NULL } },
        { "list", ROLE_BRANCH, { NULL } },
        { "function_definition", ROLE_BRANCH, { NULL } },
        { "subshell", ROLE_BRANCH, { NULL } },
        { "string", ROLE_STRING, { NULL } },
        { "raw_string", ROLE_STRING, { NULL } },
        { "ansi_c_string", ROLE_STRING, { NULL } },
        { "comment", ROLE_COMMENT, { NULL } },
        { NULL, ROLE_NONE, { NULL } },
};

const struct grammar grammar_shell = {
        .name = "shell",
        .language = tree_sitter_bash,
        .rule_folders = (const char *const[]){ "shell", NULL },
        .roles = roles,
};
