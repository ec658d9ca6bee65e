#include "base/protection.h"

#include <assert.h>

static const struct {
        const char *name;
        const char *sentence;
} protections[PROTECTION_COUNT] = {
#define X(id, name, sentence) { name, sentence },
#include "base/protections.def"
#undef X
};

const char *protection_name(enum protection id)
{
        assert(id < PROTECTION_COUNT);
        return protections[id].name;
}

const char *protection_sentence(enum protection id)
{
        assert(id < PROTECTION_COUNT);
        return protections[id].sentence;
}
