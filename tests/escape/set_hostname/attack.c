#include "attack.h"

int main(void)
{
        TRY("sethostname", sethostname("owned", 5));
        TRY("setdomainname", setdomainname("owned", 5));
        return 0;
}
