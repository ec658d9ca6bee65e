"""The limit and escape tests again, in a machine with a stock Debian kernel and cgroup v2 alone.

Each test here boots once and runs the ordinary suites inside; run and build-image beside this file
are the machine. A machine that does not come up is a failure; one without QEMU is a skip.
"""

import concurrent.futures
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

import precompiled

HERE = pathlib.Path(__file__).parent
PYTEST = ["python3", "-m", "pytest", "-q", "-ra", "--tb=short", "-p", "precompiled"]
AS_ROOT = ["-k", "not [user"]  # The other machines have the ordinary users.
LIMITS = ["tests/integration/test_limits.py"]
ESCAPES = ["tests/escape"]
# A copy of a parked interpreter enters its group in another way than elsewhere.
WARM = ["tests/integration/test_warm.py::test_a_warm_run_says_so",
        "tests/integration/test_warm.py::test_every_protection_of_a_cold_run_holds_in_a_warm_one",
        "tests/integration/test_warm_clock.py"]
CLOCK = ["--env", "SANDBOX_TEST_SETS_CLOCK=1"]  # It is nobody's but the machine's.
DELEGATED = ["systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", "--"]
BOOT_SECONDS = 180  # As for all of these: what hangs is ended, what is slow is not.

# Name: option of run, command before pytest, arguments of pytest, seconds.
MACHINES = {
    "root": (CLOCK, [], LIMITS + ESCAPES + WARM + AS_ROOT, 1500),
    "user-delegated": (["--user"], [], LIMITS + ESCAPES, 1500),
    "user-plain": (["--user-plain"], [], LIMITS, 900),
    "systemd-scope": (["--systemd"], DELEGATED, LIMITS, 900),
}


def missing():
    """Why there can be no machine here, or None."""
    if platform.machine() != "x86_64":
        return "the machine is made for x86-64"
    for command in ("qemu-system-x86_64", "apt-get", "mke2fs", "cpio"):
        if not shutil.which(command) and not pathlib.Path("/sbin", command).exists():
            return f"{command} is not installed (tools/bootstrap vm)"
    return None


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def run_in_vm(*options_and_command, timeout):
    return subprocess.run([HERE / "run", "--timeout", str(timeout), *options_and_command],
                          capture_output=True, text=True, errors="replace",
                          timeout=timeout + BOOT_SECONDS, check=False)


def summary(output):
    """Pytest's closing line: how many passed, and the line itself."""
    lines = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    line = lines[-1].strip() if lines else "no summary"
    match = re.search(r"(\d+) passed", line)
    return int(match.group(1)) if match else 0, line


def test_the_machine_is_pure_cgroup_v2():
    done = run_in_vm("--", "cat", "/proc/self/cgroup", "/sys/fs/cgroup/cgroup.controllers", timeout=BOOT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    groups, controllers = done.stdout.splitlines()
    assert groups.startswith("0::/")
    assert {"cpu", "memory", "pids"} <= set(controllers.split())


def run_suites(name):
    options, before, suites, seconds = MACHINES[name]
    # Temporary files on the disk: a tmpfs of this kernel cannot translate owners, which workspaces need.
    return run_in_vm(*options, "--env", f"PYTHONPATH={HERE}", "--env", "TMPDIR=/var/tmp", "--env", "SANDBOX_TEST_SLOWNESS=2",
                     "--env", "SANDBOX_ATTACK_DIR=/var/tmp/attacks", "--", *before, *PYTEST, *suites, timeout=seconds)


@pytest.fixture(scope="module")
def machines():
    """All machines, started two at a time: each keeps about one core busy."""
    precompiled.prepare()
    subprocess.run([HERE / "build-image"], check=True, stdout=subprocess.DEVNULL)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        yield {name: pool.submit(run_suites, name) for name in MACHINES}


@pytest.mark.parametrize("name", MACHINES)
def test_suites_in_the_machine(machines, name, capsys):
    done = machines[name].result()
    passed, line = summary(done.stdout)
    with capsys.disabled():
        print(f"\n  in the machine, {name}: {line}")
    print(done.stdout[-20000:])
    print(done.stderr[-4000:])
    assert done.returncode == 0, f"{name}: exit {done.returncode}: {line}"
    assert passed > 0, f"{name}: no test ran"


def test_an_ordinary_session_gets_control_groups_of_its_own():
    """A login session may make no groups; the program asks the user's service manager for a scope."""
    script = ("build/src/cli/sandbox run --json -l python -c 'print(42)'; "
              "SANDBOX_SCOPE=off build/src/cli/sandbox run --json -l python -c 'print(42)'")
    done = run_in_vm("--systemd", "--", "sh", "-c", script, timeout=BOOT_SECONDS * 2)
    assert done.returncode == 0, done.stdout + done.stderr
    mechanisms = re.findall(r'"name": "memory",\s*"state": "enforced",\s*"by": "([a-z0-9-]+)"', done.stdout)
    assert mechanisms == ["cgroup-v2", "monitor"], done.stdout


def test_the_users_service_manager_starts_a_keeper_when_it_is_wanted():
    done = run_in_vm("--systemd", "--", "bash", "tests/vm/keeper-units", timeout=BOOT_SECONDS * 3)
    warm = ['"by": "cgroup-v2"', '"warm": "fork"']
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["before: inactive", *warm, "asked: active", "python 512 MiB fork", "ended: inactive",
                                        *warm, "again: active", "stopped: inactive"], done.stdout + done.stderr
