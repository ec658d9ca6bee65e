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

/* A backslash makes the next character plain, in quotes only those that mean something there; a
 * line that goes on is put together. */
static struct value unescape(struct analysis *analysis, const char *text, size_t length,
                             bool is_quoted)
{
        char *out;
        size_t used = 0;

        if (length > VALUE_BYTES_MAX)
                return unknown;
        out = arena_alloc(&analysis->arena, length + 1);
        for (size_t i = 0; i < length; i++) {
                if (text[i] == '\\' && i + 1 < length &&
                    (!is_quoted || strchr("$`\"\\\n", text[i + 1])) && text[++i] == '\n')
                        continue;
                out[used++] = text[i];
        }
        return (struct value){ VALUE_TEXT, false, out, used };
}

/* The nth word of a text. */
static struct value nth_word(struct analysis *analysis, struct value text, unsigned index)
{
        const char *at = text.text;

        for (;; index--) {
                size_t length = strcspn(at, " ");

                if (index == 0)
                        return value_text(analysis, at, length, true);
                if (at[length] == '\0')
                        return unknown;
                at += length + 1;
        }
}

/* The name within ${...}: x, or an array; and what stands in for it where it has no value. A form
 * that changes the value, such as ${x/a/b}, is not known. */
static TSNode expanded_name(const struct unit *unit, TSNode node, TSNode *ret_index,
                            TSNode *ret_instead)
{
        static const char *const forms[] = { "}", ":-", "-", ":=", "=", ":?", "?" };
        TSNode inner = node_child(node, 0), name = inner;
        size_t length, name_length, before;
        const char *text = unit_text(unit, node, &length), *after;

        *ret_index = *ret_instead = (TSNode){ 0 };
        if (unit_is(inner, "subscript")) {
                name = unit_named(unit, inner, "name");
                *ret_index = unit_named(unit, inner, "index");
        }
        if (!unit_is(name, "variable_name") && !unit_is(name, "special_variable_name"))
                return (TSNode){ 0 };
        if (length < 3 || text[1] != '{')
                return name;
        before = ts_node_start_byte(inner) - ts_node_start_byte(node);
        (void)unit_text(unit, inner, &name_length);
        if (before != 2 || before + name_length >= length)
                return (TSNode){ 0 };
        after = text + before + name_length;
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
                if (strncmp(after, forms[i], strlen(forms[i])) == 0) {
                        *ret_instead = node_child(node, 1);
                        return name;
                }
        return (TSNode){ 0 };
}

/* $x: what was assigned, where that is known. */
static struct value variable_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value values[ALTERNATIVES_MAX], texts[ALTERNATIVES_MAX];
        TSNode index, instead, name = expanded_name(unit, node, &index, &instead);
        unsigned count, found = 0, pick;
        const char *text;
        size_t length;
        bool is_set = false;

        text = unit_text(unit, name, &length);
        if (ts_node_is_null(name) || length > NAME_SHOWN_MAX)
                return unknown;
        if (length == 1 && text[0] == '*')
                text = "@";
        count = scope_alternatives(analysis, unit, text, length,
                                   unit->outer ? UINT32_MAX : ts_node_start_byte(node), values);
        for (unsigned i = 0; i < count; i++) {
                is_set |= values[i].kind != VALUE_NAME;
                if (values[i].kind == VALUE_TEXT)
                        texts[found++] = values[i];
        }
        if (found == 0) {
                struct value other = is_set ? unknown : value_of(analysis, unit, instead);

                other.guess = true;
                return other;
        }
        pick = analysis->pick < found ? analysis->pick : found - 1;
        analysis->more |= analysis->pick + 1 < found;
        texts[pick].guess = true;
        text = unit_text(unit, index, &length);
        if (length == 0 || (length == 1 && (text[0] == '@' || text[0] == '*')))
                return texts[pick];
        return length == 1 && text[0] >= '0' && text[0] <= '9'
                       ? nth_word(analysis, texts[pick], (unsigned)(text[0] - '0'))
                       : unknown;
}

/* The variable itself, as in x+=y. */
static struct value named_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value values[ALTERNATIVES_MAX];
        size_t length;
        const char *text = unit_text(unit, node, &length);
        unsigned count =
                length > NAME_SHOWN_MAX
                        ? 0
                        : scope_alternatives(analysis, unit, text, length,
                                             unit->outer ? UINT32_MAX : ts_node_start_byte(node),
                                             values);

        return count ? values[0] : unknown;
}

/* What printf makes of its format: escapes, and words for %s. */
static struct value printed(struct analysis *analysis, const struct shell_words *words)
{
        const struct value nothing = { VALUE_TEXT, false, "", 0 };
        struct value format = words->values[1], all = nothing;
        size_t next = 2, plain;

        if (format.kind != VALUE_TEXT)
                return unknown;
        format = text_unescape(analysis, format.text, format.length);
        if (format.kind != VALUE_TEXT)
                return unknown;
        for (const char *at = format.text; *at && all.kind == VALUE_TEXT; at += plain) {
                plain = strcspn(at, "%");
                all = joined(analysis, all, value_text(analysis, at, plain, true));
                if (at[plain] == '\0')
                        break;
                if (at[plain + 1] != 's' && at[plain + 1] != 'b')
                        return unknown;
                all = joined(analysis, all, next < words->count ? words->values[next] : nothing);
                next++;
                plain += 2;
                /* The format is used again for what is left. */
                if (at[plain] == '\0' && next < words->count && words->count <= SHELL_WORDS_MAX) {
                        at = format.text;
                        plain = 0;
                }
        }
        return all;
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
        if (shell_is(words.values[0], "printf"))
                text = printed(analysis, &words);
        else if (shell_is(words.values[1], "-e") || shell_is(words.values[1], "-ne"))
                text = shell_joined(analysis, &words, 2);
        else
                text = shell_joined(analysis, &words, shell_is(words.values[1], "-n") ? 2 : 1);
        if (text.kind == VALUE_TEXT && shell_is(words.values[0], "echo") && words.count > 2 &&
            words.values[1].kind == VALUE_TEXT && strchr(words.values[1].text, 'e'))
                text = text_unescape(analysis, text.text, text.length);
        while (text.kind == VALUE_TEXT && text.length > 0 && text.text[text.length - 1] == '\n')
                text = value_text(analysis, text.text, text.length - 1, true);
        text.guess = true;
        return text;
}

/* (rm x): the words, put together as a call of them is. */
static struct value array_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        const struct value space = { VALUE_TEXT, true, " ", 1 };
        struct value all = { VALUE_TEXT, true, "", 0 };
        uint32_t count = node_count(node);

        for (uint32_t i = 0; i < count && all.kind == VALUE_TEXT; i++) {
                if (i > 0)
                        all = joined(analysis, all, space);
                all = count > SHELL_WORDS_MAX
                              ? unknown
                              : joined(analysis, all,
                                       value_of(analysis, unit, node_child(node, i)));
        }
        return all;
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
                return unescape(analysis, text, length, unit_is(node, "string_content"));
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
        if (unit_is(node, "array"))
                return array_value(analysis, unit, node);
        if (unit_is(node, "variable_name"))
                return named_value(analysis, unit, node);
        if (unit_is(node, "command_substitution"))
                return substitution_value(analysis, unit, node);
        return unknown;
}

/* Whether a line that goes on is all there is between two nodes, so that they are one word. The
 * grammar takes it for a space. */
static bool is_one_word(const struct unit *unit, TSNode before, TSNode after)
{
        uint32_t at = ts_node_end_byte(before), end = ts_node_start_byte(after);

        if (at >= end || end > unit->length)
                return false;
        for (; at + 1 < end; at += 2)
                if (unit->text[at] != '\\' || unit->text[at + 1] != '\n')
                        return false;
        return at == end;
}

void shell_words_of(struct analysis *analysis, const struct unit *unit, TSNode command,
                    struct shell_words *ret_words)
{
        uint32_t count = node_count(command);
        TSNode before = { 0 };

        ret_words->count = 0;
        for (uint32_t i = 0; i < count && ret_words->count < SHELL_WORDS_MAX; i++) {
                TSNode child = node_child(command, i);

                if (unit_is(child, "variable_assignment") || unit_is(child, "file_redirect") ||
                    unit_is(child, "herestring_redirect") || unit_is(child, "comment") ||
                    unit_is(child, "heredoc_redirect"))
                        continue;
                if (ret_words->count > 0 && is_one_word(unit, before, child)) {
                        struct value *word = &ret_words->values[ret_words->count - 1];

                        *word = joined(analysis, *word, value_of(analysis, unit, child));
                        before = child;
                        continue;
                }
                before = child;
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
