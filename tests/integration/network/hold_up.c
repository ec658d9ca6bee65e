/*
 * Tries to make the one who makes a guest's connections wait, on sockets that the guest has in its
 * hands; then asks for a connection that is allowed, and prints "served" when it is there.
 *
 *   close     it is the last to hold a socket that lingers
 *   connect   what it connects waits after all
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct sockaddr_in place(const char *text, unsigned port)
{
        struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

        inet_pton(AF_INET, text, &name.sin_addr);
        return name;
}

static int listening(int backlog, struct sockaddr_in *ret_name)
{
        socklen_t length = sizeof(*ret_name);
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        *ret_name = place("127.0.0.1", 0);
        if (bind(fd, (void *)ret_name, length) < 0 || listen(fd, backlog) < 0 ||
            getsockname(fd, (void *)ret_name, &length) < 0)
                perror("listen");
        return fd;
}

/* ---- close ---- */

static void *connect_slowly(void *fd)
{
        struct sockaddr_in silent = place("203.0.113.99", 80);

        connect(*(int *)fd, (void *)&silent, sizeof(silent));
        return NULL;
}

static void linger(void)
{
        static char bytes[65536];
        struct linger long_time = { 1, 3600 };
        struct timeval soon = { 0, 300000 };
        struct sockaddr_in name;
        int server = listening(1, &name), fd = socket(AF_INET, SOCK_STREAM, 0), peer;
        pthread_t thread;

        if (connect(fd, (void *)&name, sizeof(name)) < 0)
                perror("connect");
        peer = accept(server, NULL, NULL);
        while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
                ; /* until nobody takes it any more */
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &long_time, sizeof(long_time));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
        pthread_create(&thread, NULL, connect_slowly, &fd);
        usleep(100000); /* the call waits by now, or the attempt is in vain */
        close(fd);
        pthread_join(thread, NULL);
        (void)peer;
}

/* ---- connect ---- */

static int contested;
static atomic_bool stop;

static void *change(void *unused)
{
        while (!stop) {
                fcntl(contested, F_SETFL, O_NONBLOCK);
                fcntl(contested, F_SETFL, 0);
        }
        return unused;
}

static void interrupted(int number)
{
        (void)number;
}

static void wait_after_all(void)
{
        struct itimerval every = { { 0, 20000 }, { 0, 20000 } }, never = { 0 };
        struct sigaction action = { .sa_handler = interrupted };
        struct sockaddr_in name;
        pthread_t thread;

        listening(0, &name);
        for (int i = 0; i < 4; i++) { /* what comes after these is not taken */
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

                connect(fd, (void *)&name, sizeof(name));
        }
        sigaction(SIGALRM, &action, NULL);
        for (int i = 0; i < 60; i++) {
                contested = socket(AF_INET, SOCK_STREAM, 0);
                stop = false;
                pthread_create(&thread, NULL, change, NULL);
                setitimer(ITIMER_REAL, &every, NULL);
                connect(contested, (void *)&name, sizeof(name));
                setitimer(ITIMER_REAL, &never, NULL);
                stop = true;
                pthread_join(thread, NULL);
                close(contested);
        }
}

int main(int argc, char **argv)
{
        struct sockaddr_in good = place("203.0.113.10", 7);
        int fd;

        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "close") == 0)
                linger();
        else
                wait_after_all();
        fd = socket(AF_INET, SOCK_STREAM, 0);
        puts(connect(fd, (void *)&good, sizeof(good)) == 0 ? "served" : strerror(errno));
        return 0;
}
