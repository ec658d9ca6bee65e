/* A JSON reader and writer by hand, checked against itself. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { LITERAL, NUMBER, STRING, ARRAY, OBJECT, KINDS };

struct value {
        enum kind kind;
        char *text; /* a literal, a number as it was written, a string's bytes */
        char *key;
        struct value *first, *next;
};

struct reader {
        const char *at;
        jmp_buf wrong;
};

static char peek(struct reader *r)
{
        while (*r->at && strchr(" \t\r\n", *r->at))
                r->at++;
        return *r->at;
}

static void take(struct reader *r, char wanted)
{
        if (peek(r) != wanted)
                longjmp(r->wrong, 1);
        r->at++;
}

static struct value *new_value(enum kind kind, const char *text, size_t length)
{
        struct value *value = calloc(1, sizeof(*value));

        value->kind = kind;
        value->text = strndup(text, length);
        return value;
}

static size_t put_utf8(char *out, unsigned code)
{
        if (code < 0x80)
                return *out = (char)code, 1;
        if (code < 0x800) {
                out[0] = (char)(0xc0 | code >> 6);
                out[1] = (char)(0x80 | (code & 0x3f));
                return 2;
        }
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
}

static struct value *read_string(struct reader *r)
{
        char *out = malloc(strlen(r->at) + 4);
        size_t used = 0;
        struct value *value;

        for (take(r, '"'); *r->at != '"'; r->at++) {
                if (!*r->at)
                        longjmp(r->wrong, 1);
                if (*r->at != '\\') {
                        out[used++] = *r->at;
                        continue;
                }
                if (*++r->at == 'u') {
                        char digits[5] = { 0 };

                        used += put_utf8(out + used, (unsigned)strtoul(strncpy(digits, r->at + 1, 4), NULL, 16));
                        r->at += 4;
                } else {
                        out[used++] = *r->at == 'n' ? '\n' : *r->at == 't' ? '\t' : *r->at;
                }
        }
        r->at++;
        value = new_value(STRING, out, used);
        free(out);
        return value;
}

static struct value *read_value(struct reader *r);

/* Members are kept in the order of their keys. */
static void insert(struct value *into, struct value *item)
{
        struct value **place = &into->first;

        while (*place && (into->kind == ARRAY || strcmp((*place)->key, item->key) < 0))
                place = &(*place)->next;
        item->next = *place;
        *place = item;
}

static struct value *read_items(struct reader *r, enum kind kind)
{
        struct value *all = new_value(kind, "", 0);
        char end = kind == ARRAY ? ']' : '}';

        for (take(r, kind == ARRAY ? '[' : '{'); peek(r) != end;) {
                struct value *item, *key = NULL;

                if (all->first)
                        take(r, ',');
                if (kind == OBJECT) {
                        key = read_string(r);
                        take(r, ':');
                }
                item = read_value(r);
                item->key = key ? key->text : NULL;
                free(key);
                insert(all, item);
        }
        take(r, end);
        return all;
}

static struct value *read_value(struct reader *r)
{
        static const char *const literals[] = { "true", "false", "null" };
        size_t length;
        char first = peek(r);

        if (first == '{' || first == '[')
                return read_items(r, first == '{' ? OBJECT : ARRAY);
        if (first == '"')
                return read_string(r);
        for (int i = 0; i < 3; i++) {
                length = strlen(literals[i]);
                if (strncmp(r->at, literals[i], length) == 0)
                        return r->at += length, new_value(LITERAL, literals[i], length);
        }
        length = strspn(r->at, "+-0123456789.eE");
        if (length == 0)
                longjmp(r->wrong, 1);
        r->at += length;
        return new_value(NUMBER, r->at - length, length);
}

/* NULL where it is no JSON. */
static struct value *read_text(const char *text)
{
        struct reader r = { .at = text };
        struct value *value;

        if (setjmp(r.wrong))
                return NULL;
        value = read_value(&r);
        return peek(&r) ? NULL : value;
}

static void quote(const char *text, FILE *out)
{
        putc('"', out);
        for (; *text; text++) {
                if (strchr("\\\"\n\t", *text))
                        putc('\\', out);
                putc(*text == '\n' ? 'n' : *text == '\t' ? 't' : *text, out);
        }
        putc('"', out);
}

static void write_value(const struct value *value, FILE *out)
{
        if (value->kind == STRING) {
                quote(value->text, out);
                return;
        }
        fputs(value->text, out);
        if (value->kind < ARRAY)
                return;
        putc(value->kind == ARRAY ? '[' : '{', out);
        for (const struct value *item = value->first; item; item = item->next) {
                if (item->key) {
                        quote(item->key, out);
                        putc(':', out);
                }
                write_value(item, out);
                if (item->next)
                        putc(',', out);
        }
        putc(value->kind == ARRAY ? ']' : '}', out);
}

static char *to_text(const struct value *value)
{
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);

        write_value(value, out);
        fclose(out);
        return text;
}

static void count(const struct value *value, int depth, int totals[KINDS], int *deepest)
{
        totals[value->kind]++;
        if (value->kind >= ARRAY && depth > *deepest)
                *deepest = depth;
        for (const struct value *item = value->first; item; item = item->next)
                count(item, depth + 1, totals, deepest);
}

static void release(struct value *value)
{
        while (value) {
                struct value *next = value->next;

                release(value->first);
                free(value->text);
                free(value->key);
                free(value);
                value = next;
        }
}

int main(void)
{
        static const char *const broken[] = { "{", "[1,]", "{\"a\" 1}" };
        char source[4096], *canonical, *again;
        struct value *document, *reread;
        int totals[KINDS] = { 0 }, depth = 0, rejected = 0;

        source[fread(source, 1, sizeof(source) - 1, stdin)] = '\0';
        document = read_text(source);
        if (!document)
                return 1;
        canonical = to_text(document);
        count(document, 1, totals, &depth);
        reread = read_text(canonical);
        again = to_text(reread);
        printf("%s\nobjects=%d arrays=%d strings=%d numbers=%d literals=%d depth=%d\n", canonical, totals[OBJECT],
               totals[ARRAY], totals[STRING], totals[NUMBER], totals[LITERAL], depth);
        printf("round trip %s\n", strcmp(canonical, again) == 0 ? "ok" : "broken");
        for (int i = 0; i < 3; i++)
                rejected += read_text(broken[i]) == NULL;
        printf("rejected %d of 3\n", rejected);
        release(document);
        release(reread);
        free(canonical);
        free(again);
        return 0;
}
