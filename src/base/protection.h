/* The list of protections and limits as an enumeration, with names; see protections.def. */
#ifndef BASE_PROTECTION_H
#define BASE_PROTECTION_H

#include <stdint.h>

enum protection {
#define X(id, name, sentence) PROTECTION_##id,
#include "base/protections.def"
#undef X
        PROTECTION_COUNT
};

#define PROTECTION_BIT(id) (UINT64_C(1) << PROTECTION_##id)

const char *protection_name(enum protection id);
const char *protection_sentence(enum protection id);

#endif
