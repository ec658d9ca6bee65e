/* What the forms of a policy share: YAML, JSON and the explanation. Private to the policy module.
 */
#ifndef POLICY_POLICY_SHOW_H
#define POLICY_POLICY_SHOW_H

#include "base/str.h"
#include "policy/policy_keys.h"

#include <jansson.h>

/* The length of the UTF-8 sequence at `text`, or 0 where there is none. */
size_t policy_sequence_length(const char *text);
/* Whether the key has a value to show: what is not kept has none, but for the version. */
bool policy_key_is_shown(const struct policy_values *values, const struct policy_key *key);
/* A number with the largest unit that says it exactly. */
void policy_yaml_number(struct strbuf *out, enum policy_kind kind, uint64_t number);
/* A scalar, path or list of backends as it stands in YAML, after a space. */
void policy_yaml_value(struct strbuf *out, const struct policy_values *values,
                       const struct policy_key *key);
/* The value as JSON; NULL when out of memory. */
json_t *policy_json_value(const struct policy_values *values, const struct policy_key *key);
/* Adds the indented text, or fails the buffer. */
void policy_dump_json(struct strbuf *out, const json_t *value);
void policy_show_json(struct strbuf *out, const struct policy_values *values);

#endif
