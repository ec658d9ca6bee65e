/* Functions whose meaning we know: what they give, and what they do. */
#include "analysis/analysis.h"
#include "analysis/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct value unknown = { VALUE_UNKNOWN, false, "", 0 };

static enum known find_known(struct analysis *analysis, const struct unit *unit,
                             struct value function)
{
        return function.kind == VALUE_NAME ? match_verdict(analysis, unit, function)->known
                                           : KNOWN_NOTHING;
}

TSNode known_argument(const struct unit *unit, TSNode arguments, unsigned index)
{
        uint32_t count;

        if (ts_node_is_null(arguments))
                return arguments;
        if (unit_role(unit, arguments) == ROLE_STRING) /* eval`code` */
                return index == 0 ? arguments : (TSNode){ 0 };
        count = node_count(arguments);
        for (uint32_t i = 0; i < count && i < index + 8; i++) {
                TSNode child = node_child(arguments, i);

                if (unit_role(unit, child) == ROLE_COMMENT)
                        continue;
                if (index-- == 0) {
                        TSNode value = unit_is(child, "keyword_argument")
                                               ? unit_named(unit, child, "value")
                                               : child;

                        return ts_node_is_null(value) ? child : value;
                }
        }
        return (TSNode){ 0 };
}

static struct value argument_value(struct analysis *analysis, const struct unit *unit,
                                   TSNode arguments, unsigned index)
{
        TSNode node = known_argument(unit, arguments, index);

        return ts_node_is_null(node) ? unknown : value_of(analysis, unit, node);
}

static struct value characters(struct analysis *analysis, const struct unit *unit, TSNode arguments)
{
        uint32_t count = ts_node_is_null(arguments) ? 0 : node_count(arguments);
        char text[64];
        size_t used = 0, length;

        if (count > sizeof(text))
                return unknown;
        for (uint32_t i = 0; i < count; i++) {
                const char *digits = unit_text(unit, node_child(arguments, i), &length);
                unsigned long number;

                if (length == 0 || length > 8 || !isdigit((unsigned char)digits[0]))
                        return unknown;
                number = strtoul(digits, NULL, 0); /* the source goes on with no digit */
                if (number == 0 || number > 126)
                        return unknown;
                text[used++] = (char)number;
        }
        return value_text(analysis, text, used, true);
}

bool known_is_import(struct analysis *analysis, const struct unit *unit, struct value function)
{
        static const char last[] = "require";
        size_t length = sizeof(last) - 1;

        return function.kind == VALUE_NAME && function.length >= length &&
               memcmp(function.text + function.length - length, last, length) == 0 &&
               find_known(analysis, unit, function) == KNOWN_IMPORT;
}

/* The text that says what is imported: the first argument, or, where a function is called by a
 * method of its own, as in f.call(this, x), one that follows. */
static struct value imported_text(struct analysis *analysis, const struct unit *unit,
                                  TSNode arguments)
{
        for (unsigned i = 0; i < (unit->grammar->calls_by_method ? 3 : 1); i++) {
                TSNode node = known_argument(unit, arguments, i);
                struct value value;

                if (ts_node_is_null(node))
                        break;
                if (i > 0 && unit_role(unit, node) == ROLE_LIST)
                        node = node_child(node, 0);
                value = value_of(analysis, unit, node);
                value.guess |= i > 0;
                if (value.kind == VALUE_TEXT)
                        return value;
        }
        return unknown;
}

/* What Reflect.apply(f, this, [x]) hands to f. */
static TSNode applied_arguments(const struct unit *unit, TSNode arguments)
{
        TSNode last = known_argument(unit, arguments, 2);

        if (unit_role(unit, last) != ROLE_LIST)
                last = known_argument(unit, arguments, 1);
        return last;
}

static struct value name_of_text(struct analysis *analysis, const struct unit *unit,
                                 struct value text)
{
        return text.kind == VALUE_TEXT
                       ? value_name(analysis, unit, text.text, text.length, text.guess)
                       : unknown;
}

/* The name that a macro with ## makes of its arguments; see grammar_c.c. */
static struct value pasted(struct analysis *analysis, const struct unit *unit, const char *parts,
                           TSNode arguments)
{
        char name[NAME_SHOWN_MAX];
        size_t used = 0;

        for (parts += 2; *parts;) {
                size_t length = strcspn(parts, " ");
                const char *text = parts;
                size_t own = length;

                if (*parts == '#') {
                        TSNode node = known_argument(unit, arguments, (unsigned)(parts[1] - '0'));
                        struct value named = { 0 };

                        text = unit_text(unit, node, &own);
                        if (unit_role(unit, node) == ROLE_IDENTIFIER) /* maybe a macro itself */
                                named = value_of(analysis, unit, node);
                        if (named.kind == VALUE_NAME) {
                                text = named.text;
                                own = named.length;
                        }
                }
                if (own > sizeof(name) - used)
                        return unknown;
                memcpy(name + used, text, own);
                used += own;
                parts += length + (parts[length] == ' ');
        }
        return value_name(analysis, unit, name, used, true);
}

struct value known_value(struct analysis *analysis, const struct unit *unit, struct value function,
                         TSNode node, TSNode arguments)
{
        struct value first;
        char *called;

        switch (find_known(analysis, unit, function)) {
        case KNOWN_IMPORT:
                return name_of_text(analysis, unit, imported_text(analysis, unit, arguments));
        case KNOWN_APPLY:
                if (analysis->value_depth >= VALUE_DEPTH_MAX) {
                        analysis->is_cut = true;
                        return unknown;
                }
                analysis->value_depth++;
                first = known_value(analysis, unit, argument_value(analysis, unit, arguments, 0),
                                    node, applied_arguments(unit, arguments));
                analysis->value_depth--;
                return first;
        case KNOWN_NAME:
                return name_of_text(analysis, unit, argument_value(analysis, unit, arguments, 0));
        case KNOWN_NAME_SECOND:
                return name_of_text(analysis, unit, argument_value(analysis, unit, arguments, 1));
        case KNOWN_MEMBER: {
                struct value name = argument_value(analysis, unit, arguments, 1);

                first = argument_value(analysis, unit, arguments, 0);
                if (name.kind != VALUE_TEXT)
                        return unknown;
                first.guess = true;
                return value_member(analysis, unit, first, name.text, name.length);
        }
        case KNOWN_NAMESPACE:
                first = argument_value(analysis, unit, arguments, 0);
                return first.kind == VALUE_NAME ? first : (struct value){ VALUE_NAME, true, "", 0 };
        case KNOWN_SAME:
                return argument_value(analysis, unit, arguments, 0);
        case KNOWN_CHARACTERS:
                return characters(analysis, unit, arguments);
        case KNOWN_BASE64:
                first = argument_value(analysis, unit, arguments, 0);
                return first.kind == VALUE_TEXT ? text_base64(analysis, first.text, first.length)
                                                : unknown;
        case KNOWN_HEX:
                first = argument_value(analysis, unit, arguments, 0);
                return first.kind == VALUE_TEXT ? text_hex(analysis, first.text, first.length)
                                                : unknown;
        case KNOWN_TOKENS:
                return value_join(analysis, unit, node_child(node, node_count(node) - 1), unknown);
        case KNOWN_REQUIRE:
                return value_name(analysis, unit, "require", strlen("require"), true);
        default:
                break;
        }
        if (function.kind != VALUE_NAME)
                return unknown;
        if (strncmp(function.text, "##", 2) == 0)
                return pasted(analysis, unit, function.text, arguments);
        called = arena_alloc(&analysis->arena, function.length + sizeof("()"));
        memcpy(called, function.text, function.length);
        memcpy(called + function.length, "()", sizeof("()"));
        return (struct value){ VALUE_NAME, function.guess, called, function.length + 2 };
}

/* Methods that look a name up in a mapping or an object. */
static bool is_lookup(const char *method, size_t length)
{
        static const char *const lookups[] = { "get", "__getitem__", "__getattribute__", "pop" };

        for (size_t i = 0; i < sizeof(lookups) / sizeof(lookups[0]); i++)
                if (strlen(lookups[i]) == length && memcmp(lookups[i], method, length) == 0)
                        return true;
        return false;
}

static struct value replaced(struct analysis *analysis, struct value text, struct value from,
                             struct value to)
{
        struct value all = { VALUE_TEXT, true, "", 0 };
        char *out;
        size_t used = 0;

        if (from.kind != VALUE_TEXT || to.kind != VALUE_TEXT || from.length == 0 ||
            text.length > 4096 || to.length > 64)
                return unknown;
        out = arena_alloc(&analysis->arena, text.length * (to.length + 1) + 1);
        for (size_t i = 0; i < text.length;) {
                bool here = text.length - i >= from.length &&
                            memcmp(text.text + i, from.text, from.length) == 0;
                size_t length = here ? to.length : 1;

                memcpy(out + used, here ? to.text : text.text + i, length);
                used += length;
                i += here ? from.length : 1;
        }
        all.text = out;
        all.length = used;
        return all;
}

static struct value mapped(struct analysis *analysis, struct value text, int (*map)(int))
{
        char *out = arena_strndup(&analysis->arena, text.text, text.length);

        for (size_t i = 0; i < text.length; i++)
                out[i] = (char)map((unsigned char)out[i]);
        return (struct value){ VALUE_TEXT, true, out, text.length };
}

enum text_method {
        METHOD_JOIN,
        METHOD_REPLACE,
        METHOD_LOWER,
        METHOD_UPPER,
        METHOD_REVERSE,
        METHOD_SAME,
        METHOD_CONCAT
};

static const struct {
        const char *name;
        enum text_method method;
} text_methods[] = {
        { "join", METHOD_JOIN },          { "replace", METHOD_REPLACE },
        { "replaceAll", METHOD_REPLACE }, { "lower", METHOD_LOWER },
        { "toLowerCase", METHOD_LOWER },  { "upper", METHOD_UPPER },
        { "toUpperCase", METHOD_UPPER },  { "reverse", METHOD_REVERSE },
        { "split", METHOD_SAME },         { "strip", METHOD_SAME },
        { "trim", METHOD_SAME },          { "encode", METHOD_SAME },
        { "decode", METHOD_SAME },        { "toString", METHOD_SAME },
        { "to_string", METHOD_SAME },     { "into", METHOD_SAME },
        { "c_str", METHOD_SAME },         { "as_str", METHOD_SAME },
        { "to_owned", METHOD_SAME },      { "clone", METHOD_SAME },
        { "concat", METHOD_CONCAT },
};

static struct value apply_method(struct analysis *analysis, const struct unit *unit,
                                 enum text_method method, struct value text, TSNode arguments)
{
        TSNode first = known_argument(unit, arguments, 0);

        switch (method) {
        case METHOD_JOIN: /* "".join([...]) of Python; of a text that was split, itself */
                return unit_role(unit, first) == ROLE_LIST ? value_join(analysis, unit, first, text)
                                                           : text;
        case METHOD_REPLACE:
                return replaced(analysis, text, argument_value(analysis, unit, arguments, 0),
                                argument_value(analysis, unit, arguments, 1));
        case METHOD_LOWER:
                return mapped(analysis, text, tolower);
        case METHOD_UPPER:
                return mapped(analysis, text, toupper);
        case METHOD_REVERSE: {
                char *back = arena_alloc(&analysis->arena, text.length + 1);

                for (size_t i = 0; i < text.length; i++)
                        back[i] = text.text[text.length - 1 - i];
                return (struct value){ VALUE_TEXT, true, back, text.length };
        }
        case METHOD_CONCAT: {
                struct value more = argument_value(analysis, unit, arguments, 0);

                return more.kind == VALUE_TEXT
                               ? value_text(analysis,
                                            arena_format(&analysis->arena, "%s%s", text.text,
                                                         more.text),
                                            strlen(text.text) + strlen(more.text), true)
                               : unknown;
        }
        default:
                return text;
        }
}

struct value known_text_method(struct analysis *analysis, const struct unit *unit,
                               struct value object, const char *method, size_t length, TSNode node,
                               TSNode arguments)
{
        if (object.kind == VALUE_NAME && is_lookup(method, length)) {
                struct value name = argument_value(analysis, unit, arguments, 0);

                if (name.kind == VALUE_TEXT) {
                        object.guess = true;
                        return value_member(analysis, unit, object, name.text, name.length);
                }
                return unknown;
        }
        /* ["e", "val"].join("") of JavaScript. */
        if (unit_role(unit, node) == ROLE_LIST && length == 4 && memcmp(method, "join", 4) == 0) {
                struct value separator = argument_value(analysis, unit, arguments, 0);

                return separator.kind == VALUE_TEXT ? value_join(analysis, unit, node, separator)
                                                    : unknown;
        }
        if (object.kind != VALUE_TEXT)
                return unknown;
        for (size_t i = 0; i < sizeof(text_methods) / sizeof(text_methods[0]); i++)
                if (strlen(text_methods[i].name) == length &&
                    memcmp(text_methods[i].name, method, length) == 0)
                        return apply_method(analysis, unit, text_methods[i].method, object,
                                            arguments);
        return unknown;
}

/* What a shell is given after -c, among the arguments from `index` on. */
static void shell_effect(struct analysis *analysis, const struct unit *unit, TSNode node,
                         TSNode arguments, unsigned index)
{
        enum { SHELL_ARGUMENTS_MAX = 8 };

        for (unsigned i = index; i < index + SHELL_ARGUMENTS_MAX; i++) {
                struct value option = argument_value(analysis, unit, arguments, i), code;

                if (option.kind != VALUE_TEXT || option.length < 2 || option.text[0] != '-' ||
                    option.text[1] == '-' || !memchr(option.text, 'c', option.length))
                        continue;
                do
                        code = argument_value(analysis, unit, arguments, ++i);
                while (code.kind == VALUE_TEXT && code.text[0] == '-' && /* sh -c -e code */
                       i < index + SHELL_ARGUMENTS_MAX);
                if (code.kind == VALUE_TEXT)
                        unit_within(analysis, unit, node, &grammar_shell, code.text, code.length);
                return;
        }
}

/* The program that a list of words, or one text, names. */
static void command_effect(struct analysis *analysis, const struct unit *unit, TSNode node,
                           TSNode arguments, unsigned index)
{
        TSNode first = known_argument(unit, arguments, index), value;
        struct value name;

        if (unit_is(first, "array_creation_expression")) { /* new String[] {...} of Java */
                value = unit_named(unit, first, "value");
                first = ts_node_is_null(value) ? first : value;
        }
        if (ts_node_is_null(first))
                return;
        if (unit_role(unit, first) == ROLE_LIST) {
                struct value space = { VALUE_TEXT, false, " ", 1 };
                struct value all = value_join(analysis, unit, first, space);

                if (all.kind == VALUE_TEXT) {
                        unit_within(analysis, unit, node, &grammar_shell, all.text, all.length);
                        return;
                }
                first = node_child(first, 0);
        }
        name = value_of(analysis, unit, first);
        if (name.kind != VALUE_TEXT)
                return;
        unit_within(analysis, unit, node, &grammar_shell, name.text, name.length);
        if (shell_is_shell(analysis, name))
                shell_effect(analysis, unit, node, arguments, index + 1);
}

/* alias("system") of an attribute: [[gnu::alias("system")]] has its arguments in no field. */
static void words_effect(struct analysis *analysis, const struct unit *unit, TSNode node,
                         TSNode arguments)
{
        uint32_t count = node_count(node);
        struct value text;

        if (ts_node_is_null(arguments) && count > 0)
                arguments = node_child(node, count - 1);
        text = argument_value(analysis, unit, arguments, 0);
        if (text.kind == VALUE_TEXT)
                words_match(analysis, unit, node, text.text, text.length, (TSNode){ 0 });
}

static void effect(struct analysis *analysis, const struct unit *unit, enum known known,
                   TSNode node, TSNode arguments)
{
        struct value first;

        switch (known) {
        case KNOWN_COMMAND:
        case KNOWN_COMMAND_SECOND:
                command_effect(analysis, unit, node, arguments, known == KNOWN_COMMAND_SECOND);
                return;
        case KNOWN_WORDS:
                words_effect(analysis, unit, node, arguments);
                return;
        case KNOWN_APPLY:
                if (analysis->value_depth >= VALUE_DEPTH_MAX)
                        return;
                analysis->value_depth++;
                first = argument_value(analysis, unit, arguments, 0);
                arguments = applied_arguments(unit, arguments);
                match_call(analysis, unit, node, first);
                effect(analysis, unit, find_known(analysis, unit, first), node, arguments);
                analysis->value_depth--;
                return;
        case KNOWN_IMPORT:
                first = imported_text(analysis, unit, arguments);
                if (first.kind == VALUE_TEXT)
                        match_import(
                                analysis, unit, node,
                                value_name(analysis, unit, first.text, first.length, first.guess),
                                NULL, 0);
                else if (!ts_node_is_null(known_argument(unit, arguments, 0)))
                        match_computed_import(analysis, unit, node);
                return;
        case KNOWN_CODE:
        case KNOWN_SHELL:
                first = argument_value(analysis, unit, arguments, 0);
                if (first.kind == VALUE_TEXT)
                        unit_within(analysis, unit, node,
                                    known == KNOWN_CODE ? unit->grammar : &grammar_shell,
                                    first.text, first.length);
                return;
        default:
                return;
        }
}

void known_effects(struct analysis *analysis, const struct unit *unit, struct value function,
                   TSNode node, TSNode arguments)
{
        bool more = analysis->more;
        enum known known;

        if (function.kind == VALUE_NAME) {
                size_t held = match_verdict(analysis, unit, function)->held;

                function.text += held; /* the name as it is, where nobody holds it */
                function.length -= held;
        }
        known = find_known(analysis, unit, function);
        if (known == KNOWN_NOTHING)
                return;
        /* An argument may have several meanings, too. */
        for (unsigned pick = 0; pick < ALTERNATIVES_MAX; pick++) {
                analysis->pick = pick;
                analysis->more = false;
                effect(analysis, unit, known, node, arguments);
                if (!analysis->more)
                        break;
        }
        analysis->pick = 0;
        analysis->more = more;
}
