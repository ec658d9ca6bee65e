/* Where the tools of languages were found a moment ago. Thread-safe. */
#ifndef ENGINE_TOOLS_H
#define ENGINE_TOOLS_H

#include "base/error.h"
#include "languages/languages.h"

struct tools;

struct tools *tools_new(void); /* NULL: no memory */
void tools_free(struct tools *tools);
/* As language_find(), which is asked where `tools` is NULL or has not just found it. */
int tools_find(struct tools *tools, const struct language *language, const char *cache_dir,
               struct language_tool *ret_tool, struct error *err);

#endif
