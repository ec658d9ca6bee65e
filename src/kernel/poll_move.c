/*
 * Theory of operation. The sets are found by /proc: each open descriptor that is one, and in its
 * fdinfo a line per member. A copy of the set's descriptor can be changed by us; but members are
 * known by the number that they have in the table of whoever adds them. The number is the guest's,
 * and in our own table it is somebody else's. So a child that shares our memory but has a table of
 * its own puts the files under that number there, changes the set, and ends. We wait for it. It
 * makes system calls only; all signals are blocked in it, so that no handler of the caller's runs.
 */
#include "kernel/poll_move.h"
#include "kernel/notify.h"
#include "base/fd.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 16 << 10, MEMBERS_TEXT_MAX = 64 << 10, DESCRIPTORS_MAX = 4096, SETS_MAX = 16 };

struct move {
        int set, old, new, number;
        struct epoll_event event;
        char stack[STACK] __attribute__((aligned(16)));
};

__attribute__((no_sanitize_address)) static int child_main(void *argument)
{
        struct move *move = argument;
        /* Out of the way of the number itself. */
        int set = fcntl(move->set, F_DUPFD, move->number + 1);
        int old = fcntl(move->old, F_DUPFD, move->number + 1);
        int new = fcntl(move->new, F_DUPFD, move->number + 1);

        /* Only a set that had the guest's socket in it is the guest's. */
        if (set >= 0 && old >= 0 && new >= 0 && dup2(old, move->number) >= 0 &&
            epoll_ctl(set, EPOLL_CTL_DEL, move->number, NULL) == 0 && dup2(new, move->number) >= 0)
                (void)epoll_ctl(set, EPOLL_CTL_ADD, move->number, &move->event);
        _exit(0);
}

static void make_move(struct move *move)
{
        sigset_t all, before;
        pid_t pid;

        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = clone(child_main, move->stack + sizeof(move->stack), CLONE_VM | CLONE_VFORK, move);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
                ;
}

/* Finds the member in the text of a set: "tfd: 7 events: 19 data: 7 pos:0 ino:1a2b sdev:8". */
static bool find_member(const char *text, int number, ino_t inode, struct epoll_event *ret_event)
{
        for (const char *line = text; (line = strstr(line, "tfd:")); line += 4) {
                int tfd;
                uint32_t events;
                uint64_t data;
                unsigned long long ino;

                if (sscanf(line, "tfd: %d events: %" SCNx32 " data: %" SCNx64 " pos:%*d ino:%llx",
                           &tfd, &events, &data, &ino) == 4 &&
                    tfd == number && ino == inode) {
                        ret_event->events = events;
                        ret_event->data.u64 = data;
                        return true;
                }
        }
        return false;
}

static bool is_poll_set(int directory, const char *name)
{
        char link[32];
        ssize_t n = readlinkat(directory, name, link, sizeof(link) - 1);

        link[n > 0 ? n : 0] = '\0';
        return strcmp(link, "anon_inode:[eventpoll]") == 0;
}

static void move_in(pid_t thread, pid_t process, int set_number, struct move *move, ino_t inode)
{
        static const size_t size = MEMBERS_TEXT_MAX;
        AUTO_FREE char *text = mem_alloc(size);
        char path[64];

        (void)snprintf(path, sizeof(path), "%d/fdinfo/%d", (int)thread, set_number);
        if (!text || fd_read_file_at(AT_FDCWD, path, text, size) <= 0 ||
            !find_member(text, move->number, inode, &move->event))
                return;
        move->set = guest_descriptor(process, set_number);
        if (move->set >= 0)
                make_move(move);
        fd_close(move->set);
}

void poll_move(pid_t thread, pid_t process, int number, int old, int new)
{
        AUTO_FREE struct move *move = NULL;
        char path[48];
        struct stat st;
        DIR *directory;
        int left = DESCRIPTORS_MAX, sets = SETS_MAX;

        (void)snprintf(path, sizeof(path), "%d/fd", (int)thread);
        directory = opendir(path);
        if (!directory || fstat(old, &st) < 0)
                goto out;
        for (const struct dirent *entry; left-- > 0 && sets > 0 && (entry = readdir(directory));) {
                if (!is_poll_set(dirfd(directory), entry->d_name))
                        continue;
                sets--;
                if (!move)
                        move = mem_alloc(sizeof(*move));
                if (!move)
                        break;
                move->old = old;
                move->new = new;
                move->number = number;
                move_in(thread, process, atoi(entry->d_name), move, st.st_ino);
        }
out:
        if (directory)
                (void)closedir(directory);
}
