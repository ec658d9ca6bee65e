/* What expressions are known to be: names resolved, constants folded. Nothing is executed. */
#include "analysis/scope.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct value unknown = { VALUE_UNKNOWN, false, "", 0 };

struct value value_text(struct analysis *analysis, const char *text, size_t length, bool guess)
{
        if (length > VALUE_BYTES_MAX)
                return unknown;
        return (struct value){ VALUE_TEXT, guess, arena_strndup(&analysis->arena, text, length),
                               length };
}

static size_t strip_prefix(const char *text, size_t length, const char *const *prefixes)
{
        for (; prefixes && *prefixes; prefixes++) {
                size_t prefix;

                if (length == 0 || **prefixes != *text)
                        continue;
                prefix = strlen(*prefixes);
                if (length > prefix && memcmp(text, *prefixes, prefix) == 0)
                        return prefix;
        }
        return 0;
}

/* All suffixes are a last part with its dot. */
static size_t strip_suffix(const char *text, size_t length, const char *const *suffixes)
{
        const char *dot = suffixes ? memrchr(text, '.', length) : NULL;

        for (; dot && dot > text && *suffixes; suffixes++) {
                size_t suffix = length - (size_t)(dot - text);

                if (strlen(*suffixes) == suffix && memcmp(dot, *suffixes, suffix) == 0)
                        return suffix;
        }
        return 0;
}

/* Names that begin with a transparent part and are something else without it. */
static bool is_opaque(const struct grammar *grammar, const char *name)
{
        for (const char *const *opaque = grammar->opaque; opaque && *opaque; opaque++)
                if (strcmp(*opaque, name) == 0)
                        return true;
        return false;
}

/* "::" becomes ".", as everywhere else. */
static void unify_separators(char *text, size_t *length)
{
        size_t to = 0;

        for (size_t from = 0; from < *length; from++) {
                /* r#name is the name. */
                if (text[from] == 'r' && from + 2 < *length && text[from + 1] == '#' &&
                    (to == 0 || text[to - 1] == '.')) {
                        from++;
                        continue;
                }
                if (text[from] == ':' && from + 1 < *length && text[from + 1] == ':') {
                        text[to++] = '.';
                        from++;
                } else {
                        text[to++] = text[from];
                }
        }
        text[to] = '\0';
        *length = to;
}

/* Takes `name`, which is in the arena, and makes it the one that rules know it by. */
static struct value normal_name(const struct grammar *grammar, char *name, size_t length,
                                bool guess)
{
        size_t cut;

        if (grammar->separators)
                unify_separators(name, &length);
        while ((cut = strip_suffix(name, length, grammar->suffixes)) > 0) {
                length -= cut;
                name[length] = '\0';
        }
        while ((cut = strip_prefix(name, length, grammar->transparent)) > 0 &&
               (!grammar->strips_before_classes || isupper((unsigned char)name[cut])) &&
               !is_opaque(grammar, name)) {
                name += cut;
                length -= cut;
        }
        return (struct value){ VALUE_NAME, guess, name, length };
}

struct value value_name(struct analysis *analysis, const struct unit *unit, const char *text,
                        size_t length, bool guess)
{
        if (length > VALUE_BYTES_MAX)
                return unknown;
        return normal_name(unit->grammar, arena_strndup(&analysis->arena, text, length), length,
                           guess);
}

struct value value_member(struct analysis *analysis, const struct unit *unit, struct value object,
                          const char *name, size_t length)
{
        const char *owner = object.kind == VALUE_NAME ? object.text : "?";
        size_t before = object.kind == VALUE_NAME ? object.length : 1;
        char *joined;

        if (length > VALUE_BYTES_MAX || before > VALUE_BYTES_MAX)
                return unknown;
        name = text_normal(analysis, name, length, &length);
        if (maker_is_member(object, name, length))
                return value_name(analysis, unit, "Function", strlen("Function"), true);
        if (maker_is_prototype(object, name, length))
                return object;
        if (object.kind == VALUE_NAME && object.length == 0)
                return value_name(analysis, unit, name, length, object.guess);
        length = strnlen(name, length);
        joined = arena_alloc(&analysis->arena, before + length + 2);
        memcpy(joined, owner, before);
        joined[before] = '.';
        memcpy(joined + before + 1, name, length);
        return normal_name(unit->grammar, joined, before + 1 + length, object.guess);
}

struct value value_identifier(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value values[ALTERNATIVES_MAX];
        size_t length;
        const char *text = unit_text(unit, node, &length);
        unsigned count, pick;

        if (length > NAME_SHOWN_MAX * 8)
                return unknown;
        text = text_normal(analysis, text, length, &length);
        count = scope_alternatives(analysis, unit, text, length,
                                   unit->outer ? UINT32_MAX : ts_node_start_byte(node), values);
        if (count == 0)
                return unknown;
        pick = analysis->pick < count ? analysis->pick : count - 1;
        analysis->more |= analysis->pick + 1 < count;
        return values[pick];
}

static struct value joined_texts(struct analysis *analysis, struct value a, struct value b)
{
        char *text;

        if (a.kind != VALUE_TEXT || b.kind != VALUE_TEXT || a.length + b.length > VALUE_BYTES_MAX)
                return unknown;
        text = arena_alloc(&analysis->arena, a.length + b.length + 1);
        memcpy(text, a.text, a.length);
        memcpy(text + a.length, b.text, b.length);
        return (struct value){ VALUE_TEXT, true, text, a.length + b.length };
}

/* Strings side by side, and lists of texts, put together with a separator. */
struct value value_join(struct analysis *analysis, const struct unit *unit, TSNode node,
                        struct value separator)
{
        struct value all = { VALUE_TEXT, false, "", 0 };
        uint32_t count = node_count(node), done = 0;

        if (count > 1024)
                return unknown;
        for (uint32_t i = 0; i < count; i++) {
                TSNode child = node_child(node, i);

                if (unit_role(unit, child) == ROLE_COMMENT)
                        continue;
                if (done++ && separator.length)
                        all = joined_texts(analysis, all, separator);
                all = joined_texts(analysis, all, value_of(analysis, unit, child));
                if (all.kind != VALUE_TEXT)
                        return unknown;
        }
        return all;
}

/* One of two operands: what has a name rather than what is computed. */
static struct value chosen_value(struct analysis *analysis, const struct unit *unit, TSNode node,
                                 bool may_be_left)
{
        struct value value = unknown;

        if (may_be_left)
                value = value_of(analysis, unit, unit_field(unit, node, 0));
        if (value.kind != VALUE_NAME && value.kind != VALUE_TEXT)
                value = value_of(analysis, unit, unit_field(unit, node, 1));
        value.guess = true;
        return value;
}

/* A chain of "a" + "b" + ... leans to the left: unrolled, as it may be long. */
static struct value concat_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode operator= unit_field(unit, node, 2);
        struct value left, right;
        size_t length;

        if (!ts_node_is_null(operator)) {
                const char *text = unit_text(unit, operator, & length);

                if (length == 2 && (memcmp(text, "||", 2) == 0 || memcmp(text, "??", 2) == 0 ||
                                    memcmp(text, "or", 2) == 0))
                        return chosen_value(analysis, unit, node, true);
                if ((length == 2 && memcmp(text, "&&", 2) == 0) ||
                    (length == 3 && memcmp(text, "and", 3) == 0))
                        return chosen_value(analysis, unit, node, false);
                if (length != 1 || (text[0] != '+' && text[0] != '.'))
                        return unknown;
        }
        right = value_of(analysis, unit, unit_field(unit, node, 1));
        if (right.kind != VALUE_TEXT)
                return unknown;
        left = value_of(analysis, unit, unit_field(unit, node, 0));
        return joined_texts(analysis, left, right);
}

/* Whether an assignment adds to what the name was: `x += y`. */
bool value_is_sum(const struct unit *unit, TSNode node)
{
        TSNode operator= unit_field(unit, node, 2);
        size_t length;
        const char *text;

        if (unit->grammar == &grammar_shell) {
                uint32_t name = ts_node_end_byte(unit_field(unit, node, 0));

                return name > 0 && name < unit->length && unit->text[name] == '+';
        }
        if (ts_node_is_null(operator))
                return false;
        text = unit_text(unit, operator, & length);
        return length > 1 && text[0] != ':';
}

/* What an assignment gives. Of what is computed, only texts that are added are known. */
static struct value assigned_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode operator= unit_field(unit, node, 2);
        struct value right = value_of(analysis, unit, unit_field(unit, node, 1));
        size_t length = 0;

        if (!value_is_sum(unit, node))
                return right;
        if (!ts_node_is_null(operator) && unit_text(unit, operator, & length)[0] != '+')
                return unknown;
        return joined_texts(analysis, value_of(analysis, unit, unit_field(unit, node, 0)), right);
}

/* a . b . c as it is written */
static struct value path_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        char plain[NAME_SHOWN_MAX * 2];
        size_t length, used = 0;
        const char *text = unit_text(unit, node, &length);

        for (size_t i = 0; i < length && used < sizeof(plain) - 1; i++)
                if (!strchr(" \t\r\n\f", text[i]))
                        plain[used++] = text[i];
        return value_name(analysis, unit, plain, used, false);
}

static struct value reversed(struct analysis *analysis, struct value text)
{
        char *back = arena_alloc(&analysis->arena, text.length + 1);

        for (size_t i = 0; i < text.length; i++)
                back[i] = text.text[text.length - 1 - i];
        return (struct value){ VALUE_TEXT, true, back, text.length };
}

static struct value index_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value object = value_of(analysis, unit, unit_field(unit, node, 0)), index;
        TSNode subscript = unit_field(unit, node, 1);
        size_t length;

        if (unit_is(subscript, "slice")) {
                const char *text = unit_text(unit, subscript, &length);

                if (object.kind == VALUE_TEXT && length == 4 && memcmp(text, "::-1", 4) == 0)
                        return reversed(analysis, object);
                return unknown;
        }
        index = value_of(analysis, unit, subscript);
        if (object.kind == VALUE_TEXT && unit_is(subscript, "integer")) {
                const char *text = unit_text(unit, subscript, &length);
                size_t at = (size_t)strtoul(text, NULL, 10); /* ends at what follows the number */

                return at < object.length ? value_text(analysis, object.text + at, 1, true)
                                          : unknown;
        }
        if (index.kind != VALUE_TEXT ||
            (object.kind != VALUE_NAME && !maker_is_member(object, index.text, index.length)))
                return unknown;
        object.guess |= index.guess;
        return value_member(analysis, unit, object, index.text, index.length);
}

static struct value member_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSNode object = unit_field(unit, node, 0), name = unit_field(unit, node, 1);
        struct value value = unknown;
        const char *text;
        size_t length;

        if (unit_is(node, "method_reference")) { /* object::name or Class::new of Java */
                object = node_child(node, 0);
                name = node_child(node, 1);
                if (ts_node_is_null(name))
                        return value_of(analysis, unit, object);
        }
        if (ts_node_is_null(name))
                return unknown;
        text = unit_text(unit, name, &length);
        if (!ts_node_is_null(object))
                value = value_of(analysis, unit, object);
        else
                value = value_name(analysis, unit, "", 0, false);
        /* The name may be qualified again: a::b::c leans to the right in C++. */
        if (unit_role(unit, name) == ROLE_MEMBER && length < NAME_SHOWN_MAX * 4)
                return value_member(analysis, unit, value, text, length);
        return value_member(analysis, unit, value, text, length);
}

static struct value call_value(struct analysis *analysis, const struct unit *unit, TSNode node,
                               enum role role)
{
        TSNode arguments = unit_field(unit, node, role == ROLE_CALL ? 1 : 2);
        TSNode called = role == ROLE_CALL ? unit_field(unit, node, 0) : node;
        struct value value;
        size_t length;

        if (role == ROLE_METHOD || unit_role(unit, called) == ROLE_MEMBER) {
                TSNode object = unit_field(unit, called, 0), method = unit_field(unit, called, 1);

                if (!ts_node_is_null(object) && !ts_node_is_null(method)) {
                        const char *name = unit_text(unit, method, &length);
                        struct value text;

                        if (unit->grammar->calls_by_method && length == 4 &&
                            memcmp(name, "bind", 4) == 0)
                                return value_of(analysis, unit, object);
                        text = known_text_method(analysis, unit, value_of(analysis, unit, object),
                                                 name, length, object, arguments);

                        if (text.kind != VALUE_UNKNOWN)
                                return text;
                }
        }
        if (role == ROLE_CALL)
                value = value_of(analysis, unit, called);
        else if (ts_node_is_null(unit_field(unit, node, 0)))
                value = value_identifier(analysis, unit, unit_field(unit, node, 1));
        else
                value = member_value(analysis, unit, node);
        return known_value(analysis, unit, value, node, arguments);
}

static struct value role_value(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        enum role role = unit_role(unit, node);
        uint32_t count;

        if (unit->grammar == &grammar_shell && role != ROLE_BIND)
                return shell_word(analysis, unit, node);
        switch (role) {
        case ROLE_IDENTIFIER:
                return value_identifier(analysis, unit, node);
        case ROLE_MEMBER:
                return member_value(analysis, unit, node);
        case ROLE_INDEX:
                return index_value(analysis, unit, node);
        case ROLE_CALL:
        case ROLE_METHOD:
                return call_value(analysis, unit, node, role);
        case ROLE_STRING:
                return text_of_string(analysis, unit, node);
        case ROLE_STRINGS:
                return value_join(analysis, unit, node, unknown);
        case ROLE_CONCAT:
                return concat_value(analysis, unit, node);
        case ROLE_WRAP: {
                TSNode inner = unit_field(unit, node, 0);

                return value_of(analysis, unit,
                                ts_node_is_null(inner) ? node_child(node, 0) : inner);
        }
        case ROLE_LAST:
                count = node_count(node);
                return count ? value_of(analysis, unit, node_child(node, count - 1)) : unknown;
        case ROLE_BIND:
        case ROLE_ASSIGN:
                return assigned_value(analysis, unit, node);
        case ROLE_PATH:
                return path_value(analysis, unit, node);
        case ROLE_DEFINE:
        case ROLE_LAMBDA:
                return maker_function(unit);
        default:
                return unknown;
        }
}

/* Whether it is worth remembering what the node is: many ask, and the answer is made of others. */
static bool is_remembered(const struct unit *unit, TSNode node)
{
        enum role role = unit_role(unit, node);

        return unit->grammar != &grammar_shell &&
               (role == ROLE_MEMBER || role == ROLE_INDEX || role == ROLE_CALL ||
                role == ROLE_METHOD || role == ROLE_CONCAT);
}

/* Chains are asked for by each of their links, and calls of methods ask twice for the object:
 * without a memory that would double the work with every link. */
static struct value remembered_value(struct analysis *analysis, const struct unit *unit,
                                     TSNode node)
{
        struct memory *memory = &analysis->memories[(uintptr_t)node.id / 8 % MEMORIES];
        bool more = analysis->more, is_cut = analysis->is_cut;

        if (memory->id != node.id || memory->epoch != analysis->epoch ||
            memory->pick != analysis->pick ||
            (memory->is_cut && memory->depth > analysis->value_depth)) {
                unsigned epoch = analysis->epoch, depth = analysis->value_depth;
                struct value value;

                analysis->more = analysis->is_cut = false;
                value = role_value(analysis, unit, node);
                *memory = (struct memory){ node.id, value,          epoch,           analysis->pick,
                                           depth,   analysis->more, analysis->is_cut };
        }
        analysis->more = more | memory->more;
        analysis->is_cut = is_cut | memory->is_cut;
        return memory->value;
}

struct value value_of(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct value value = unknown;

        arena_step(&analysis->arena);
        if (ts_node_is_null(node))
                return unknown;
        if (analysis->value_depth >= VALUE_DEPTH_MAX) {
                analysis->is_cut = true;
                return unknown;
        }
        analysis->value_depth++;
        value = is_remembered(unit, node) ? remembered_value(analysis, unit, node)
                                          : role_value(analysis, unit, node);
        analysis->value_depth--;
        if (!value.text)
                value.text = "";
        return value;
}
