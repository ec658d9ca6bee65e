#include "attack.h"
#include <sys/personality.h>

int main(void)
{
        TRY("personality-exec", personality(READ_IMPLIES_EXEC));
        TRY("personality-norandom", personality(ADDR_NO_RANDOMIZE));
        TRY("personality-pagezero", personality(MMAP_PAGE_ZERO));
        TRY("personality-compat", personality(ADDR_COMPAT_LAYOUT));
        return 0;
}
