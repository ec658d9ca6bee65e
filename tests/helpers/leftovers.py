"""What a run may leave behind, seen from outside: a snapshot before, one after, and the difference.

Nothing of a run may outlive it: no process, control group, mount, namespace, file or shared memory.
Records are meant to stay; they are in the state directory of the test's own program.
"""

import os
import pathlib
import time

from helpers.confinement import SESSION_PREFIX
from helpers.program import LIMIT_UIDS_FIRST, ORDINARY_UID

PROGRAM_NAMES = ("sandbox", "sandbox-init", "sandbox-history", "sandbox-proxy", "sandbox-network",
                 "sandbox-docker")
NAMESPACES = ("net", "pid", "mnt", "user", "ipc")
FILE_PLACES = ("/tmp", "/dev/shm", "/var/tmp", "/run")
CGROUP_PREFIX = "sandbox-run"


def _read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _is_of_another_session(pid):
    """Whether a process belongs to tests that run beside these, by the control group around them."""
    try:
        groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
    return _is_foreign(groups)


def _is_foreign(path):
    return SESSION_PREFIX in path and f"{SESSION_PREFIX}{os.getpid()}" not in path


def _has_foreign_ancestor(pid):
    """The same for a zombie, which is in no group any more: its parents are asked."""
    while pid and pid != "0":
        if _is_of_another_session(pid):
            return True
        pid = _status(pid, b"PPid:")
    return False


def _status(pid, field):
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            return next((line.split()[1].decode() for line in status if line.startswith(field)), "")
    except OSError:
        return ""


def _is_left_to_init(pid):
    """Whether it has ended, all its threads too, and is for the machine's first process to wait for: nobody else can make
    it go, and some first processes take their time."""
    return [_status(pid, field) for field in (b"State:", b"PPid:", b"Threads:")] == ["Z", "1", "1"]


def _is_ours(pid):
    exe = os.path.basename(_read_link(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    uid = int(_status(pid, b"Uid:") or -1)  # The real one: a process that is not dumpable seems root's.
    is_ours = exe in PROGRAM_NAMES or uid >= LIMIT_UIDS_FIRST or uid == ORDINARY_UID
    return is_ours and not _is_left_to_init(pid) and not _has_foreign_ancestor(pid)


def _processes():
    pids = [name for name in os.listdir("/proc") if name.isdigit() and not _is_of_another_session(name)]
    ours = {f"process {pid} {_read_link(f'/proc/{pid}/exe')}" for pid in pids if _is_ours(pid)}
    return ours | _namespaces(pids)


def _namespaces(pids):
    return {f"namespace {link}" for pid in pids for kind in NAMESPACES if (link := _read_link(f"/proc/{pid}/ns/{kind}"))}


def _cgroups():
    """Groups of runs. The name of a run's group is the same in every hierarchy, so that one which lies
    in another session's group somewhere is that session's everywhere."""
    found, foreign = set(), set()
    for place, folders, _ in os.walk("/sys/fs/cgroup"):
        names = [name for name in folders if name.startswith(CGROUP_PREFIX)]
        foreign.update(name for name in names if _is_foreign(place))
        found.update((place, name) for name in names)
    return {f"cgroup {place}/{name}" for place, name in found
            if name not in foreign and not _is_of_another_session(_owner(name))}


def _owner(name):
    """The supervisor's pid in a group's name, sandbox-run.NAMESPACE.PID.TIME.RANDOM.NUMBER."""
    parts = name.split(".")
    return parts[2] if len(parts) > 2 else "none"


def _mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        return {f"mount {line.split()[0]} {line.split()[4]}" for line in lines}


def _files():
    found = set()
    for place in FILE_PLACES:
        try:
            found.update(f"file {place}/{name}" for name in os.listdir(place)
                         if name.startswith(("sandbox", ".sandbox", "sbx")))
        except OSError:
            pass  # A place that is not there holds nothing of ours.
    return found


def _shared_memory():
    try:
        lines = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    except OSError:
        return set()
    return {f"shared memory {line.split()[1]}" for line in lines}


def snapshot():
    return _processes() | _cgroups() | _mounts() | _files() | _shared_memory()


def leftovers(before, deadline=10.0):
    """What is there now and was not before; waits, up to the deadline, for it to go."""
    end = time.monotonic() + deadline
    while True:
        left = snapshot() - before
        if left:
            left -= _of_those_that_live(before)
        if not left or time.monotonic() > end:
            return sorted(left)
        time.sleep(0.02)


def _of_those_that_live(before):
    """What a program of ours that was there before, such as a keeper that several tests share, made meanwhile."""
    lived = {thing.split()[1] for thing in before if thing.startswith("process ")}
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    theirs = {pid for pid in pids if pid in lived or _has_ancestor(pid, lived)}
    made = {f"process {pid} {_read_link(f'/proc/{pid}/exe')}" for pid in theirs}
    made |= {thing for thing in _cgroups() if _owner(os.path.basename(thing)) in lived}
    return made | (_namespaces(theirs) - _namespaces(set(pids) - theirs))


def _has_ancestor(pid, those):
    while pid and pid != "0":
        pid = _status(pid, b"PPid:")
        if pid in those:
            return True
    return False


def wait_until(condition, deadline=30.0, what="condition"):
    """Polls for a condition and returns its value; a deadline passed is a failure."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {deadline} s")
        time.sleep(0.005)
