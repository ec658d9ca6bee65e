#include "attack.h"

int main(void)
{
        char name[200];
        int depth = 0;

        memset(name, 'd', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        while (depth < 3000 && mkdir(name, 0755) == 0 && chdir(name) == 0)
                depth++;
        close(open("bottom", O_CREAT | O_WRONLY, 0644));
        dprintf(1, "DEPTH %s\n", depth > 100 ? "reached" : "small");
        return 0;
}
