#include "attack.h"

int main(void)
{
        int made = 0;

        while (made < 100000) {
                pid_t pid = fork();

                if (pid < 0)
                        break;
                if (pid == 0)
                        _exit(0);
                made++;
        }
        dprintf(1, "%s zombies after fork\n", made < 64 ? "REFUSED" : "ESCAPED");
        return 1;
}
