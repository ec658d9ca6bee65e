/* Shell commands: which program is meant in the end, and which texts become code. */
#include "analysis/shell.h"
#include "analysis/scope.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* What a rule names to speak of code that a shell gets from somewhere. */
static const char code_from_elsewhere[] = "| sh";
/* And of a command whose name nobody can see. */
static const char computed_command[] = "$command";

static void parse_within(struct analysis *analysis, const struct unit *unit, TSNode node,
                         struct value text)
{
        if (text.kind == VALUE_TEXT)
                unit_within(analysis, unit, node, &grammar_shell, text.text, text.length);
        else
                match_command(analysis, unit, node, code_from_elsewhere,
                              strlen(code_from_elsewhere), false);
}

/* `sh -c code`, `sh <(code)`; a script that is a file is not ours to read. */
static void shell_started(struct analysis *analysis, const struct unit *unit, TSNode node,
                          const struct shell_words *words, size_t at)
{
        for (size_t i = at + 1; i < words->count; i++) {
                struct value word = words->values[i];

                if (unit_is(words->nodes[i], "process_substitution"))
                        match_command(analysis, unit, node, code_from_elsewhere,
                                      strlen(code_from_elsewhere), false);
                if (word.kind != VALUE_TEXT || word.text[0] != '-')
                        return;
                if (word.text[1] != '-' && strchr(word.text, 'c') && i + 1 < words->count) {
                        parse_within(analysis, unit, node, words->values[i + 1]);
                        return;
                }
        }
}

static void find_started(struct analysis *analysis, const struct unit *unit, TSNode node,
                         const struct shell_words *words, size_t at, unsigned depth);

static void named_command(struct analysis *analysis, const struct unit *unit, TSNode node,
                          const struct shell_words *words, size_t at, unsigned depth)
{
        struct value name = shell_base_name(analysis, words->values[at]), alias[ALTERNATIVES_MAX];
        const struct shell_wrapper *wrapper = shell_find_wrapper(name);
        const char *key;

        match_command(analysis, unit, node, name.text, name.length, name.guess);
        if (wrapper) {
                find_started(analysis, unit, node, words,
                             shell_skip_wrapper(unit, wrapper, words, at), depth + 1);
                return;
        }
        if (shell_is_shell(analysis, name) || shell_is(name, "su")) {
                shell_started(analysis, unit, node, words, at);
                return;
        }
        if (shell_is(name, "eval")) {
                if (at + 1 < words->count)
                        parse_within(analysis, unit, node, shell_joined(analysis, words, at + 1));
                return;
        }
        if (shell_is(name, "trap") && at + 1 < words->count) {
                parse_within(analysis, unit, node, words->values[at + 1]);
                return;
        }
        if (shell_is(name, ".") || shell_is(name, "source")) {
                if (at + 1 < words->count && unit_is(words->nodes[at + 1], "process_substitution"))
                        match_command(analysis, unit, node, code_from_elsewhere,
                                      strlen(code_from_elsewhere), false);
                return;
        }
        if (shell_is(name, "find"))
                for (size_t i = at + 1; i + 1 < words->count; i++)
                        if (shell_is(words->values[i], "-exec") ||
                            shell_is(words->values[i], "-execdir") ||
                            shell_is(words->values[i], "-ok"))
                                find_started(analysis, unit, node, words, i + 1, depth + 1);
        key = arena_format(&analysis->arena, "alias %s", name.text);
        if (scope_was_bound(analysis, key, strlen(key)) &&
            scope_alternatives(analysis, unit, key, strlen(key), UINT32_MAX, alias) > 0 &&
            alias[0].kind == VALUE_TEXT)
                parse_within(analysis, unit, node, alias[0]);
        key = shell_wrapper_key(analysis, name.text, name.length);
        if (scope_was_bound(analysis, key, strlen(key)))
                find_started(analysis, unit, node, words, at + 1, depth + 1);
}

/* The command whose name is the word at the index. */
static void find_started(struct analysis *analysis, const struct unit *unit, TSNode node,
                         const struct shell_words *words, size_t at, unsigned depth)
{
        struct value name, made;

        if (at >= words->count || depth >= WRAPPED_MAX)
                return;
        name = words->values[at];
        /* What a function runs of its words is seen where it is called. */
        if (name.kind != VALUE_TEXT &&
            !ts_node_is_null(shell_function_of_words(unit, words->nodes[at])))
                return;
        if (name.kind != VALUE_TEXT || shell_is_pattern(unit, words->nodes[at], name)) {
                match_command(analysis, unit, node, computed_command, strlen(computed_command),
                              true);
                return;
        }
        made = shell_braces(analysis, unit, words->nodes[at], name);
        if (made.kind == VALUE_TEXT) {
                parse_within(analysis, unit, node, made);
                return;
        }
        /* A variable without quotes falls apart into words. */
        if (name.guess && strpbrk(name.text, " \t\n")) {
                parse_within(analysis, unit, node, name);
                return;
        }
        named_command(analysis, unit, node, words, at, depth);
}

void shell_command(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct shell_words words;
        TSNode text = { 0 };
        uint32_t count = node_count(node);

        for (unsigned pick = 0; pick < ALTERNATIVES_MAX; pick++) {
                analysis->pick = pick;
                analysis->more = false;
                shell_words_of(analysis, unit, node, &words);
                analysis->pick = 0;
                if (words.count == 0)
                        return;
                if (shell_is(words.values[0], "alias"))
                        shell_learn_aliases(analysis, &words);
                if (shell_is(words.values[0], "set"))
                        shell_learn_words(analysis, unit, node, &words);
                if (analysis->learning)
                        shell_learn_wrapper(analysis, unit, &words);
                if (analysis->learning)
                        return;
                find_started(analysis, unit, node, &words, 0, 0);
                if (!analysis->more)
                        break;
        }
        /* bash <<< "code" */
        for (uint32_t i = 0; i < count && i < SHELL_WORDS_MAX; i++)
                if (unit_is(node_child(node, i), "herestring_redirect"))
                        text = node_child(node_child(node, i), 0);
        if (!ts_node_is_null(text) && shell_is_shell(analysis, words.values[0]))
                parse_within(analysis, unit, node, value_of(analysis, unit, text));
}

/* The command at the end of a statement: what reads its input. */
static TSNode reading_command(const struct unit *unit, TSNode node)
{
        for (unsigned i = 0; i < 8 && !ts_node_is_null(node) && !unit_is(node, "command"); i++) {
                uint32_t count = node_count(node);

                if (unit_is(node, "redirected_statement"))
                        node = unit_named(unit, node, "body");
                else
                        node = count ? node_child(node, count - 1) : (TSNode){ 0 };
        }
        return node;
}

static bool reads_code(struct analysis *analysis, const struct unit *unit, TSNode command)
{
        struct shell_words words;
        size_t at = 0;

        if (!unit_is(command, "command"))
                return false;
        shell_words_of(analysis, unit, command, &words);
        for (unsigned i = 0; i < WRAPPED_MAX && at < words.count; i++) {
                const struct shell_wrapper *wrapper =
                        shell_find_wrapper(shell_base_name(analysis, words.values[at]));

                if (!wrapper)
                        break;
                at = shell_skip_wrapper(unit, wrapper, &words, at);
        }
        if (at >= words.count || !shell_is_shell(analysis, words.values[at]))
                return false;
        for (at++; at < words.count; at++)
                if (words.values[at].kind != VALUE_TEXT || words.values[at].text[0] != '-')
                        return false;
                else if (words.values[at].text[1] != '-' && strchr(words.values[at].text, 'c'))
                        return false;
        return true;
}

void shell_redirected(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = node_count(node);
        TSNode body = unit_named(unit, node, "body");

        if (analysis->learning)
                return;
        for (uint32_t i = 0; i < count && i < SHELL_WORDS_MAX; i++) {
                TSNode redirect = node_child(node, i), reader = reading_command(unit, body);
                TSNode text = { 0 };
                uint32_t parts = node_count(redirect);
                size_t length;

                if (!unit_is(redirect, "heredoc_redirect"))
                        continue;
                for (uint32_t part = 0; part < parts && part < SHELL_WORDS_MAX; part++) {
                        TSNode child = node_child(redirect, part);

                        if (unit_is(child, "heredoc_body"))
                                text = child;
                        else if (unit_is(child, "pipeline"))
                                reader = reading_command(unit, child);
                }
                if (ts_node_is_null(text) || !reads_code(analysis, unit, reader))
                        continue;
                {
                        const char *code = unit_text(unit, text, &length);

                        unit_verbatim(analysis, unit, text, &grammar_shell,
                                      arena_strndup(&analysis->arena, code, length), length);
                }
        }
}

/* What a command of a pipeline makes of the constant text it reads. */
static struct value piped(struct analysis *analysis, const struct shell_words *words,
                          struct value text)
{
        const struct value nothing = { VALUE_UNKNOWN, false, "", 0 };
        struct value name;

        if (words->count == 0)
                return nothing;
        name = shell_base_name(analysis, words->values[0]);
        if (shell_is(name, "echo") || shell_is(name, "printf"))
                return shell_joined(analysis, words,
                                    words->count > 1 && words->values[1].kind == VALUE_TEXT &&
                                                    words->values[1].text[0] == '-'
                                            ? 2
                                            : 1);
        if (text.kind != VALUE_TEXT)
                return nothing;
        if (shell_is(name, "cat") || shell_is(name, "tee"))
                return text;
        if (shell_is(name, "base64"))
                return text_base64(analysis, text.text, text.length);
        if (shell_is(name, "xxd"))
                return text_hex(analysis, text.text, text.length);
        if (shell_is(name, "rev")) {
                char *back = arena_alloc(&analysis->arena, text.length + 1);

                for (size_t i = 0; i < text.length; i++)
                        back[i] = text.text[text.length - 1 - i];
                return (struct value){ VALUE_TEXT, true, back, text.length };
        }
        return nothing;
}

void shell_pipeline(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = node_count(node);
        struct value text = { VALUE_UNKNOWN, false, "", 0 };

        if (analysis->learning || count > SHELL_WORDS_MAX)
                return;
        for (uint32_t i = 0; i < count; i++) {
                TSNode command = node_child(node, i);
                struct shell_words words;

                if (i > 0 && reads_code(analysis, unit, reading_command(unit, command)))
                        parse_within(analysis, unit, node, text);
                if (unit_is(command, "command")) {
                        shell_words_of(analysis, unit, command, &words);
                        text = piped(analysis, &words, text);
                } else {
                        text.kind = VALUE_UNKNOWN;
                }
        }
}
