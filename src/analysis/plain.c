#include "analysis/plain.h"

#include <ctype.h>
#include <string.h>

enum {
        DEPTH_MAX = 16,
        MATCHES_MAX = 20000 /* of one pattern at one node: two of many children make many pairs */
};

struct reader {
        struct arena *arena;
        struct plain *plain;
        const char *text, *at;
        unsigned depth;
        bool failed; /* what follows is not read */
};

static void skip_space(struct reader *reader)
{
        for (;;) {
                reader->at += strspn(reader->at, " \t\r\n");
                if (*reader->at != ';')
                        return;
                reader->at += strcspn(reader->at, "\n");
        }
}

static bool take(struct reader *reader, char c)
{
        skip_space(reader);
        if (*reader->at != c)
                return false;
        reader->at++;
        return true;
}

static void expect(struct reader *reader, char c)
{
        reader->failed |= !take(reader, c);
}

/* The length of the name that stands here; 0: none does. */
static size_t name_here(struct reader *reader)
{
        size_t length = 0;

        skip_space(reader);
        while (isalnum((unsigned char)reader->at[length]) ||
               (reader->at[length] && strchr("_-.?!", reader->at[length]) && length > 0) ||
               reader->at[length] == '_')
                length++;
        return length;
}

/* The number of the text, which is added where it is new. */
static uint32_t add_string(struct reader *reader, const char *text, size_t length)
{
        struct plain *plain = reader->plain;

        for (size_t i = 0; i < plain->string_count; i++)
                if (strlen(plain->strings[i]) == length &&
                    memcmp(plain->strings[i], text, length) == 0)
                        return (uint32_t)i;
        ARENA_GROW(reader->arena, plain->strings, plain->string_count, plain->string_capacity);
        plain->strings[plain->string_count] = arena_strndup(reader->arena, text, length);
        return (uint32_t)plain->string_count++;
}

/* @name, or -1. */
static int read_capture(struct reader *reader)
{
        size_t length;
        int number;

        if (!take(reader, '@'))
                return -1;
        length = name_here(reader);
        reader->failed |= length == 0;
        number = (int)add_string(reader, reader->at, length);
        reader->at += length;
        return number;
}

/* "text", with the escapes of the query language. */
static uint32_t read_text(struct reader *reader)
{
        static const char letters[] = "ntr0", meant[] = "\n\t\r\0";
        char *text = arena_strndup(reader->arena, reader->at, strcspn(reader->at, "\n"));
        size_t length = 0;

        while (*reader->at && *reader->at != '"' && *reader->at != '\n') {
                const char *letter = NULL;

                if (*reader->at == '\\' && reader->at[1]) {
                        reader->at++;
                        letter = strchr(letters, *reader->at);
                }
                text[length++] = letter ? meant[letter - letters] : *reader->at;
                reader->at++;
        }
        expect(reader, '"');
        return add_string(reader, text, length);
}

static void add_step(struct reader *reader, struct plain_pattern *pattern, size_t *capacity,
                     TSQueryPredicateStepType type, uint32_t value)
{
        size_t count = pattern->step_count;

        ARENA_GROW(reader->arena, pattern->steps, count, *capacity);
        pattern->steps[pattern->step_count++] = (TSQueryPredicateStep){ type, value };
}

/* (#name @capture "text" ...), of which "(#" is read. */
static void read_predicate(struct reader *reader, struct plain_pattern *pattern, size_t *capacity)
{
        size_t length = name_here(reader);

        reader->failed |= length == 0;
        add_step(reader, pattern, capacity, TSQueryPredicateStepTypeString,
                 add_string(reader, reader->at, length));
        reader->at += length;
        while (!reader->failed && !take(reader, ')')) {
                if (*reader->at == '@') {
                        add_step(reader, pattern, capacity, TSQueryPredicateStepTypeCapture,
                                 (uint32_t)read_capture(reader));
                } else if (take(reader, '"')) {
                        add_step(reader, pattern, capacity, TSQueryPredicateStepTypeString,
                                 read_text(reader));
                } else { /* a bare word, as in (#set! rule "id") */
                        length = name_here(reader);
                        reader->failed |= length == 0;
                        add_step(reader, pattern, capacity, TSQueryPredicateStepTypeString,
                                 add_string(reader, reader->at, length));
                        reader->at += length;
                }
        }
        add_step(reader, pattern, capacity, TSQueryPredicateStepTypeDone, 0);
}

static struct plain_node *read_node(struct reader *reader);

/* The kind of a node: one that the language has, and that is no group of kinds. */
static TSSymbol read_kind(struct reader *reader)
{
        const TSLanguage *language = reader->plain->language;
        size_t length = name_here(reader);
        const char *name = reader->at;
        TSSymbol symbol;

        reader->at += length;
        if (length == 1 && *name == '_')
                return 0;
        symbol = ts_language_symbol_for_name(language, name, (uint32_t)length, true);
        /* The symbol of an error is beyond all others; the library knows what to do with it. */
        if (symbol == 0 || symbol >= ts_language_symbol_count(language) ||
            ts_language_symbol_type(language, symbol) != TSSymbolTypeRegular)
                reader->failed = true;
        return symbol;
}

/* What stands in a node, up to its bracket. */
static struct plain_node *read_children(struct reader *reader)
{
        struct plain_node *first = NULL, **end = &first;

        while (!reader->failed && !take(reader, ')')) {
                bool is_next = take(reader, '.');
                TSFieldId field = 0;
                size_t length = name_here(reader);

                if (length > 0) {
                        field = ts_language_field_id_for_name(reader->plain->language, reader->at,
                                                              (uint32_t)length);
                        reader->failed |= field == 0;
                        reader->at += length;
                        expect(reader, ':');
                }
                *end = read_node(reader);
                if (!*end)
                        break;
                for (struct plain_node *form = *end; form; form = form->otherwise) {
                        form->is_next = is_next;
                        form->field = field;
                }
                end = &(*end)->next;
        }
        return first;
}

/* [(a) (b)], of which "[" is read: a node with the forms of all. */
static struct plain_node *read_forms(struct reader *reader)
{
        struct plain_node *first = NULL, **end = &first;

        while (!reader->failed && !take(reader, ']')) {
                *end = read_node(reader);
                while (*end)
                        end = &(*end)->otherwise;
        }
        reader->failed |= !first;
        return first;
}

static struct plain_node *read_node(struct reader *reader)
{
        struct plain_node *node = NULL;
        int capture;

        reader->failed |= ++reader->depth > DEPTH_MAX;
        if (!reader->failed && take(reader, '[')) {
                node = read_forms(reader);
        } else if (!reader->failed && take(reader, '(')) {
                node = arena_alloc(reader->arena, sizeof(*node));
                node->capture = -1;
                node->symbol = read_kind(reader);
                node->children = read_children(reader);
        } else {
                reader->failed = true;
        }
        reader->depth--;
        skip_space(reader);
        reader->failed |= *reader->at && strchr("?*+", *reader->at);
        capture = read_capture(reader);
        skip_space(reader);
        reader->failed |= *reader->at == '@'; /* a second name for one node */
        for (struct plain_node *form = node; form && capture >= 0; form = form->otherwise) {
                reader->failed |= form->capture >= 0;
                form->capture = capture;
        }
        return reader->failed ? NULL : node;
}

/* ((kind ...) (#predicate ...) ...), or a node alone. */
static void read_pattern(struct reader *reader)
{
        struct plain *plain = reader->plain;
        struct plain_pattern *pattern;
        const char *start = reader->at;
        size_t capacity = 0;
        bool is_group = take(reader, '(');

        skip_space(reader);
        is_group = is_group && (*reader->at == '(' || *reader->at == '[');
        if (!is_group)
                reader->at = start;
        ARENA_GROW(reader->arena, plain->patterns, plain->count, plain->capacity);
        pattern = &plain->patterns[plain->count++];
        *pattern = (struct plain_pattern){ .byte = (uint32_t)(start - reader->text) };
        pattern->root = read_node(reader);
        while (is_group && !reader->failed && !take(reader, ')')) {
                expect(reader, '(');
                expect(reader, '#');
                read_predicate(reader, pattern, &capacity);
        }
        /* By its kind it is found; with several, or any, the library is as good. */
        reader->failed |= !pattern->root || !pattern->root->symbol || pattern->root->otherwise;
}

struct plain *plain_read(struct arena *arena, const TSLanguage *language, const char *text)
{
        struct plain *plain = arena_alloc(arena, sizeof(*plain));
        struct reader reader = { .arena = arena, .plain = plain, .text = text, .at = text };

        plain->language = language;
        for (skip_space(&reader); !reader.failed && *reader.at; skip_space(&reader))
                read_pattern(&reader);
        return reader.failed ? NULL : plain;
}

/* ---- matching ---- */

struct matcher {
        struct arena *arena;
        const TSLanguage *language;
        TSQueryMatch match;
        TSQueryCapture captures[PLAIN_CAPTURES_MAX];
        unsigned left; /* matches that are still looked at */
        plain_found *found;
        void *context;
};

/* What is still to be found: `node` and those after it among the children of `parent` from `index`
 * on, then the rest. */
struct rest {
        const struct plain_node *node;
        TSNode parent;
        uint32_t index;
        const struct rest *then;
};

static void match_rest(struct matcher *matcher, const struct rest *rest);

/* The node in this form, then all that is in it, then the rest. */
static void match_form(struct matcher *matcher, const struct plain_node *form, TSNode node,
                       const struct rest *then)
{
        const struct rest inner = { form->children, node, 0, then };
        uint16_t count = matcher->match.capture_count;

        if (form->symbol && ts_node_symbol(node) != form->symbol)
                return;
        if (form->capture >= 0 && count < PLAIN_CAPTURES_MAX) {
                matcher->captures[count] = (TSQueryCapture){ node, (uint32_t)form->capture };
                matcher->match.capture_count++;
        }
        match_rest(matcher, &inner);
        matcher->match.capture_count = count;
}

static bool has_field(const struct matcher *matcher, TSNode parent, uint32_t index, TSFieldId field)
{
        const char *name = field ? ts_node_field_name_for_named_child(parent, index) : NULL;

        return !field ||
               (name && strcmp(name, ts_language_field_name_for_id(matcher->language, field)) == 0);
}

static void match_rest(struct matcher *matcher, const struct rest *rest)
{
        const struct plain_node *node;
        uint32_t count;

        while (rest && !rest->node)
                rest = rest->then;
        if (!rest) {
                matcher->left--;
                matcher->found(matcher->context, &matcher->match);
                return;
        }
        node = rest->node;
        count = ts_node_named_child_count(rest->parent);
        for (uint32_t i = rest->index; i < count && matcher->left > 0; i++) {
                const struct rest after = { node->next, rest->parent, i + 1, rest->then };

                arena_step(matcher->arena);
                if (has_field(matcher, rest->parent, i, node->field)) {
                        TSNode child = ts_node_named_child(rest->parent, i);

                        for (const struct plain_node *form = node; form; form = form->otherwise)
                                match_form(matcher, form, child, &after);
                }
                if (node->is_next)
                        return;
        }
}

void plain_match(struct arena *arena, const struct plain *plain, size_t pattern, TSNode node,
                 plain_found *found, void *context)
{
        struct matcher matcher = {
                .arena = arena,
                .language = plain->language,
                .left = MATCHES_MAX,
                .found = found,
                .context = context,
        };

        matcher.match.pattern_index = (uint16_t)pattern;
        matcher.match.captures = matcher.captures;
        match_form(&matcher, plain->patterns[pattern].root, node, NULL);
}
