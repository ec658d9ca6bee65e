/*
 * One line for each way of reading a file: a number that stands for all nodes of its tree. Built
 * twice, with the parsing library as it is and with our shorter ways in it (src/analysis/core.c and
 * lexing.h); both must print the same.
 *
 *      trees_ours|trees_library python|shell|javascript FILE...
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

enum { SOURCE_MAX = 1 << 20 };

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_bash(void);
const TSLanguage *tree_sitter_javascript(void);

static const struct {
        const char *name;
        const TSLanguage *(*language)(void);
} languages[] = {
        { "python", tree_sitter_python },
        { "shell", tree_sitter_bash },
        { "javascript", tree_sitter_javascript },
};

/* What is broken makes the library try several ways at once, and recover. */
static size_t as_it_is(char *source, size_t length)
{
        (void)source;
        return length;
}

static size_t cut_off(char *source, size_t length)
{
        (void)source;
        return length * 2 / 3;
}

static size_t broken(char *source, size_t length)
{
        static const char noise[] = "({[\"'\n)}]\\;\x80\xc3";

        for (size_t i = 97; i < length; i += 331)
                source[i] = noise[i % (sizeof(noise) - 1)];
        return length;
}

static size_t repeated(char *source, size_t length)
{
        size_t part = length < 400 ? length : 400, size = part;

        for (; part > 0 && size + part <= SOURCE_MAX / 64; size += part)
                memmove(source + size, source, part);
        return size;
}

static size_t (*const ways[])(char *, size_t) = { as_it_is, cut_off, broken, repeated };

static uint64_t mixed(uint64_t hash, TSNode node, TSFieldId field)
{
        const TSPoint start = ts_node_start_point(node), end = ts_node_end_point(node);
        const uint32_t facts[] = { ts_node_symbol(node),
                                   ts_node_start_byte(node),
                                   ts_node_end_byte(node),
                                   start.row,
                                   start.column,
                                   end.row,
                                   end.column,
                                   ts_node_is_missing(node),
                                   ts_node_has_error(node),
                                   ts_node_is_extra(node),
                                   ts_node_child_count(node),
                                   field };

        for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
                hash = (hash ^ facts[i]) * 1099511628211u;
        return hash;
}

static uint64_t hash_of(const TSTree *tree)
{
        TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
        uint64_t hash = 14695981039346656037u;

        for (;;) {
                hash = mixed(hash, ts_tree_cursor_current_node(&cursor),
                             ts_tree_cursor_current_field_id(&cursor));
                if (ts_tree_cursor_goto_first_child(&cursor))
                        continue;
                while (!ts_tree_cursor_goto_next_sibling(&cursor))
                        if (!ts_tree_cursor_goto_parent(&cursor)) {
                                ts_tree_cursor_delete(&cursor);
                                return hash;
                        }
        }
}

static int print_file(TSParser *parser, const char *path)
{
        static char source[SOURCE_MAX];

        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                FILE *file = fopen(path, "re");
                size_t length = file ? fread(source, 1, sizeof(source), file) : 0;
                TSTree *tree;

                if (!file || fclose(file) != 0)
                        return -1;
                length = ways[i](source, length);
                tree = ts_parser_parse_string(parser, NULL, source, (uint32_t)length);
                if (!tree)
                        return -1;
                (void)printf("%016llx %zu %s\n", (unsigned long long)hash_of(tree), i, path);
                ts_tree_delete(tree);
        }
        return 0;
}

int main(int argc, char **argv)
{
        TSParser *parser = ts_parser_new();
        size_t at = 0;

        while (at < sizeof(languages) / sizeof(languages[0]) &&
               (argc < 2 || strcmp(languages[at].name, argv[1]) != 0))
                at++;
        if (at == sizeof(languages) / sizeof(languages[0]) ||
            !ts_parser_set_language(parser, languages[at].language()))
                return 2;
        for (int i = 2; i < argc; i++)
                if (print_file(parser, argv[i]) < 0)
                        return 1;
        ts_parser_delete(parser);
        return 0;
}
