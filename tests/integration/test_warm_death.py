"""Parts of warm starts that die, or are stopped: at most the next run is cold, none is lost, and nothing is left behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from helpers import leftovers
from helpers.processes import children, descendants, signal_all
from helpers.program import SLOWNESS
from helpers.warm import Keeper


def test_a_stopped_keeper_ends_what_runs_in_its_nests(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place).warm_up()
    running = keeper.start_warm("import time; print(1, flush=True); time.sleep(60)", word=b"1")
    keeper.stop()
    running.communicate(timeout=45)
    assert running.returncode == 125


@pytest.mark.parametrize("who", ["interpreter", "helper"])
def test_a_part_that_dies_costs_warmth_and_no_run(own_keeper, who):
    for _ in range(3):
        own_keeper.warm("1")
        victims = [pid for pid, args in descendants(own_keeper.process.pid) if ("python" in args) == (who == "interpreter")]
        assert victims
        signal_all(victims, signal.SIGKILL)
        assert own_keeper.run("print(6 * 7)")["stdout"] == "42\n"
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


def is_dead(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_container_whose_next_keeper_died_makes_another(own_keeper):
    """Helper, container, and the first process of a run that has not come yet."""
    own_keeper.settle()
    ready = [pid for helper in children(own_keeper.process.pid) for nest in children(helper) for pid in children(nest)]
    assert ready
    signal_all(ready, signal.SIGKILL)
    leftovers.wait_until(lambda: all(map(is_dead, ready)), 30, "the end of the first processes")
    result = own_keeper.run("print(6 * 7)")
    assert (result["stdout"], result["metrics"]["warm"]) == ("42\n", "fork")


def test_copies_that_died_while_they_waited_cost_nothing(own_keeper):
    for _ in range(3):
        own_keeper.settle()
        _, copies = own_keeper.interpreters()
        assert copies
        signal_all(copies, signal.SIGKILL)
        leftovers.wait_until(lambda dead=copies: all(map(is_dead, dead)), 30, "the end of the copies")
        result = own_keeper.run("print(6 * 7)")
        assert (result["status"], result["stdout"], result["metrics"]["warm"]) == ("ok", "42\n", "fork"), result


def test_copies_that_were_stopped_while_they_waited_cost_no_run(own_keeper):
    own_keeper.settle()
    _, copies = own_keeper.interpreters()
    assert copies
    signal_all(copies, signal.SIGSTOP)
    result = own_keeper.run("print(6 * 7)")
    assert (result["status"], result["stdout"]) == ("ok", "42\n"), result
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


def test_a_keeper_ends_whose_interpreter_was_stopped(own_keeper):
    """Its copies that wait are that one's to reap."""
    own_keeper.settle()
    parked, copies = own_keeper.interpreters()
    assert copies
    signal_all(parked, signal.SIGSTOP)
    own_keeper.stop()


def test_a_container_that_died_while_it_waited_is_not_taken(sandbox, place, no_leftovers):
    def died():
        lines = map(json.loads, (place / "keeper.jsonl").read_bytes().splitlines())
        return [line["attributes"]["sandbox.slot"] for line in lines if line["event_name"] == "slot.died"]

    keeper = Keeper(sandbox, place, "--log", str(place / "keeper.jsonl"))
    try:
        keeper.warm_up().settle()
        python = {pid for pid, args in descendants(keeper.process.pid) if "python" in args}
        nests = [nest for helper in children(keeper.process.pid) for nest in children(helper) if nest not in python]
        assert nests
        signal_all(nests, signal.SIGKILL)
        leftovers.wait_until(lambda: not any(os.path.exists(f"/proc/{nest}") for nest in nests), 30, "the end of the containers")
        assert keeper.run("print(6 * 7)")["stdout"] == "42\n"
        leftovers.wait_until(lambda: "container" in died(), 30, "the word of it")
        assert keeper.warm("print(6 * 7)")["stdout"] == "42\n"
    finally:
        keeper.stop()


HOG = "import sys; open(sys.argv[1], 'w').write('0'); print('in', flush=True); x = b'x' * (96 << 20)"


def memory_group(pid):
    """The file that enters its control group, and that of the limit; or None."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        mounted, enter, limit = (("memory", "tasks", "memory.limit_in_bytes") if controllers == "memory" else
                                 ("", "cgroup.procs", "memory.max"))
        folder = pathlib.Path("/sys/fs/cgroup", mounted, path.lstrip("/"))
        if controllers in ("memory", "") and "sandbox-run." in path and (folder / limit).exists():
            return folder / enter, folder / limit
    return None


def test_an_interpreter_that_the_kernel_ends_for_want_of_memory_costs_no_run(own_keeper, sandbox):
    own_keeper.settle()
    parked, _ = own_keeper.interpreters()
    group = memory_group(parked[0])
    if not group or os.geteuid() != 0:
        pytest.skip("its memory is not limited by a control group here")
    enter, limit = group
    limit.write_text(str(64 << 20))
    pathlib.Path(f"/proc/{parked[0]}/oom_score_adj").write_text("1000")  # of the two, it is the one
    with subprocess.Popen([sys.executable, "-c", HOG, str(enter)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as hog:
        hog.stdout.readline()
        hog.wait()
    leftovers.wait_until(lambda: is_dead(parked[0]), 60, "the end of the interpreter")
    assert own_keeper.run("print(6 * 7)")["stdout"] == "42\n"
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


def test_a_copy_that_is_killed_when_it_is_the_program_is_a_program_that_was_killed(own_keeper):
    running = own_keeper.start_warm("import time; print(1, flush=True); time.sleep(60)", word=b"1")
    _, copies = own_keeper.interpreters()
    signal_all(copies, signal.SIGKILL)
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGKILL
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


def test_what_a_run_used_is_told_also_when_its_keeper_is_killed(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place).warm_up()
    running = keeper.start_warm("import time; x = bytearray(30 << 20); print('started', flush=True); time.sleep(60)", "-o", "jsonl",
                                word=b"started")
    time.sleep(0.5)  # Some samples of it are taken.
    keeper.process.kill()
    keeper.stop()
    result = json.loads(running.communicate(timeout=60)[0].splitlines()[-1])["result"]
    assert result["status"] == "internal_error" and result["execution_time"] >= 0.5 and result["memory_used"] > 30 << 20, result


def test_a_killed_keeper_takes_its_runs_along_and_the_next_call_works(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place).warm_up()
    running = keeper.start_warm("import time; print(1, flush=True); time.sleep(60)", word=b"1")
    keeper.process.kill()
    keeper.stop()
    out, err = running.communicate(timeout=45)
    assert running.returncode == 125 and b"ended from outside" in err and b"run it again" in err, (running.returncode, err)
    assert keeper.run("print(6 * 7)")["stdout"] == "42\n"


def test_a_killed_command_ends_its_run_and_the_keeper_lives(own_keeper, sandbox):
    running = sandbox.start("run", "-l", "python", "-c", "import time; print(1, flush=True); time.sleep(600)", env=own_keeper.env)
    assert running.stdout.read(2) == b"1\n"
    running.kill()
    running.communicate()
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


def test_an_interrupted_command_ends_as_always(own_keeper, sandbox):
    running = sandbox.start("run", "-l", "python", "-c", "import time; print(1, flush=True); time.sleep(600)", env=own_keeper.env)
    assert running.stdout.read(2) == b"1\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=45)
    assert running.returncode == 130


def test_what_becomes_of_slots_is_told(sandbox, place):
    def told(kind):
        lines = map(json.loads, (place / "keeper.jsonl").read_bytes().splitlines())
        return [line["attributes"]["sandbox.slot"] for line in lines if line["event_name"] == kind]

    keeper = Keeper(sandbox, place, "--log", str(place / "keeper.jsonl"))
    try:
        own = place / "run.jsonl"
        result = keeper.warm_up().warm("print(1)", "--log", str(own))
        signal_all((pid for pid, args in descendants(keeper.process.pid) if "python" in args), signal.SIGKILL)
        # The next run that asks has it looked after.
        leftovers.wait_until(lambda: keeper.run("") and told("slot.died"), 30, "the death of the interpreter")
    finally:
        keeper.stop()
    assert {"container", "interpreter"} <= set(told("slot.made")) and "interpreter" in told("slot.used")
    assert "container" in told("slot.ended")
    used = [line for line in map(json.loads, own.read_bytes().splitlines()) if line["event_name"] == "slot.used"]
    assert used[-1]["attributes"]["sandbox.slot"] == "interpreter"
    assert used[-1]["attributes"]["sandbox.id"] == result["id"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_run_whose_interpreter_dies_ends(own_keeper, how):
    """The program is a child of the interpreter's: whoever becomes its parent must see it off. One that is stopped would
    not, so it dies."""
    process = own_keeper.start_warm("print('started', flush=True)\nimport time\ntime.sleep(60)", "-o", "jsonl", "-t", "20s",
                                    word=b"started")
    parked = [pid for pid, args in descendants(own_keeper.process.pid)
              if "python" in args and any("python" in other for child, other in descendants(pid))]
    assert parked
    signal_all(parked, how)
    stdout, _ = process.communicate(timeout=45)
    assert json.loads(stdout.splitlines()[-1])["result"]["status"] == "internal_error", stdout
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


@pytest.mark.parametrize("runs_on", [True, False], ids=["in a run", "between runs"])
def test_an_interpreter_that_was_stopped_with_its_helper_keeps_nothing(own_keeper, runs_on):
    """Copies are that interpreter's to reap, and it is the helper's: nobody else ends either of the two."""
    own_keeper.settle()
    if runs_on:
        process = own_keeper.start_warm("print('started', flush=True)\nimport time\ntime.sleep(60)", "-o", "jsonl", "-t", "20s",
                                        word=b"started")
    parked, _ = own_keeper.interpreters()
    helpers = [pid for pid in children(own_keeper.process.pid) if set(children(pid)) & set(parked)]
    assert parked and helpers
    signal_all(helpers + parked, signal.SIGSTOP)
    if runs_on:
        stdout, _ = process.communicate(timeout=45)
        assert json.loads(stdout.splitlines()[-1])["result"]["status"] == "internal_error", stdout
    assert own_keeper.run("print(6 * 7)")["stdout"] == "42\n"
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"
    assert not set(parked) & set(own_keeper.interpreters()[0])


def test_a_run_ends_in_time_though_all_that_it_is_lent_was_stopped(own_keeper):
    own_keeper.settle()
    process = own_keeper.start_warm("print('started', flush=True)\nimport time\ntime.sleep(60)", "-o", "jsonl", "-t", "5s",
                                    word=b"started")
    signal_all((pid for pid, _ in descendants(own_keeper.process.pid)), signal.SIGSTOP)
    stdout, _ = process.communicate(timeout=45)
    assert json.loads(stdout.splitlines()[-1])["result"]["status"] in ("timeout", "internal_error"), stdout
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n"


LINGER = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(15, b"lingers")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(60):
    if os.fork() == 0: break
while True: pass
"""


def named(name):
    """Processes of that name which can still do something."""
    lines = subprocess.run(["ps", "-eo", "stat=,comm="], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if line.split()[-1] == name and line[0] not in "ZX"]


def test_nobody_is_left_when_a_run_with_little_of_a_cpu_is_over(own_keeper, sandbox):
    if not sandbox.is_root:
        pytest.skip("a share of a CPU takes a control group")
    flags = ["--cpus", "0.01", "--processes", "64", "-t", "2s"]
    own_keeper.warm_up(*flags)
    for _ in range(3):
        result = own_keeper.run(LINGER, *flags)
        assert not named("lingers")
        assert result["status"] == "timeout" and 2 <= result["execution_time"] < 2 + 3 * SLOWNESS, result
        assert next(p["by"] for p in result["protections"] if p["name"] == "cpus").startswith("cgroup"), result["protections"]
