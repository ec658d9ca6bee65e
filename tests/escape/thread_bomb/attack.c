#include "attack.h"
#include <pthread.h>

static void *wait_forever(void *unused)
{
        for (;;)
                pause();
}

int main(void)
{
        pthread_attr_t attributes;
        pthread_t thread;
        int made = 0, error;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536);
        while (made < 5000 && (error = pthread_create(&thread, &attributes, wait_forever, NULL)) == 0)
                made++;
        dprintf(1, "%s threads %s\n", made < 64 ? "REFUSED" : "ESCAPED", strerrorname_np(error));
        return 1;
}
