"""One system call made to fail in everything the program starts.

Whatever a machine lacks or forbids, the answer is one of two: the program runs with every protection
in force, or it does not run and a sentence says why. Nothing is left behind either way.
"""

import copy
import json
import pathlib
import re

import pytest

from helpers.program import SLOWNESS

HERE = pathlib.Path(__file__).resolve().parent
DEADLINE = 40 * SLOWNESS  # Beyond the monitor's own patience with a helper that does not answer.
NOT_HERE = 77  # The launcher's word for a call that this architecture does not have.

CALLS = [
    "clone3", "mount", "open_tree", "move_mount", "mount_setattr", "pivot_root", "umount2",
    "sethostname", "setsid", "unshare", "capset", "capget", "setresuid", "setresgid", "setgroups",
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp",
    "close_range", "memfd_create", "socketpair", "pidfd_open", "pidfd_send_signal", "prlimit64",
    "mkdirat", "mkdir", "fchown", "chown", "fchownat", "symlink", "symlinkat", "openat2", "statfs",
    "sendfile", "sendmsg", "recvmsg", "dup3", "pipe2", "eventfd2", "sched_setaffinity",
    "sched_getaffinity", "getdents64", "pread64",
]

# A kernel without it is no reason to refuse; that it is missing is told.
WHERE_THERE = {"landlock_create_ruleset": "landlock"}
# A call without which a protection cannot be in force, whatever is said.
DECIDES = {
    "landlock_restrict_self": "landlock", "landlock_add_rule": "landlock",
    "seccomp": "seccomp", "setsid": "session", "close_range": "descriptors", "capset": "capabilities",
}

HELLO = r"""
#include <unistd.h>
int main(void) { return write(1, "hello\n", 6) == 6 ? 0 : 1; }
"""
SLEEP = r"""
#include <unistd.h>
int main(void) { for (;;) pause(); }
"""


@pytest.fixture(scope="session")
def launcher(compile_program):
    return compile_program("deny_syscall", HERE / "deny_syscall.c")


@pytest.fixture(scope="session")
def hello(compile_program):
    return compile_program("fault_hello", HELLO)


def denied(sandbox, launcher, call, error, *args):
    """Runs the program with the call denied."""
    shadow = copy.copy(sandbox)
    shadow.path = launcher
    outcome = shadow.call(call, error, str(sandbox.path), "run", "--json", *args, timeout=DEADLINE)
    if outcome.exit_code == NOT_HERE:
        pytest.skip(f"no system call {call} on this architecture")
    return outcome


def is_one_line_refusal(outcome):
    """Exit 125 with a result that says whose fault it was, or a plain error: one line and a hint."""
    if outcome.exit_code != 125:
        return False
    if outcome.stdout.strip():
        result = json.loads(outcome.stdout)
        message = result["message"]
        return (result["status"] in ("refused", "internal_error") and not result["success"]
                and bool(message) and "\n" not in message and not result["stdout"])
    lines = outcome.error.strip().splitlines()
    return (len(lines) in (1, 2) and re.match(r"sandbox: .+", lines[0]) is not None
            and all(line.startswith("hint: ") for line in lines[1:]))


def states(result):
    return {entry["name"]: entry["state"] for entry in result["protections"]}


@pytest.fixture(scope="session")
def usual(session_program, hello):
    """The names of all protections of an undisturbed run, all of which are in force."""
    result = session_program.run_json(str(hello))
    assert result["status"] == "ok", result
    found = states(result)
    assert set(found.values()) == {"enforced"}, found
    return set(found)


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("call", CALLS)
def test_strict_enforces_everything_or_refuses(sandbox, launcher, hello, usual, no_leftovers, call, error):
    outcome = denied(sandbox, launcher, call, error, str(hello))
    if is_one_line_refusal(outcome):
        return
    result = outcome.json
    assert outcome.exit_code == 0 and result["status"] == "ok", outcome
    assert result["stdout"] == "hello\n", outcome
    found = states(result)
    assert set(found) == usual, outcome
    if call in WHERE_THERE:
        assert found.pop(WHERE_THERE[call]) == "missing", outcome
    assert set(found.values()) == {"enforced"}, outcome
    assert call not in DECIDES, f"{call} is needed for {DECIDES[call]}: {outcome}"


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("call", CALLS)
def test_best_effort_lists_what_is_missing(sandbox, launcher, hello, usual, no_leftovers, call, error):
    outcome = denied(sandbox, launcher, call, error, "--enforcement", "best-effort", str(hello))
    if is_one_line_refusal(outcome):
        return
    result = outcome.json
    assert outcome.exit_code == 0 and result["status"] == "ok", outcome
    found = states(result)
    assert set(found) == usual, outcome
    assert set(found.values()) <= {"enforced", "missing"}, outcome
    if call in DECIDES:
        assert found[DECIDES[call]] == "missing", outcome


@pytest.mark.parametrize("enforcement", ["strict", "best-effort"])
@pytest.mark.parametrize("call", ["pidfd_send_signal", "pidfd_open", "kill", "clone3", "close_range", "waitid"])
def test_a_program_that_never_ends_is_ended_all_the_same(sandbox, launcher, compile_program, no_leftovers,
                                                         call, enforcement):
    sleeper = compile_program("fault_sleep", SLEEP)
    outcome = denied(sandbox, launcher, call, "EPERM", "--enforcement", enforcement, "-t", "300ms", str(sleeper))
    if not is_one_line_refusal(outcome):
        assert (outcome.exit_code, outcome.json["status"]) == (124, "timeout"), outcome
