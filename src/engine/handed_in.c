/*
 * What a caller hands in: a workspace, a volume. Data is; the machine itself is not, be it under
 * its usual name, mounted elsewhere, or mounted somewhere within.
 */
#include "engine/handed_in.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "kernel/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOUNTS_MAX = 4 << 20 };

/* File systems that are the kernel's controls, or its devices. */
static const char *const machine_types[] = {
        "binfmt_misc", "bpf",        "cgroup",    "cgroup2",  "configfs",
        "debugfs",     "devpts",     "devtmpfs",  "efivarfs", "fusectl",
        "proc",        "securityfs", "selinuxfs", "sysfs",    "tracefs",
};

static bool is_machine_type(const char *type, size_t length)
{
        for (size_t i = 0; i < ARRAY_SIZE(machine_types); i++)
                if (strlen(machine_types[i]) == length &&
                    memcmp(machine_types[i], type, length) == 0)
                        return true;
        return false;
}

/* The kernel writes blanks and backslashes in a path as three octal digits; in place. */
static void unescape(char *path)
{
        char *to = path;

        for (const char *from = path; *from; to++) {
                if (from[0] == '\\' && from[1] && from[2] && from[3]) {
                        *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

/* Of "ID PARENT DEVICE ROOT PLACE OPTIONS... - TYPE SOURCE OPTIONS": the place, if it is of a type
 * that is the machine's. The line is written in. */
static const char *machine_place(char *line)
{
        char *dash = strstr(line, " - "), *place = line;

        if (!dash || !is_machine_type(dash + 3, strcspn(dash + 3, " ")))
                return NULL;
        for (int i = 0; i < 4 && place; i++) {
                place = strchr(place, ' ');
                place = place ? place + 1 : NULL;
        }
        if (!place)
                return NULL;
        place[strcspn(place, " ")] = '\0';
        unescape(place);
        return place;
}

/* Whether the folder lies on such a file system, or has one mounted in it, which would come along.
 */
static int refuse_machine(const char *what, const char *shown, const char *real, struct error *err)
{
        AUTO_CLOSE int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        AUTO_FREE char *text = NULL;
        size_t length;
        int r = fd < 0 ? error_set_errno(err, "list the mounts of this machine")
                       : fd_read_all(fd, MOUNTS_MAX, "list of mounts", &text, &length, err);

        for (char *line = text, *next; r == 0 && line && *line; line = next) {
                const char *place;

                next = line + strcspn(line, "\n");
                if (*next)
                        *next++ = '\0';
                place = machine_place(line);
                if (place && (path_is_within(real, place) || path_is_within(place, real))) {
                        r = error_set(err, SBX_EINVAL,
                                      "%s '%s': this part of the machine cannot be handed in", what,
                                      shown);
                        error_hint(err, "%s is the kernel's, and no data", place);
                }
        }
        return r;
}

int handed_in_failed(const char *what, const char *given, bool directory, struct error *err)
{
        char shown[256];

        error_set_errno(err, "%s '%s'", what, str_printable(given, shown, sizeof(shown)));
        error_hint(err, "name %s that this user can reach",
                   directory ? "a directory" : "a directory or a file");
        return err ? (err->code = SBX_EINVAL) : SBX_EINVAL;
}

int handed_in_check(const char *what, const char *given, const char *place, bool directory,
                    struct error *err)
{
        AUTO_CLOSE int fd = sys_openat2(AT_FDCWD, place, O_PATH, SYS_RESOLVE_NO_SYMLINKS);
        char shown[256];
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return handed_in_failed(what, given, directory, err);
        str_printable(given, shown, sizeof(shown));
        if (str_equal(place, "/") || path_is_within(place, "/dev")) {
                r = error_set(err, SBX_EINVAL,
                              "%s '%s': this part of the machine cannot be handed in", what, shown);
                error_hint(err, "hand in a directory of data, such as one below /home or /tmp");
                return r;
        }
        r = refuse_machine(what, shown, place, err);
        if (r < 0)
                return r;
        if (!S_ISDIR(st.st_mode) && (directory || !S_ISREG(st.st_mode))) {
                r = error_set(err, SBX_EINVAL, "%s '%s' is not a directory%s", what, shown,
                              directory ? "" : " or a regular file");
                error_hint(err, "%s",
                           directory ? "a single file is handed in with --input-file"
                                     : "data that comes in a stream goes to --stdin");
                return r;
        }
        return 0;
}
