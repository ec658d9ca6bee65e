"""Processes that others started, looked at from outside: any of them may end between two looks."""

import contextlib
import os
import pathlib
import subprocess


def children(pid):
    """Of all its threads; none of one that has ended."""
    found = []
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def below(pid):
    """All that descend from it."""
    return [one for child in children(pid) for one in (child, *below(child))]


def link(pid, name):
    """What a link in its folder says; nothing of one that has ended."""
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""


def status(pid, field):
    """The words of a line of its status; none of one that has ended."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1].split()
    return []


def is_busy(pid):
    """Whether one of its threads runs, or would if there were a CPU for it, or waits for a disk; not one that has ended."""
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if (task / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                    return True
    return False


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # It went by itself, or with one of the others.
            os.kill(pid, number)


def descendants(pid):
    """Numbers and command lines of all that descend from it, of one moment."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split(None, 2) for line in lines]

    def below_one(parent):
        return [one for row in rows if int(row[1]) == parent
                for one in ((int(row[0]), row[2] if len(row) > 2 else ""), *below_one(int(row[0])))]

    return below_one(pid)
