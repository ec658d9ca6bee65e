"""One system call made to fail in a keeper and all that it keeps: no run fails for want of warmth.

So every step by which a run is handed over breaks once: building a container, parking, joining its
namespaces and groups, copying the interpreter, giving everything up, telling how it ended.
"""

import pathlib
import signal
import time

import pytest

from helpers.processes import descendants, signal_all
from helpers.warm import Keeper

HERE = pathlib.Path(__file__).resolve().parent
NOT_HERE = 77  # The launcher's word for a call that it does not know.
FAULTS = [
    ("clone", "EAGAIN"), ("clone3", "EAGAIN"), ("setns", "EPERM"), ("unshare", "EPERM"), ("mount", "EPERM"), ("setsid", "EPERM"),
    ("capset", "EPERM"), ("setresuid", "EPERM"), ("landlock_restrict_self", "EPERM"), ("seccomp", "EPERM"), ("close_range", "EPERM"),
    ("dup3", "EPERM"), ("pidfd_open", "EPERM"), ("memfd_create", "EAGAIN"), ("sendmsg", "EPERM"), ("recvmsg", "EPERM"),
]


class Denied:
    """The program, started with one call denied in it and everything it starts."""

    def __init__(self, sandbox, launcher, call, error):
        self.sandbox, self.before = sandbox, (call, error, str(sandbox.path))
        self.launcher = launcher

    def start(self, *args, **options):
        path, self.sandbox.path = self.sandbox.path, self.launcher
        try:
            return self.sandbox.start(*self.before, *args, **options)
        finally:
            self.sandbox.path = path


@pytest.mark.parametrize(("call", "error"), FAULTS)
def test_a_step_that_fails_costs_warmth_and_no_run(sandbox, compile_program, place, no_leftovers, call, error):
    launcher = compile_program("deny_syscall", HERE / "deny_syscall.c")
    socket = place / "keeper/keeper.sock"
    process = Denied(sandbox, launcher, call, error).start("keeper", "--quiet", env={"SANDBOX_KEEPER": str(socket)})
    deadline = time.monotonic() + 20
    while not socket.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        for _ in range(3):
            result = sandbox.run_json("-l", "python", "-c", "print(6 * 7)", env={"SANDBOX_KEEPER": str(socket)})
            assert (result["status"], result["stdout"]) == ("ok", "42\n"), result
            time.sleep(0.05)  # what was missed is being built, and fails
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode != NOT_HERE


def test_a_stopped_interpreter_is_not_waited_for_for_ever(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place).warm_up()
    try:
        signal_all((pid for pid, args in descendants(keeper.process.pid) if "python" in args), signal.SIGSTOP)
        result = keeper.run("print(6 * 7)")
        assert result["stdout"] == "42\n", result
        # It is not tried again: another one is parked in its place.
        assert keeper.warm("print(6 * 7)")["stdout"] == "42\n"
    finally:
        keeper.stop()
