/* Landlock, seccomp, capabilities, namespaces and mounts, each applied for real in a child. */
#include "child_helpers.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/namespace.h"
#include "kernel/seccomp.h"
#include "kernel/sys.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static void needs_root(void)
{
        if (geteuid() != 0)
                skip();
}

static void apply_landlock(void)
{
        int abi = landlock_abi();
        int rules = landlock_new(abi, abi >= 6, abi >= 4);

        EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        EXPECT(rules >= 0);
        EXPECT(landlock_allow(rules, abi, "/proc", LANDLOCK_READ) == 0);
        EXPECT(landlock_allow(rules, abi, "/dev/null", LANDLOCK_DEVICE) == 0);
        EXPECT(landlock_allow(rules, abi, "/nonexistent/path", LANDLOCK_WRITE) == 0);
        EXPECT(landlock_apply(rules) == 0);
        EXPECT(close(rules) == 0);
}

static void landlock_child(void)
{
        apply_landlock();
        EXPECT(open("/proc/self/stat", O_RDONLY) >= 0);
        EXPECT(open("/dev/null", O_RDWR) >= 0);
        EXPECT_ERRNO(open("/etc/passwd", O_RDONLY), EACCES);
        EXPECT_ERRNO(open("/", O_RDONLY | O_DIRECTORY), EACCES);
        EXPECT_ERRNO(open("/proc/self/comm", O_WRONLY), EACCES);
        EXPECT_ERRNO(open("/tmp/landlock-test", O_WRONLY | O_CREAT, 0600), EACCES);
        EXPECT_ERRNO(mkdir("/tmp/landlock-test", 0700), EACCES);
}

static void landlock_refuses_what_no_rule_allows(void **state)
{
        if (landlock_abi() == 0)
                skip();
        in_child(landlock_child);
}

static void landlock_link_child(void)
{
        char folder[] = "/tmp/landlock-link.XXXXXX", link[64];
        int abi = landlock_abi();
        int rules = landlock_new(abi, false, false);

        EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        EXPECT(mkdtemp(folder));
        (void)snprintf(link, sizeof(link), "%s/link", folder);
        EXPECT(symlink("/etc", link) == 0);
        EXPECT(landlock_allow_handed_in(rules, abi, link, LANDLOCK_READ) == 0);
        EXPECT(landlock_allow_handed_in(rules, abi, "/proc", LANDLOCK_READ) == 0);
        EXPECT(landlock_allow_handed_in(rules, abi, "/nonexistent/path", LANDLOCK_READ) == 0);
        EXPECT(unlink(link) == 0 && rmdir(folder) == 0);
        EXPECT(landlock_apply(rules) == 0);
        EXPECT(open("/proc/self/stat", O_RDONLY) >= 0);
        EXPECT_ERRNO(open("/etc/passwd", O_RDONLY), EACCES);
}

static void landlock_allows_nothing_behind_a_link_that_was_handed_in(void **state)
{
        if (landlock_abi() == 0)
                skip();
        in_child(landlock_link_child);
}

static void apply_seccomp(void)
{
        EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        EXPECT(!seccomp_is_active());
        EXPECT(seccomp_apply(false, true, true, NULL) == 0);
        EXPECT(seccomp_is_active());
}

static void seccomp_child(void)
{
        apply_seccomp();
        EXPECT(getpid() > 0);
        EXPECT_ERRNO(syscall(SYS_keyctl, 0, 0, 0, 0, 0), EPERM);
        EXPECT_ERRNO(syscall(SYS_ptrace, 0, 0, 0, 0), EPERM);
        EXPECT_ERRNO(syscall(SYS_mount, "a", "/", "tmpfs", 0, NULL), EPERM);
        EXPECT_ERRNO(syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
        EXPECT_ERRNO(syscall(SYS_bpf, 0, NULL, 0), EPERM);
        EXPECT_ERRNO(syscall(SYS_clone3, NULL, 0), ENOSYS);
        EXPECT_ERRNO(syscall(1000000, 0), ENOSYS);
}

static void seccomp_refuses_dangerous_and_unknown_calls(void **state)
{
        if (!seccomp_is_supported())
                skip();
        assert_true(seccomp_length() > 10);
        in_child(seccomp_child);
}

static void clone_child(void)
{
        static const unsigned long flags[] = { CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,
                                               CLONE_NEWNET,  CLONE_NEWIPC, CLONE_NEWUTS,
                                               0x02000000 };
        pid_t pid;

        apply_seccomp();
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
                EXPECT_ERRNO(syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0), EPERM);
        EXPECT_ERRNO(syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0, 0, 0, 0), EPERM);
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
                _exit(0);
        EXPECT(pid > 0 && waitpid(pid, NULL, 0) == pid);
}

static void seccomp_allows_processes_and_no_namespaces(void **state)
{
        in_child(clone_child);
}

static void socket_child(void)
{
        apply_seccomp();
        EXPECT_ERRNO(socket(AF_NETLINK, SOCK_RAW, 0), EAFNOSUPPORT);
        EXPECT_ERRNO(socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
        EXPECT_ERRNO(socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
        EXPECT_ERRNO(socket(40 /* AF_VSOCK */, SOCK_STREAM, 0), EAFNOSUPPORT);
        EXPECT_ERRNO(socket(AF_INET, SOCK_RAW, 1), EPERM);
        EXPECT(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1) < 0);
        EXPECT(syscall(SYS_socket, (1ul << 32) | AF_NETLINK, SOCK_RAW, 0) < 0);
        EXPECT(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
        EXPECT(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
        EXPECT(socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0) >= 0 || errno == EAFNOSUPPORT);
}

static void seccomp_knows_three_families_of_sockets(void **state)
{
        in_child(socket_child);
}

static void ioctl_child(void)
{
        static const unsigned long requests[] = { 0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */,
                                                  0x5423 /* TIOCSETD */ };
        char byte = 'x';

        apply_seccomp();
        for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
                EXPECT_ERRNO(syscall(SYS_ioctl, 0, requests[i], &byte), EPERM);
                EXPECT_ERRNO(syscall(SYS_ioctl, 0, requests[i] | 1ul << 32, &byte), EPERM);
                EXPECT_ERRNO(syscall(SYS_ioctl, 0, requests[i] | 0xfffffffful << 32, &byte), EPERM);
        }
        EXPECT(syscall(SYS_ioctl, 0, 0x5401ul | 1ul << 32, &byte) == -1 && errno != ENOTTY);
}

static void seccomp_refuses_typing_into_a_terminal_in_every_spelling(void **state)
{
        in_child(ioctl_child);
}

static void mode_child(void)
{
        apply_seccomp();
        EXPECT_ERRNO(syscall(SYS_fchmod, 1, 04755), EPERM);
        EXPECT_ERRNO(syscall(SYS_fchmod, 1, 02755), EPERM);
        EXPECT_ERRNO(syscall(SYS_fchmodat, AT_FDCWD, "/nonexistent", 04755), EPERM);
        EXPECT_ERRNO(syscall(SYS_fchmodat, AT_FDCWD, "/nonexistent", 0755), ENOENT);
        EXPECT_ERRNO(syscall(SYS_openat, AT_FDCWD, "/nonexistent/a", O_CREAT | O_WRONLY, 04755),
                     EPERM);
        EXPECT_ERRNO(syscall(SYS_openat, AT_FDCWD, "/nonexistent/a", O_CREAT | O_WRONLY, 0755),
                     ENOENT);
        /* Without O_CREAT the argument may hold anything. */
        EXPECT_ERRNO(syscall(SYS_openat, AT_FDCWD, "/nonexistent/a", O_RDONLY, 07777), ENOENT);
}

static void seccomp_lets_nobody_leave_a_set_user_id_file(void **state)
{
        in_child(mode_child);
}

static void open_child(void)
{
        apply_seccomp();
        EXPECT_ERRNO(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), EPERM);
        EXPECT(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
        EXPECT_ERRNO(
                syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL, NULL, NULL, NULL),
                EPERM);
}

static void a_measured_program_stays_open_to_view(void **state)
{
        in_child(open_child);
}

static void affinity_child(void)
{
        cpu_set_t set;

        EXPECT(sched_getaffinity(0, sizeof(set), &set) == 0);
        EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        EXPECT(seccomp_apply(true, true, true, NULL) == 0);
        EXPECT(sched_getaffinity(0, sizeof(set), &set) == 0);
        EXPECT_ERRNO(sched_setaffinity(0, sizeof(set), &set), EPERM);
}

static void a_pinned_program_stays_pinned(void **state)
{
        in_child(affinity_child);
}

static void caps_child(void)
{
        EXPECT(!caps_are_empty(true));
        EXPECT(caps_drop_all(false) == 0);
        EXPECT(caps_are_empty(true));
        EXPECT_ERRNO(mount("tmpfs", "/mnt", "tmpfs", 0, NULL), EPERM);
        EXPECT(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0);
        EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 5, 0, 0) < 0);
        for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
                EXPECT(prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 0);
}

static void dropped_capabilities_are_gone_for_good(void **state)
{
        needs_root();
        in_child(caps_child);
}

static void become_child(void)
{
        EXPECT(caps_become(0x70000001, 0x70000001) == 0);
        EXPECT(getuid() == 0x70000001 && geteuid() == 0x70000001 && getegid() == 0x70000001);
        EXPECT(getgroups(0, NULL) == 0);
        EXPECT(!caps_are_empty(false)); /* kept, for what is still to be set up */
        EXPECT(caps_keep_only(5 /* CAP_KILL */) == 0);
        EXPECT_ERRNO(setuid(0), EPERM);
        EXPECT(caps_drop_all(true) == 0);
        EXPECT(caps_are_empty(false));
        EXPECT(kill(1, 0) < 0);
}

static void another_identity_keeps_only_what_it_is_told_to(void **state)
{
        needs_root();
        in_child(become_child);
}

static void namespace_child(void)
{
        uint64_t before[NAMESPACE_COUNT], after[NAMESPACE_COUNT];
        int proc = open("/proc", O_PATH | O_DIRECTORY);

        namespace_inodes(proc, before);
        for (int i = 0; i < NAMESPACE_COUNT; i++)
                EXPECT(before[i] != 0);
        EXPECT(namespace_changed(before, before) == 0);
        EXPECT(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) == 0);
        namespace_inodes(proc, after);
        EXPECT(namespace_changed(before, after) ==
               (PROTECTION_BIT(UTS_NAMESPACE) | PROTECTION_BIT(IPC_NAMESPACE) |
                PROTECTION_BIT(NETWORK)));
        EXPECT(namespace_loopback_up() == 0);
        /* What cannot be read counts as not changed. */
        after[NAMESPACE_UTS] = 0;
        before[NAMESPACE_IPC] = 0;
        EXPECT(namespace_changed(before, after) == PROTECTION_BIT(NETWORK));
        namespace_inodes(-1, after);
        EXPECT(namespace_changed(before, after) == 0);
}

static void changed_namespaces_are_told_from_unchanged_ones(void **state)
{
        needs_root();
        in_child(namespace_child);
}

static void user_child(void)
{
        int proc = open("/proc", O_PATH | O_DIRECTORY);
        uid_t uid = geteuid();
        gid_t gid = getegid();

        EXPECT(unshare(CLONE_NEWUSER) == 0);
        EXPECT(namespace_map_self(proc, 1000, uid, 1000, gid) >= 0);
        EXPECT(getuid() == 1000 && getgid() == 1000);
        EXPECT(namespace_map_self(proc, 0, uid, 0, gid) < 0); /* once and for all */
}

static void a_user_namespace_is_mapped_once(void **state)
{
        in_child(user_child);
}

static bool has_flags(const char *path, unsigned long flags)
{
        struct statvfs st;

        return statvfs(path, &st) == 0 && (st.f_flag & flags) == flags;
}

static void mount_child(void)
{
        int tree, usr;

        EXPECT(unshare(CLONE_NEWNS) == 0);
        EXPECT(mount_make_private() == 0);
        EXPECT_ERRNO(mount_clone("/proc/self/exe", MOUNT_READ_ONLY), ELOOP);
        EXPECT_ERRNO(mount_clone("/nonexistent", MOUNT_READ_ONLY), ENOENT);
        usr = mount_clone("/usr", MOUNT_READ_ONLY);
        EXPECT(usr >= 0);
        tree = mount_clone("/dev/null", MOUNT_WRITABLE);
        EXPECT(tree >= 0);
        EXPECT(mount_tmpfs("/mnt", 1 << 20, 16, 0755) == 0);
        EXPECT(chdir("/mnt") == 0);
        EXPECT(mount_make_directory("/a/b/usr", 0755) == 0);
        EXPECT(mount_make_directory("/a/b/usr", 0755) == 0); /* there already */
        EXPECT(mount_attach(usr, "/a/b/usr") == 0);
        EXPECT(has_flags("a/b/usr", ST_RDONLY | ST_NOSUID | ST_NODEV));
        EXPECT_ERRNO(open("a/b/usr/new", O_WRONLY | O_CREAT, 0600), EROFS);
        EXPECT(mount_make_file("/dev/null") == 0);
        EXPECT(mount_attach(tree, "/dev/null") == 0);
        EXPECT_ERRNO(open("dev/null", O_WRONLY), EACCES); /* nodev: no device opens through it */
        EXPECT(mount_pivot() == 0);
        EXPECT(has_flags("/", ST_RDONLY | ST_NOSUID | ST_NODEV));
        EXPECT_ERRNO(open("/etc/passwd", O_RDONLY), ENOENT);
        EXPECT_ERRNO(open("/../../etc/passwd", O_RDONLY), ENOENT);
        EXPECT_ERRNO(mkdir("/new", 0755), EROFS);
}

static void a_root_is_built_and_the_old_one_is_gone(void **state)
{
        needs_root();
        in_child(mount_child);
}

static void tmpfs_child(void)
{
        EXPECT(unshare(CLONE_NEWNS) == 0);
        EXPECT(mount_make_private() == 0);
        EXPECT(mount_tmpfs("/mnt", 64 << 10, 4, 0700) == 0);
        EXPECT(chdir("/mnt") == 0);
        EXPECT(has_flags(".", ST_NOSUID | ST_NODEV));
        for (int i = 0; i < 3; i++)
                EXPECT(mkdir((char[]){ (char)('a' + i), 0 }, 0700) == 0);
        EXPECT_ERRNO(mkdir("d", 0700), ENOSPC);
}

static void a_tmpfs_holds_as_much_as_it_was_told(void **state)
{
        needs_root();
        in_child(tmpfs_child);
}

static void paths_that_are_too_long_are_refused(void **state)
{
        static char longest[8192];

        memset(longest, 'x', sizeof(longest) - 1);
        longest[0] = '/';
        errno = 0;
        assert_int_equal(mount_make_directory(longest, 0755), -1);
        assert_int_equal(errno, ENAMETOOLONG);
        longest[8000] = '/';
        errno = 0;
        assert_int_equal(mount_make_file(longest), -1);
        assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(landlock_refuses_what_no_rule_allows),
                cmocka_unit_test(landlock_allows_nothing_behind_a_link_that_was_handed_in),
                cmocka_unit_test(seccomp_refuses_dangerous_and_unknown_calls),
                cmocka_unit_test(seccomp_allows_processes_and_no_namespaces),
                cmocka_unit_test(seccomp_knows_three_families_of_sockets),
                cmocka_unit_test(seccomp_refuses_typing_into_a_terminal_in_every_spelling),
                cmocka_unit_test(seccomp_lets_nobody_leave_a_set_user_id_file),
                cmocka_unit_test(a_measured_program_stays_open_to_view),
                cmocka_unit_test(a_pinned_program_stays_pinned),
                cmocka_unit_test(dropped_capabilities_are_gone_for_good),
                cmocka_unit_test(another_identity_keeps_only_what_it_is_told_to),
                cmocka_unit_test(changed_namespaces_are_told_from_unchanged_ones),
                cmocka_unit_test(a_user_namespace_is_mapped_once),
                cmocka_unit_test(a_root_is_built_and_the_old_one_is_gone),
                cmocka_unit_test(a_tmpfs_holds_as_much_as_it_was_told),
                cmocka_unit_test(paths_that_are_too_long_are_refused),
        };

        return RUN(tests);
}
