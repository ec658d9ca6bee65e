/* What a shell script tells of its commands: programs and functions that run others, words, loops.
 */
#include "analysis/shell.h"
#include "analysis/scope.h"

#include <stdio.h>
#include <string.h>

/* Programs that run the program that their words name. */
static const struct shell_wrapper wrappers[] = {
        { "command", "", 0, false },
        { "builtin", "", 0, false },
        { "exec", " -a ", 0, false },
        { "nohup", "", 0, false },
        { "setsid", "", 0, false },
        { "time", " -f -o ", 0, false },
        { "nice", " -n ", 0, false },
        { "ionice", " -c -n -p ", 0, false },
        { "stdbuf", " -i -o -e ", 0, false },
        { "timeout", " -s -k --signal --kill-after ", 1, false },
        { "sudo", " -u -g -h -p -C -r -t -U -D ", 0, true },
        { "doas", " -u -C ", 0, false },
        { "env", " -u -C -S ", 0, true },
        { "xargs", " -a -d -E -I -L -n -P -s ", 0, false },
        { "parallel", " -j -a ", 0, false },
        { "busybox", "", 0, false },
        { "toybox", "", 0, false },
        { "chroot", "", 1, false },
        { "unshare", "", 0, false },
        { "nsenter", " -t ", 0, false },
        { "strace", " -o -e -p ", 0, false },
        { "ltrace", " -o -e -p ", 0, false },
        { "watch", " -n ", 0, false },
        { "coproc", "", 0, false },
};

const struct shell_wrapper *shell_find_wrapper(struct value name)
{
        for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
                if (shell_is(name, wrappers[i].name))
                        return &wrappers[i];
        return NULL;
}

/* The index of the word that the wrapper runs, or the count. */
size_t shell_skip_wrapper(const struct unit *unit, const struct shell_wrapper *wrapper,
                          const struct shell_words *words, size_t at)
{
        unsigned plain = wrapper->plain;
        size_t length;

        for (at++; at < words->count; at++) {
                struct value word = words->values[at];
                char option[40];

                if (word.kind != VALUE_TEXT) {
                        const char *source = unit_text(unit, words->nodes[at], &length);

                        if (plain > 0)
                                plain--;
                        else if (!wrapper->assignments || !memchr(source, '=', length))
                                return at;
                        continue;
                }
                if (word.text[0] == '-' && word.length < sizeof(option) - 3) {
                        (void)snprintf(option, sizeof(option), " %s ", word.text);
                        at += strstr(wrapper->with_value, option) != NULL;
                        continue;
                }
                if (wrapper->assignments && strchr(word.text, '='))
                        continue;
                if (plain > 0) {
                        plain--;
                        continue;
                }
                return at;
        }
        return words->count;
}

/* The name of the function around a command that runs the words that the function was called with,
 * as run() { "$@"; } does; or a null node. */
TSNode shell_function_of_words(const struct unit *unit, TSNode word)
{
        size_t length;
        const char *text = unit_text(unit, word, &length);
        TSNode around = word;

        if (length > 2 && text[0] == '"') {
                text++;
                length -= 2;
        }
        if (length != 2 || text[0] != '$' || !strchr("@*123456789", text[1]))
                return (TSNode){ 0 };
        while (!ts_node_is_null(around) && !unit_is(around, "function_definition"))
                around = ts_node_parent(around);
        return unit_named(unit, around, "name");
}

const char *shell_wrapper_key(struct analysis *analysis, const char *name, size_t length)
{
        return arena_format(&analysis->arena, "function %.*s", (int)length, name);
}

void shell_learn_wrapper(struct analysis *analysis, const struct unit *unit,
                         const struct shell_words *words)
{
        const struct value yes = { VALUE_TEXT, true, "", 0 };
        size_t at = 0, length;
        TSNode name;

        for (unsigned i = 0; i < WRAPPED_MAX && at < words->count; i++) {
                const struct shell_wrapper *wrapper =
                        shell_find_wrapper(shell_base_name(analysis, words->values[at]));

                if (!wrapper)
                        break;
                at = shell_skip_wrapper(unit, wrapper, words, at);
        }
        name = at < words->count ? shell_function_of_words(unit, words->nodes[at]) : (TSNode){ 0 };
        if (!ts_node_is_null(name)) {
                const char *text = unit_text(unit, name, &length);
                const char *key =
                        length < NAME_SHOWN_MAX ? shell_wrapper_key(analysis, text, length) : "";

                scope_bind(analysis, key, strlen(key), yes, 0);
        }
}

/* set -- rm x: what "$@" is from here on. */
void shell_learn_words(struct analysis *analysis, const struct unit *unit, TSNode node,
                       const struct shell_words *words)
{
        uint32_t byte = unit->outer ? 0 : ts_node_end_byte(node);
        size_t from = words->count > 1 && shell_is(words->values[1], "--") ? 2 : 1;
        struct value all = shell_joined(analysis, words, from);
        const struct value local = { VALUE_LOCAL, false, "", 0 };

        if (from == 1 && (words->count < 2 || words->values[1].kind != VALUE_TEXT ||
                          strchr("-+", words->values[1].text[0])))
                return; /* options of the shell */
        all.guess = true;
        scope_bind(analysis, "@", 1, all.kind == VALUE_TEXT ? all : local, byte);
        for (size_t i = from; i < words->count && i < from + 9; i++) {
                char digit = (char)('1' + (i - from));

                scope_bind(analysis, &digit, 1,
                           words->values[i].kind == VALUE_TEXT ? words->values[i] : local, byte);
        }
}

void shell_loop(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode name = unit_named(unit, node, "variable");
        uint32_t count = node_count(node);
        size_t length;
        const char *text = unit_text(unit, name, &length);

        for (uint32_t i = 0; i < count && i < SHELL_WORDS_MAX; i++) {
                TSNode child = node_child(node, i);
                struct value value;

                if (ts_node_eq(child, name) || unit_is(child, "do_group") ||
                    length > NAME_SHOWN_MAX)
                        continue;
                value = value_of(analysis, unit, child);
                if (value.kind != VALUE_TEXT)
                        value = (struct value){ VALUE_LOCAL, false, "", 0 };
                scope_bind(analysis, text, length, value, 0);
        }
}

struct value shell_braces(struct analysis *analysis, const struct unit *unit, TSNode node,
                          struct value name)
{
        const struct value nothing = { 0 };
        uint32_t start = ts_node_is_null(node) ? 0 : ts_node_start_byte(node);
        const char *body = name.text, *end, *words = "";

        if (name.kind != VALUE_TEXT || name.length > NAME_SHOWN_MAX)
                return nothing;
        /* The grammar takes the brace before a command for that of a group. */
        if (body[0] == '{')
                body++;
        else if (start == 0 || start > unit->length || unit->text[start - 1] != '{')
                return nothing;
        end = strchr(body, '}');
        if (!end || !memchr(body, ',', (size_t)(end - body)))
                return nothing;
        while (body <= end) {
                size_t length = strcspn(body, ",}");

                words = arena_format(&analysis->arena, "%s%.*s%s ", words, (int)length, body,
                                     end + 1);
                body += length + 1;
        }
        return (struct value){ VALUE_TEXT, true, words, strlen(words) };
}

/* The grammar knows braces only in arguments: the name of the last command is left alone. */
void shell_wrong(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = node_count(node);

        for (uint32_t i = 0; i < count && i < SHELL_WORDS_MAX; i++) {
                TSNode name = node_child(node, i);
                struct value made = { 0 };

                if (unit_is(name, "command_name"))
                        made = shell_braces(analysis, unit, name, value_of(analysis, unit, name));
                if (made.kind == VALUE_TEXT)
                        unit_within(analysis, unit, name, &grammar_shell, made.text, made.length);
        }
}

/* Whether a file that matches is run: /bin/r? */
bool shell_is_pattern(const struct unit *unit, TSNode node, struct value name)
{
        size_t length;
        const char *text = unit_text(unit, node, &length);

        return !name.guess && name.text[0] != '[' && length == name.length &&
               memcmp(text, name.text, length) == 0 && strpbrk(name.text, "?*[");
}

/* alias x=y */
void shell_learn_aliases(struct analysis *analysis, const struct shell_words *words)
{
        for (size_t i = 1; i < words->count; i++) {
                struct value word = words->values[i];
                const char *equals = word.kind == VALUE_TEXT ? strchr(word.text, '=') : NULL;
                const char *key;

                if (!equals || equals == word.text)
                        continue;
                key = arena_format(&analysis->arena, "alias %.*s", (int)(equals - word.text),
                                   word.text);
                scope_bind(analysis, key, strlen(key),
                           value_text(analysis, equals + 1, strlen(equals + 1), true), 0);
        }
}
