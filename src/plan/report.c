#include "plan/report.h"

const char *stage_sentence(enum stage stage)
{
        static const char *const sentences[STAGE_COUNT] = {
#define X(id, sentence) sentence,
#include "plan/stages.def"
#undef X
        };

        return stage < STAGE_COUNT ? sentences[stage] : "do an unknown step";
}
