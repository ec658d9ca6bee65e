/*
 * The events of a policy file, one at a time, with what no policy may hold refused on the way:
 * aliases, anchors, tags, directives, a second document, deep nesting, bytes that are not text.
 *
 * They come from libyaml, or, for TOML, from the record that the program sandbox-toml wrote of the
 * same text (see policy_toml.c); what walks over them sees no difference.
 *
 * Private to the policy module. The reader stands on one event; reader_next() goes on. A scalar's
 * text lives until then. Errors are SBX_EPOLICY with "name:line:column" in front.
 */
#ifndef POLICY_POLICY_READER_H
#define POLICY_POLICY_READER_H

#include "policy/policy_keys.h"
#include "request/request.h"

#include <yaml.h>

struct reader {
        yaml_parser_t parser;
        yaml_event_t event;
        bool has_event;
        unsigned depth;
        const char *text; /* borrowed from the caller of reader_open() */
        size_t length;
        char *record, *record_end; /* what is left of a record; NULL: libyaml reads */
        bool record_ended;         /* the end of its document was passed */
        char name[256];            /* printable */
        struct error *err;
        struct policy *policy;             /* what the file says, so far */
        struct policy_values *values;      /* the block being read */
        char scope[REQUEST_NAME_MAX + 16]; /* "" or "languages.NAME." */
};

/* Checks the bytes and begins; the reader then stands on the first event of the document's content.
 */
int reader_open(struct reader *reader, const char *text, size_t length, const char *name,
                struct error *err);
/* The same over the record of a TOML text. Its bytes are the caller's, live as long as the reader,
 * and are written to. */
int reader_open_recorded(struct reader *reader, const char *text, size_t length, char *record,
                         size_t record_length, const char *name, struct error *err);
/* policy_toml.c: puts the next event of the record into `event`. */
int reader_next_recorded(struct reader *reader);
/* Checks the bytes of the text: size, byte order mark, NUL, UTF-8. */
int reader_check_bytes(struct reader *reader);
void reader_close(struct reader *reader);
int reader_next(struct reader *reader);
/* Goes past the end of the document and makes sure that nothing follows. */
int reader_finish(struct reader *reader);

/* Fails at a place. */
int reader_fail(struct reader *reader, yaml_mark_t mark, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* Adds place and key to what a setter reported with code `r`. */
int reader_wrap(struct reader *reader, yaml_mark_t mark, const char *key, int r);

static inline yaml_mark_t reader_mark(const struct reader *reader)
{
        return reader->event.start_mark;
}
static inline struct policy_place reader_place(yaml_mark_t mark)
{
        return (struct policy_place){ (unsigned)mark.line + 1, (unsigned)mark.column + 1 };
}
static inline bool reader_is(const struct reader *reader, yaml_event_type_t type)
{
        return reader->event.type == type;
}
/* The text of a scalar. */
static inline const char *reader_text(const struct reader *reader)
{
        return (const char *)reader->event.data.scalar.value;
}
/* A plain scalar that means "no value". */
bool reader_is_null(const struct reader *reader);
/* Fails unless the event is of this type; `wanted` is how a person calls it. */
int reader_expect(struct reader *reader, yaml_event_type_t type, const char *key,
                  const char *wanted);
/* Expects a scalar that is not null. */
int reader_expect_scalar(struct reader *reader, const char *key, const char *wanted);
/* Copies a key of at most POLICY_KEY_MAX bytes and steps on to its value. */
int reader_key(struct reader *reader, char key[POLICY_KEY_MAX + 1], yaml_mark_t *ret_mark);

/* policy_yaml.c */
int read_scalar(struct reader *reader, const struct policy_key *key);
/* policy_lists.c */
int read_fail_twice(struct reader *reader, yaml_mark_t mark, const char *prefix, const char *word);
int read_backends(struct reader *reader, const struct policy_key *key);
int read_modules(struct reader *reader, const struct policy_key *key);
int read_allow(struct reader *reader, const struct policy_key *key);
int read_deny(struct reader *reader, const struct policy_key *key);
int read_env(struct reader *reader, const struct policy_key *key);
int read_mounts(struct reader *reader, const struct policy_key *key);
int read_folders(struct reader *reader, const struct policy_key *key);
int read_rules(struct reader *reader, const struct policy_key *key);

#endif
