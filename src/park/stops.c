/*
 * Where the interpreter is stopped. Three paths mean something to the library: the program's, at
 * which an interpreter stops that needs nothing else; PARK_PATH, at which a launcher stops it, and
 * from which it reads what the run is; and LAUNCHER_PATH, which holds the launcher's text for
 * interpreters that take it as a file. Whichever of the first two is opened first is the stop. An
 * interpreter that is itself the guest stops at PARK_PATH alone; opening COLD_PATH has its program
 * executed in the ordinary way.
 *
 * An interpreter that has to know that it was copied forks by itself, and is stopped there.
 */
#include "park/park.h"
#include "base/fd.h"
#include "base/mem.h"
#include "plan/report.h"

#include <string.h>
#include <unistd.h>

#define PARK_PATH     "/sandbox/park"
#define COLD_PATH     "/sandbox/cold"
#define LAUNCHER_PATH "/sandbox/launcher"

extern char **environ;

static struct {
        char *program, *launcher, *forks, *poses; /* as the language file has it; or NULL */
        bool is_once;                             /* this process is itself the guest */
        bool is_told;                             /* the guest has all that it is told by us */
} stops;

static int open_launcher(void)
{
        int fd = fd_memfile("launcher", stops.launcher, strlen(stops.launcher));

        if (fd >= 0)
                (void)lseek(fd, 0, SEEK_SET);
        return fd;
}

bool stops_open(const char *path, int *ret_fd)
{
        if (!path || !stops.program)
                return false;
        if (stops.is_told) {
                if (stops.is_once && strcmp(path, COLD_PATH) == 0)
                        park_execute();
                return false;
        }
        if (park_is_due() && !stops.is_once && strcmp(path, stops.program) == 0) {
                park_serve();
                return false; /* it is there now */
        }
        if (!stops.launcher)
                return false;
        if (strcmp(path, LAUNCHER_PATH) == 0) {
                *ret_fd = open_launcher();
                return true;
        }
        if (strcmp(path, PARK_PATH) != 0)
                return false;
        if (park_is_due() && stops.is_once)
                park_wait();
        else if (park_is_due())
                park_serve();
        stops.is_told = true;
        *ret_fd = park_describe();
        return true;
}

bool stops_fork(void)
{
        if (!stops.forks || !park_is_due())
                return false;
        park_serve();
        return true;
}

bool stops_poses(void)
{
        return stops.poses && park_is_due();
}

bool stops_is_as_posed(void)
{
        return !stops.poses || getpid() == POSED_PID;
}

/* Takes a variable out of the environment, also out of sight of /proc. By hand, because some
 * interpreters have a getenv() of their own, which does not work yet. */
static char *take_variable(const char *name)
{
        size_t length = strlen(name);
        char **place = environ, *copy;

        while (*place && (strncmp(*place, name, length) != 0 || (*place)[length] != '='))
                place++;
        if (!*place)
                return NULL;
        copy = mem_strdup(*place + length + 1);
        if (!copy)
                _exit(1);
        memset(*place, 0, strlen(*place));
        for (; *place; place++)
                place[0] = place[1];
        return copy;
}

__attribute__((constructor)) static void begin(void)
{
        char *once, *large;

        stops.program = take_variable(PARK_PROGRAM);
        if (!stops.program)
                return;
        stops.launcher = take_variable(PARK_LAUNCHER);
        stops.forks = take_variable(PARK_FORKS);
        stops.poses = take_variable(PARK_POSES);
        once = take_variable(PARK_ONCE);
        stops.is_once = once != NULL;
        mem_free(once);
        if (stops.is_once)
                (void)close(PARK_LIBRARY); /* it is loaded */
        large = take_variable(PARK_LARGE);
        if (large)
                pages_begin();
        mem_free(large);
        mem_free(take_variable("LD_PRELOAD"));
        mem_free(take_variable("LD_BIND_NOW"));
        park_begin(PARK_SOCKET);
}
