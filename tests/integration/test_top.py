"""`sandbox top` on a real terminal: tmux holds it, and its screen is read."""

import shlex
import shutil
import subprocess
import uuid

import pytest

from helpers import journal
from helpers.leftovers import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Screen:
    """A terminal of 80 columns in a tmux server of its own."""

    def __init__(self, sandbox, env, *words, columns=80):
        self.name = f"sbtest-{uuid.uuid4().hex}"
        settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in sandbox.environment(env).items())
        command = f"exec env -i TERM=screen {settings} {shlex.quote(str(sandbox.path))} {' '.join(words)}"
        if sandbox.changes_user:
            command = f"exec setpriv --reuid {sandbox.uid} --regid {sandbox.uid} --clear-groups sh -c {shlex.quote(command)}"
        self.tmux("new-session", "-d", "-x", str(columns), "-y", "24", f"{command}; true")
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.name, "-f", "/dev/null", *words], capture_output=True, text=True,
                              check=False, timeout=20).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, condition, what):
        return wait_until(lambda: condition(self.text()), deadline=30, what=f"{what}: {self.text()}")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def is_over(self):
        return self.tmux("list-panes", "-F", "#{pane_dead}").strip() in ("1", "")

    def close(self):
        self.tmux("kill-server")


@pytest.fixture
def env(place):
    return {"SANDBOX_STATE_DIR": str(place / "state")}


@pytest.fixture
def start(sandbox, env):
    """Starts runs that go on until the test has ended."""
    started = []

    def go(name, code, *flags):
        started.append(sandbox.start("run", "-q", "--name", name, "-t", "60", *flags, "-l", "python", "-c", code, env=env))
        return started[-1]

    yield go
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate()


@pytest.fixture
def screen(sandbox, env):
    made = []

    def show(*words, **options):
        made.append(Screen(sandbox, env, "top", *words, **options))
        return made[-1]

    yield show
    for one in made:
        one.close()


SLEEP = "import time\nb = b'x' * (52 << 20)\ntime.sleep(60)"


def running(sandbox, env):
    return sandbox.call("top", "--once", "--json", env=env).json


def test_running_and_recent_ones_are_on_the_screen(sandbox, env, start, screen):
    sandbox.run("-q", "-l", "shell", "--name", "gone", "-c", "exit 3", env=env)
    start("busy", SLEEP)
    top = screen("--interval", "100ms")
    text = top.wait(lambda text: "running: 1" in text and "MiB" in text and text, "one is running")
    line, = [line for line in text.splitlines() if "busy" in line]
    assert "python" in line and "[" in line and "%" in line
    assert [line for line in text.splitlines() if "failed" in line and "gone" in line]
    assert all(len(line) <= 80 for line in text.splitlines())
    top.keys("q")
    wait_until(top.is_over, what="q ends it")


def test_k_cancels_the_chosen_one_alone(sandbox, env, start, screen, place):
    first, second = start("first", SLEEP), None
    wait_until(lambda: len(running(sandbox, env)) == 1, what="the first runs")
    second = start("second", SLEEP)
    top = screen("--interval", "100ms")
    top.wait(lambda text: "running: 2" in text, "two are running")
    top.keys("Down")
    top.keys("k")
    top.wait(lambda text: "running: 1" in text and "cancelled" in text, "one was cancelled")
    assert second.wait(45) != 0 and first.poll() is None
    assert [r["status"] for r in journal.records(place / "state")] == ["cancelled"]
    top.keys("q")
    wait_until(top.is_over, what="q ends it")


def test_a_narrow_terminal_is_not_overrun(sandbox, env, start, screen):
    start("narrow", SLEEP)
    top = screen("--interval", "100ms", columns=40)
    text = top.wait(lambda text: "running: 1" in text and text, "one is running")
    assert sum("python" in line for line in text.splitlines()) == 1


def test_once_prints_what_is_there(sandbox, env, start):
    start("busy", SLEEP)
    entry, = wait_until(lambda: [e for e in running(sandbox, env) if e["memory"] > 50 << 20], what="it runs")
    assert (entry["name"], entry["language"], entry["phase"]) == ("busy", "python", "run")
    wait_until(lambda: running(sandbox, env)[0]["io_read"] is not None, what="details come while somebody looks")
    outcome = sandbox.call("top", "--once", env=env)
    assert b"busy" in outcome.stdout and b"\x1b" not in outcome.stdout


def test_a_run_without_record_is_not_there(sandbox, env, start, place):
    start("hidden", SLEEP, "--no-record")
    start("seen", SLEEP)
    wait_until(lambda: [entry["name"] for entry in running(sandbox, env)] == ["seen"], what="one is seen")


def test_without_a_terminal_it_says_so(sandbox, env):
    outcome = sandbox.call("top", env=env)
    assert outcome.exit_code == 125 and "not on a terminal" in outcome.error and "--once" in outcome.error


@pytest.mark.parametrize("flags", [["--interval", "1ms"], ["--interval", "x"], ["--json"], ["word"]])
def test_a_mistake_is_one_line_and_125(sandbox, env, flags):
    outcome = sandbox.call("top", *flags, env=env)
    assert outcome.exit_code == 125 and outcome.error.startswith("sandbox: "), outcome


FORGE = """
import os, struct, time
fd = os.memfd_create("sandbox-running")
page = bytearray(%d)
page[0:4] = struct.pack("<I", 0x73627831)
os.write(fd, page)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_page_that_a_guest_forges_is_not_believed(sandbox, env, start):
    """A guest of an ordinary user has the user's id, and can make a memory file of that name."""
    process = start("forger", FORGE % 2000)
    assert process.stdout.readline() == b"ready\n"
    found = wait_until(lambda: running(sandbox, env), what="the run itself is seen")
    assert [entry["name"] for entry in found] == ["forger"]


def test_runs_of_another_state_directory_are_others(sandbox, env, start, place):
    start("mine", SLEEP)
    wait_until(lambda: running(sandbox, env), what="it is seen")
    assert running(sandbox, {"SANDBOX_STATE_DIR": str(place / "other")}) == []
