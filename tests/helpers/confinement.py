"""A control group around the test session itself, so that a bomb that got out hurts only the tests.

Only for root on cgroup v1: on v2 a process in a group stops that group from having children with
limits, which is what the program under test needs; there the machine's own limits must do.
"""

import os
import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup")
SESSION_PREFIX = "test-session."
LIMITS = {"memory": ("memory.limit_in_bytes", 6 << 30), "pids": ("pids.max", 2000)}


def _current(controller):
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return ROOT / controller / path.lstrip("/")
    return None


def _sweep(parent):
    """Removes groups of sessions that were killed before they could."""
    for group in parent.glob(f"{SESSION_PREFIX}*"):
        if not os.path.exists(f"/proc/{group.name.removeprefix(SESSION_PREFIX)}"):
            try:
                group.rmdir()
            except OSError:
                pass  # Something lives in it still; the next session tries again.


def enter():
    """Moves this process into new groups; returns what `leave` needs."""
    entered = []
    if os.geteuid() != 0:
        return entered
    for controller, (name, value) in LIMITS.items():
        old = _current(controller)
        if old is None or not (old / "cgroup.procs").exists():
            continue
        _sweep(old)
        new = old / f"{SESSION_PREFIX}{os.getpid()}"
        new.mkdir()
        (new / name).write_text(str(value))
        (new / "cgroup.procs").write_text(str(os.getpid()))
        entered.append((old, new))
    return entered


def leave(entered):
    for old, new in entered:
        for pid in (new / "cgroup.procs").read_text().split():
            try:
                (old / "cgroup.procs").write_text(pid)
            except OSError:
                pass  # It ended meanwhile.
        new.rmdir()
