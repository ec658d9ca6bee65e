"""What a program hides from the eye of the monitor counts all the same, and what it merely shares counts once.

Disks of the host and, without a control group, memory are measured from outside: by names, descriptors and
mappings. A program that hides has to hold on to what it hid; these wait for their end then.
"""

import copy
import shutil

import pytest

HEAD = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 2 << 20, COUNT = 20 };

static int removed_file(int i)
{
        char name[32];
        int fd;

        snprintf(name, sizeof(name), "/workspace/t%d", i);
        fd = open(name, O_RDWR | O_CREAT, 0600);
        unlink(name);
        return fd;
}

static void fill(int fd, size_t size)
{
        static char data[1 << 20];

        memset(data, 'x', sizeof(data));
        for (size_t at = 0; at < size; at += sizeof(data))
                if (write(fd, data, sizeof(data)) < 0)
                        exit(3);
}

static int try_to_send_away(int socket, int fd)
{
        char byte = 'x', room[CMSG_SPACE(sizeof(int))] = { 0 };
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room,
                                  .msg_controllen = sizeof(room) };
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);

        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
        if (sendmsg(socket, &message, 0) < 0)
                return 0;
        close(fd);
        return 1;
}

static void send_away(int socket, int fd)
{
        if (!try_to_send_away(socket, fd))
                exit(4);
}
"""

MAPPED = HEAD + """
int main(void)
{
        for (int i = 0; i < COUNT; i++) {
                int fd = removed_file(i);
                char *at;

                if (ftruncate(fd, SIZE) < 0)
                        return 2;
                at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                close(fd);
                memset(at, 'x', SIZE);
                msync(at, SIZE, MS_SYNC);
                munmap(at + 4096, SIZE - 4096);
        }
        pause();
}
"""

# In folders whose names are longer for who looks than any line he expects: newlines are shown as four characters.
LONG_NAMED = MAPPED.replace("/workspace/t%d", "t%d").replace("int main(void)\n{", r"""int main(void)
{
        char name[256] = "";

        memset(name, '\n', 255);
        for (int i = 0; i < 5; i++)
                if (mkdir(name, 0700) < 0 || chdir(name) < 0)
                        return 6;
""")

SENT = HEAD + """
int main(void)
{
        int pair[2];

        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        for (int i = 0; i < COUNT; i++) {
                int fd = removed_file(i);

                fill(fd, SIZE);
                send_away(pair[0], fd);
        }
        pause();
}
"""

# The first thread ends; another goes on, and holds everything.
LEFT_BEHIND = HEAD + """
static void *go_on(void *nothing)
{
        for (int i = 0; i < COUNT; i++)
                fill(removed_file(i), SIZE);
        pause();
        return nothing;
}

int main(void)
{
        pthread_t thread;

        pthread_create(&thread, NULL, go_on, NULL);
        pthread_exit(NULL);
}
"""

# Executes itself once more as a file that nobody may read: the kernel closes such a process to its user.
UNREADABLE = HEAD + """
int main(int argc, char **argv)
{
        static char data[1 << 16];
        int in, out;
        ssize_t n;

        if (argc > 1) {
                for (int i = 0; i < COUNT; i++)
                        fill(removed_file(i), SIZE);
                pause();
        }
        in = open("/proc/self/exe", O_RDONLY);
        out = open("/workspace/again", O_WRONLY | O_CREAT, 0700);
        while ((n = read(in, data, sizeof(data))) > 0)
                write(out, data, n);
        close(out);
        chmod("/workspace/again", 0111);
        execl("/workspace/again", "again", "now", NULL);
        return 5;
}
"""

# Closes the folder that it writes to.
CLOSED = HEAD + """
int main(void)
{
        int fds[COUNT];

        mkdir("/workspace/d", 0700);
        for (int i = 0; i < COUNT; i++) {
                char name[32];

                snprintf(name, sizeof(name), "/workspace/d/%d", i);
                fds[i] = open(name, O_RDWR | O_CREAT, 0600);
        }
        chmod("/workspace/d", 0);
        for (int i = 0; i < COUNT; i++)
                fill(fds[i], SIZE);
        pause();
}
"""

WAYS = {"closed": CLOSED, "mapped": MAPPED, "long-named": LONG_NAMED, "sent": SENT, "left-behind": LEFT_BEHIND,
        "unreadable": UNREADABLE}


@pytest.mark.parametrize("way", WAYS)
def test_removed_files_of_a_disk_count_however_they_are_held(sandbox, place, compile_program, way):
    program = compile_program(f"hide-disk-{way}", WAYS[way])
    result = sandbox.run_json("-l", "binary", "--workspace", str(place), "--disk", "5M", "-t", "20s", str(program))
    assert result["status"] == "disk_limit", (result["status"], result["stderr"])


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o200, 0o400, 0o600])
def test_a_folder_that_is_closed_is_nothing_too_large(sandbox, place, mode):
    code = f"import os, time\nos.mkdir('d')\nopen('d/f', 'w').write('x')\nos.chmod('d', {mode})\ntime.sleep(0.3)\nprint('done')\n"
    for _ in range(2):
        result = sandbox.python(code, "--workspace", str(place), "--disk", "50M")
        assert (result["status"], result["stdout"]) == ("ok", "done\n"), result
        assert (place / "d/f").stat().st_size == 1
        shutil.rmtree(place / "d")


def test_the_workspace_itself_can_be_closed_for_a_while(sandbox, place):
    code = "import os, time\nfd = os.open('.', os.O_RDONLY)\nos.fchmod(fd, 0)\ntime.sleep(0.3)\nos.fchmod(fd, 0o700)\nprint('done')\n"
    result = sandbox.python(code, "--workspace", str(place), "--disk", "50M")
    assert (result["status"], result["stdout"]) == ("ok", "done\n"), result


def test_a_workspace_that_cannot_be_measured_is_refused(sandbox, place):
    if sandbox.is_root:
        pytest.skip("root looks into everything")
    (place / "d").mkdir()
    sandbox.own(place / "d")
    (place / "d").chmod(0)
    outcome = sandbox.run("--workspace", str(place), "-l", "shell", "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and "is closed to this user" in outcome.error, outcome
    assert "chmod -R u+rX" in outcome.error
    (place / "d").chmod(0o700)


def test_a_folder_that_may_not_be_written_keeps_its_mode(sandbox, place):
    (place / "v").mkdir()
    sandbox.own(place / "v")
    (place / "v").chmod(0o555)
    result = sandbox.shell("ls /data", "--volume", f"{place / 'v'}:/data:rw")
    assert result["status"] == "ok" and (place / "v").stat().st_mode & 0o777 == 0o555, result


def test_a_program_that_passes_descriptors_on_is_left_alone(sandbox, place):
    code = ("import os, socket\n"
            "a, b = socket.socketpair()\n"
            "for i in range(50):\n"
            "    with open('kept', 'w') as f: socket.send_fds(a, [b'x'], [f.fileno()])\n"
            "    os.close(socket.recv_fds(b, 1, 1)[1][0])\n"
            "print('done')\n")
    result = sandbox.python(code, "--workspace", str(place), "--disk", "5M")
    assert (result["status"], result["stdout"]) == ("ok", "done\n"), result


MEMORY = HEAD + """
int main(void)
{
        prctl(PR_SET_DUMPABLE, 0);
        for (int i = 0; i < 4; i++)
                fill(memfd_create("x", 0), 90 << 20);
        pause();
}
"""

MEMORY_LEFT_BEHIND = HEAD + """
static void fill_memory(volatile char *at, size_t size)
{
        for (size_t i = 0; i < size; i += 4096)
                at[i] = 1;
}

static void *go_on(void *nothing)
{
        fill_memory(malloc(200 << 20), 200 << 20);
        pause();
        return nothing;
}

int main(void)
{
        pthread_t thread;

        pthread_create(&thread, NULL, go_on, NULL);
        pthread_exit(NULL);
}
"""

MEMORY_UNREADABLE = UNREADABLE.replace("fill(removed_file(i), SIZE)", 'fill(memfd_create("x", 0), 8 * SIZE)')

MEMORY_WAYS = {"not dumpable": MEMORY, "left-behind": MEMORY_LEFT_BEHIND, "unreadable": MEMORY_UNREADABLE}


@pytest.mark.parametrize("way", MEMORY_WAYS)
def test_memory_counts_however_it_is_held(sandbox, compile_program, way):
    program = compile_program(f"hide-memory-{way.replace(' ', '-')}", MEMORY_WAYS[way])
    result = sandbox.run_json("-l", "binary", "-m", "64M", "-t", "20s", str(program))
    assert result["status"] == "memory_limit", (result["status"], result["memory_used"], result["stderr"])


@pytest.mark.parametrize("way, flags, status", [
    (SENT, ["--disk", "5M"], "disk_limit"), (MEMORY_UNREADABLE, ["-m", "64M"], "memory_limit")], ids=["disk", "memory"])
def test_what_was_hidden_before_the_start_was_heard_of_counts(sandbox, place, compile_program, way, flags, status):
    """The supervisor of a busy machine may hear that the program was started when that has done its worst already."""
    program = compile_program("hide-early-" + status, way)
    late = copy.copy(sandbox)
    late.path = shutil.which("strace")
    outcome = late.call("-o", "/dev/null", "-e", "trace=recvmsg", "-e", "inject=recvmsg:delay_enter=300000", str(sandbox.path),
                        "run", "--json", "--check", "off", "-l", "binary", "--workspace", str(place), *flags, "-t", "10s", str(program))
    assert outcome.result["status"] == status, outcome


# What is shared, or can be had back, is not used up once for each process.

POOL = """
import multiprocessing, time
data = list(range(400_000))
def look(i):
    end = time.monotonic() + 0.05
    while time.monotonic() < end: pass
    return data[i]
with multiprocessing.get_context("fork").Pool(6) as pool: print(sum(pool.map(look, range(12))))
"""

FORKS = """
import os, time
kept = b"x" * (25 << 20)
children = []
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.2)
        os._exit(0)
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
print("done")
"""

MAPS_ITS_FILE = """
import mmap, time
with open("/tmp/big", "w+b") as f:
    f.truncate(40 << 20)
    m = mmap.mmap(f.fileno(), 0)
    for at in range(0, len(m), 4096): m[at] = 1
    time.sleep(0.1)
print("done")
"""

MAPS_A_FILE_OF_THE_HOST = """
import mmap, time
with open("given", "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    total = sum(m[at] for at in range(0, len(m), 4096))
    time.sleep(0.1)
print("done")
"""


@pytest.mark.parametrize("memory, code, printed", [
    ("128", POOL, "66"), ("64", FORKS, "done"), ("64", MAPS_ITS_FILE, "done"),
], ids=["pool", "forks", "own file"])
def test_memory_that_is_shared_counts_once(sandbox, memory, code, printed):
    result = sandbox.python(code, "-m", memory, "--cpus", "2")
    assert (result["status"], result["stdout"]) == ("ok", printed + "\n"), (result["message"], result["memory_used"])


def test_pages_of_a_file_that_is_only_read_are_not_the_programs_memory(sandbox, place):
    sandbox.make_file(place / "given", b"x" * (100 << 20))
    result = sandbox.python(MAPS_A_FILE_OF_THE_HOST, "-m", "64", "--workspace", str(place))
    assert (result["status"], result["stdout"]) == ("ok", "done\n"), result["message"]


# Has as many descriptors under way as an ordinary user may, in all sockets of all processes.
CROWD = HEAD + """
int main(void)
{
        int pair[2];

        do {
                if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0)
                        break;
                for (int i = 0; i < 8; i++) {
                        int fd = dup(0);

                        if (fd < 0 || !try_to_send_away(pair[0], fd))
                                goto full;
                }
                close(pair[0]);
        } while (1);
full:
        puts("full");
        fflush(stdout);
        pause();
}
"""


def test_no_program_starts_without_those_who_watch_over_it(sandbox, compile_program):
    """Another run has all descriptors under way that this user may have, so that what is needed to watch does not arrive."""
    if sandbox.is_root:
        pytest.skip("root may have any number")
    crowd = sandbox.start("run", "-l", "binary", "-t", "120s", compile_program("crowd", CROWD))
    try:
        assert crowd.stdout.readline() == b"full\n"
        result = sandbox.shell("echo ran; sleep 5")
    finally:
        crowd.kill()
        crowd.communicate()
    # Whoever comes through is watched; else nothing ran.
    assert (result["status"], result["stdout"]) in (("ok", "ran\n"), ("internal_error", ""), ("refused", "")), result
