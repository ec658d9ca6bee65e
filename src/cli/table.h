/* Aligned columns from a JSON array of objects. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/str.h"

#include <jansson.h>

/* One line per object, headed by the columns' names in capitals. Absent values are "-". */
void table_format(const json_t *rows, const char *const *columns, size_t column_count,
                  struct strbuf *out);

#endif
