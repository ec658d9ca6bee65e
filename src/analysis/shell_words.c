/* Shell words: quotes, escapes, variables with known values, substitutions of an echo. */
#include "analysis/scope.h"
#include "analysis/shell.h"

#include <string.h>

static const struct value unknown = { VALUE_UNKNOWN, false, "", 0 };

static struct value joined(struct analysis *analysis, struct value a, struct value b)
{
        char *text;

        if (a.kind != VALUE_TEXT || b.kind != VALUE_TEXT || a.length + b.length > VALUE_BYTES_MAX)
                return unknown;
        text = arena_alloc(&analysis->arena, a.length + b.length + 1);
        memcpy(text, a.text, a.length);
        memcpy(text + a.length, b.text, b.length);
        return (struct value){ VALUE_TEXT, a.guess || b.guess, text, a.length + b.length };
}

/* A backslash makes the next character plain; a line that goes on is put together. */
static struct value unescape(struct analysis *analysis, const char *text, size_t length)
{
        char *out;
        size_t used = 0;

        if (length > VALUE_BYTES_MAX)
                return unknown;
        out = arena_alloc(&analysis->arena, length + 1);
        for (size_t i = 0; i < length; i++) {
                if (text[i] == '\\' && i + 1 < length && text[++i] == '\n')
                        continue;
                out[used++] = text[i];
        }
        return (struct value){ VALUE_TEXT, false, out, used };
}

/* $x: what was assigned, where that is known. */
static struct value variable_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value values[ALTERNATIVES_MAX], texts[ALTERNATIVES_MAX];
        TSNode name = node_child(node, 0);
        unsigned count, found = 0, pick;
        const char *text;
        size_t length;

        /* Only the plain form: ${x}, not ${x:-y} or ${x/a/b}. */
        if (!unit_is(name, "variable_name") || node_count(node) != 1)
                return unknown;
        text = unit_text(unit, node, &length);
        if (length > 2 && text[1] == '{' &&
            ts_node_end_byte(name) - ts_node_start_byte(name) + 3 != length)
                return unknown;
        text = unit_text(unit, name, &length);
        if (length > NAME_SHOWN_MAX)
                return unknown;
        count = scope_alternatives(analysis, unit, text, length,
                                   unit->outer ? UINT32_MAX : ts_node_start_byte(node), values);
        for (unsigned i = 0; i < count; i++)
                if (values[i].kind == VALUE_TEXT)
                        texts[found++] = values[i];
        if (found == 0)
                return unknown;
        pick = analysis->pick < found ? analysis->pick : found - 1;
        analysis->more |= analysis->pick + 1 < found;
        texts[pick].guess = true;
        return texts[pick];
}

/* $(echo text) */
static struct value substitution_value(struct analysis *analysis, const struct unit *unit,
                                       TSNode node)
{
        TSNode command = node_child(node, 0);
        struct shell_words words;
        struct value text;

        if (!unit_is(command, "command") || node_count(node) != 1)
                return unknown;
        shell_words_of(analysis, unit, command, &words);
        if (words.count < 2 ||
            (!shell_is(words.values[0], "echo") && !shell_is(words.values[0], "printf")))
                return unknown;
        text = shell_joined(analysis, &words, shell_is(words.values[1], "-n") ? 2 : 1);
        text.guess = true;
        return text;
}

/* A string in double quotes, or words side by side. */
static struct value parts_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value all = { VALUE_TEXT, false, "", 0 };
        uint32_t count = node_count(node);

        for (uint32_t i = 0; i < count && all.kind == VALUE_TEXT; i++)
                all = count > 512 ? unknown
                                  : joined(analysis, all,
                                           value_of(analysis, unit, node_child(node, i)));
        return all;
}

struct value shell_word(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        size_t length;
        const char *text = unit_text(unit, node, &length);

        if (length > VALUE_BYTES_MAX)
                return unknown;
        if (unit_is(node, "word") || unit_is(node, "string_content") || unit_is(node, "number"))
                return unescape(analysis, text, length);
        if (unit_is(node, "raw_string"))
                return length >= 2 ? value_text(analysis, text + 1, length - 2, false) : unknown;
        if (unit_is(node, "ansi_c_string"))
                return length >= 3 ? text_unescape(analysis, text + 2, length - 3) : unknown;
        if (unit_is(node, "string") || unit_is(node, "concatenation"))
                return parts_value(analysis, unit, node);
        if (unit_is(node, "translated_string") || unit_is(node, "command_name"))
                return value_of(analysis, unit, node_child(node, 0));
        if (unit_is(node, "simple_expansion") || unit_is(node, "expansion"))
                return variable_value(analysis, unit, node);
        if (unit_is(node, "command_substitution"))
                return substitution_value(analysis, unit, node);
        return unknown;
}

void shell_words_of(struct analysis *analysis, const struct unit *unit, TSNode command,
                    struct shell_words *ret_words)
{
        uint32_t count = node_count(command);

        ret_words->count = 0;
        for (uint32_t i = 0; i < count && ret_words->count < SHELL_WORDS_MAX; i++) {
                TSNode child = node_child(command, i);

                if (unit_is(child, "variable_assignment") || unit_is(child, "file_redirect") ||
                    unit_is(child, "herestring_redirect") || unit_is(child, "comment") ||
                    unit_is(child, "heredoc_redirect"))
                        continue;
                ret_words->nodes[ret_words->count] = child;
                ret_words->values[ret_words->count++] = value_of(analysis, unit, child);
        }
}

bool shell_is(struct value word, const char *text)
{
        return word.kind == VALUE_TEXT && strcmp(word.text, text) == 0;
}

struct value shell_base_name(struct analysis *analysis, struct value word)
{
        const char *slash = word.kind == VALUE_TEXT ? strrchr(word.text, '/') : NULL;

        if (!slash || slash[1] == '\0')
                return word;
        return (struct value){ VALUE_TEXT, word.guess, slash + 1,
                               word.length - (size_t)(slash + 1 - word.text) };
}

bool shell_is_shell(struct analysis *analysis, struct value word)
{
        static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ash", "fish" };

        word = shell_base_name(analysis, word);
        for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
                if (shell_is(word, shells[i]))
                        return true;
        return false;
}

struct value shell_joined(struct analysis *analysis, const struct shell_words *words, size_t from)
{
        const struct value space = { VALUE_TEXT, false, " ", 1 };
        struct value all = { VALUE_TEXT, false, "", 0 };

        for (size_t i = from; i < words->count && all.kind == VALUE_TEXT; i++) {
                if (i > from)
                        all = joined(analysis, all, space);
                all = joined(analysis, all, words->values[i]);
        }
        return all;
}
