/* Things that cannot be undone are tried in a child: it ends with 0 where all was as expected. */
#ifndef TESTS_UNIT_KERNEL_CHILD_HELPERS_H
#define TESTS_UNIT_KERNEL_CHILD_HELPERS_H

#include "unit.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: names the line that was not as expected. */
#define EXPECT(condition)                                                                          \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        (void)dprintf(2, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, \
                                      errno);                                                      \
                        _exit(1);                                                                  \
                }                                                                                  \
        } while (0)
/* A call fails in exactly this way. */
#define EXPECT_ERRNO(call, code)                                                                   \
        do {                                                                                       \
                errno = 0;                                                                         \
                EXPECT((long)(call) == -1 && errno == (code));                                     \
        } while (0)

static inline void in_child(void (*body)(void))
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                body();
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("the child ended with status 0x%x", status);
}

#endif
