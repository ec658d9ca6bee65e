"""What a keeper holds to: bounds, clean containers, signals, sockets that are handed over, parts that fail in a hand-over."""

import json
import pathlib
import random
import resource
import signal
import socket
import subprocess
import time

import pytest

from helpers import leftovers
from helpers.processes import children, signal_all
from helpers.program import HARD_TIMEOUT, REPOSITORY, SLOWNESS
from helpers.warm import Keeper


@pytest.fixture
def keeper(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place, "--slots", "1")
    yield keeper.warm_up()
    keeper.stop()


# ---- what a container may keep of a run ----

TRY = {
    "udp": "import socket\ntry:\n    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))\nexcept OSError as e: print(e.errno)",
    "tcp": "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\nexcept OSError as e: print(e.errno)",
}
COUNTERS = "print(open('/proc/self/net/snmp').read(), open('/proc/self/net/dev').read())"


@pytest.mark.parametrize("way", TRY)
def test_counters_of_the_network_tell_nothing_of_the_run_before(keeper, way):
    fresh = keeper.run(COUNTERS, "--no-warm")["stdout"]
    for _ in range(3):
        assert keeper.warm(TRY[way])["stdout"] in ("101\n", "13\n")  # No way there, or refused.
        assert keeper.warm(COUNTERS)["stdout"] == fresh


def test_a_run_that_leaves_no_trace_leaves_its_container(keeper, sandbox):
    """Else every run would wait for the next one to be built."""
    if not sandbox.is_root or pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("containers are used again where a control group of version 1 counts from zero")
    keeper.warm("print(1)")
    keeper.settle()
    before = children(keeper.process.pid)
    for _ in range(5):
        assert keeper.run("print(1)")["metrics"]["warm"] == "fork"
    assert children(keeper.process.pid) == before


@pytest.mark.parametrize("mapping", ["-1, 4096", "open('/tmp/shared', 'w+b', 0).truncate(4096) and os.open('/tmp/shared', os.O_RDWR), 4096, "
                                     "prot=mmap.PROT_READ"], ids=["memory", "file"])
def test_an_interpreter_whose_copies_would_share_memory_is_not_parked(sandbox, place, no_leftovers, mapping):
    """One run could change what the next one executes, also of what it has to make writable first."""
    text = (REPOSITORY / "languages/python.yaml").read_text()
    shared = text.replace("    import _io, atexit,", f"    import mmap, os\n    shared = mmap.mmap({mapping})\n    import _io, atexit,")
    assert shared != text
    (place / "languages").mkdir()
    sandbox.own(place / "languages")
    for name, content in (("alike", text), ("sharing", shared)):
        content = content.replace("name: python\n", f"name: {name}\n").replace("aliases: [py, python3]\n", "aliases: []\n")
        content = content.replace("extensions: [.py, .pyw]\n", "extensions: []\n").replace("shebangs: [python, pypy]\n", "shebangs: []\n")
        sandbox.make_file(place / f"languages/{name}.yaml", content)
    log = place / "keeper.jsonl"
    keeper = Keeper(sandbox, place, "--languages", str(place / "languages"), "--log", str(log))
    flags = ("--languages", str(place / "languages"))
    try:
        keeper.warm_up(*flags, language="alike")
        for _ in range(3):
            result = keeper.run("print(6 * 7)", *flags, language="sharing")
            assert (result["stdout"], result["metrics"]["warm"]) == ("42\n", "none")
            keeper.settle()
        assert any('"slot.failed"' in line and '"interpreter"' in line for line in log.read_text().splitlines())
    finally:
        keeper.stop()


# ---- a hand-over that fails ----

def pids_limit(pid):
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        limit = pathlib.Path("/sys/fs/cgroup", "pids" if controllers == "pids" else "", path.lstrip("/"), "pids.max")
        if controllers in ("pids", "") and "sandbox-run." in path and limit.exists():
            return limit
    return None


def set_processes(sandbox, pid, limit):
    """By the user: root may not here and there."""
    user = {"user": sandbox.uid, "group": sandbox.uid, "extra_groups": []} if sandbox.changes_user else {}
    subprocess.run(["prlimit", "--pid", str(pid), f"--nproc={limit}"], check=True, **user)


def test_an_interpreter_that_cannot_fork_costs_warmth_and_no_run(keeper, sandbox):
    keeper.settle()
    parked, copies = keeper.interpreters()
    assert len(parked) == 1
    limit = pids_limit(parked[0])
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = "unlimited" if most == resource.RLIM_INFINITY else most
    if sandbox.is_root:
        if not limit:
            pytest.skip("no control group limits its processes here")
        before = limit.read_text()
        limit.write_text("1")
    else:
        set_processes(sandbox, parked[0], "1:")
    ways = []
    for _ in range(len(copies) + 2):  # those that were there before are used first
        result = keeper.run("print(6 * 7)")
        assert (result["status"], result["stdout"]) == ("ok", "42\n"), result
        ways.append(result["metrics"]["warm"])
    assert ways[-2:] == ["none", "none"], ways
    if sandbox.is_root:
        limit.write_text(before)
    else:
        set_processes(sandbox, parked[0], f"{most}:")
    assert keeper.warm("print(6 * 7)")["stdout"] == "42\n"


def test_parts_that_die_at_any_moment_of_a_hand_over(sandbox, place, no_leftovers):
    """Helpers, containers, interpreters, the first process of the run, and the copy that waits to be its program; before
    the program started it is started without them, after that it is told: a copy that has become the program dies of the signal."""
    keeper = Keeper(sandbox, place, "--slots", "2").warm_up()
    moments = random.Random(5)
    seen = []
    try:
        for turn in range(32):
            keeper.warm_up()
            helpers = children(keeper.process.pid)
            parts = [helpers, [one for helper in helpers for one in children(helper)]]
            parts.append([one for part in parts[1] for one in children(part)])
            victims = parts[turn % 3] if turn % 2 else moments.sample(parts[turn % 3], min(1, len(parts[turn % 3])))
            process = sandbox.start("run", "--json", "-l", "python", "-c", "print(6 * 7)", env=keeper.env)
            time.sleep(moments.random() * 0.012)  # The moment itself: nothing is waited for.
            signal_all(victims, signal.SIGKILL)
            result = json.loads(process.communicate(timeout=60)[0])
            seen.append(result["status"])
            # Only among the last of the parts are copies, and one of those may be the program by now.
            assert result["status"] in ("ok", "internal_error", *["signaled"] * (turn % 3 == 2)), (turn, result)
            assert result["status"] != "signaled" or result["signal"] == signal.SIGKILL, (turn, result)
            assert result["status"] != "ok" or result["stdout"] == "42\n", result
        assert seen.count("ok") > len(seen) / 2, seen
        assert keeper.warm("print(6 * 7)")["stdout"] == "42\n"
    finally:
        keeper.stop()


# ---- signals, sockets, numbers ----

@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_its_caller_ignores_ends_no_keeper(sandbox, place, no_leftovers, number):
    """As nohup, and a shell that starts it in the background, have it."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        keeper = Keeper(sandbox, place)
    finally:
        signal.signal(number, before)
    try:
        keeper.process.send_signal(number)
        assert keeper.warm_up().warm("print(6 * 7)")["stdout"] == "42\n"
        assert keeper.process.poll() is None
    finally:
        keeper.stop()


# As the user's own service manager does it.
HAND_OVER = """if True:
    import os, socket, sys
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen()
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
    os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_socket_that_a_service_manager_hands_over_is_served(sandbox, place, no_leftovers):
    path = place / "handed/keeper.sock"
    path.parent.mkdir(mode=0o700)
    sandbox.own(path.parent)
    command = ["/usr/bin/python3", "-c", HAND_OVER, str(path), str(sandbox.path), "keeper", "--idle", f"{10 * SLOWNESS}s", "--quiet"]
    user = {"user": sandbox.uid, "group": sandbox.uid, "extra_groups": []} if sandbox.changes_user else {}
    env = {"SANDBOX_KEEPER": str(path)}
    with subprocess.Popen(command, env=sandbox.environment({}), **user) as process:
        try:
            leftovers.wait_until(lambda: sandbox.run_json("-l", "python", "-c", "print(1)", env=env)["metrics"]["warm"] == "fork",
                                 60, "a warm run")
            assert process.wait(HARD_TIMEOUT) == 0  # By itself, when nobody comes any more.
            assert path.exists()  # It is the manager's.
        finally:
            if process.poll() is None:
                process.terminate()


def test_without_a_folder_for_sockets_keeper_and_commands_meet_at_home(sandbox, place, no_leftovers):
    """As after `su -`, by cron, or in a container."""
    if sandbox.is_root:
        pytest.skip("that of root is always in the same place")
    env = {"HOME": str(place), "XDG_RUNTIME_DIR": "", "SANDBOX_KEEPER": ""}
    with sandbox.start("keeper", env=env) as process:
        try:
            assert process.stderr.readline().decode() == f"sandbox: the keeper listens on '{place}/.local/state/sandbox/keeper/keeper.sock'\n"
            leftovers.wait_until(lambda: sandbox.run_json("-l", "shell", "-c", "echo 1", env=env)["metrics"]["warm"] == "fork", 60, "a warm run")
        finally:
            process.terminate()
            process.communicate()


def test_who_listens_elsewhere_says_how_it_is_found(sandbox, place, no_leftovers):
    path = place / "elsewhere/keeper.sock"
    with sandbox.start("keeper", "--socket", str(path), env={"SANDBOX_KEEPER": ""}) as process:
        try:
            assert process.stderr.readline().decode().endswith(f"listens on '{path}'; commands find it with SANDBOX_KEEPER='{path}'\n")
        finally:
            process.terminate()
            process.communicate()


@pytest.mark.parametrize("path, hint", [("{place}/" + "x" * 120 + "/k.sock", "less than 108 bytes"), ("k.sock", "'./keeper/keeper.sock'"),
                                        ("{place}/open/k.sock", "--socket '{place}/open/keeper-of-"), ("{place}/no/such/k.sock", "make the folder above it")])
def test_a_place_that_will_not_do_is_refused_with_the_remedy_and_left_as_it_is(sandbox, place, path, hint):
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    sandbox.own(place / "open")
    outcome = sandbox.call("keeper", "--socket", path.format(place=place))
    assert outcome.exit_code == 125 and hint.format(place=place) in outcome.error, outcome
    assert [p.name for p in place.iterdir()] == ["open"] and not list((place / "open").iterdir())


@pytest.mark.parametrize("flags", [["--least", "5"], ["--least", "-1"], ["--least", "x"], ["--slots", "2", "--least", "3"]])
def test_numbers_that_do_not_fit_are_refused(sandbox, place, flags):
    outcome = sandbox.call("keeper", "--socket", str(place / "k/keeper.sock"), *flags)
    assert outcome.exit_code == 125 and "option '--least'" in outcome.error, outcome
    assert not (place / "k").exists() or list((place / "k").iterdir()) == []


@pytest.mark.parametrize("name", ["k.sock", "k.sock.lock"])
def test_a_file_in_the_place_of_a_socket_stays(sandbox, place, name):
    sandbox.own(place)
    (place / "own").mkdir(mode=0o700)
    (place / "own" / name).write_text("precious")
    for path in (place / "own", place / "own" / name):
        sandbox.own(path)
    outcome = sandbox.call("keeper", "--idle", "1s", "--socket", str(place / "own/k.sock"))
    assert outcome.exit_code == 125 and "of no keeper" in outcome.error and "hint: remove it, or" in outcome.error, outcome
    assert [(p.name, p.read_text()) for p in (place / "own").iterdir()] == [(name, "precious")]


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET])
def test_a_socket_at_which_somebody_listens_stays(sandbox, place, kind):
    """Another program's, or that of a service manager."""
    folder = place / "own"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(str(folder / "k.sock"))
        listener.listen()
        for path in (folder, folder / "k.sock"):
            sandbox.own(path)
        outcome = sandbox.call("keeper", "--idle", "1s", "--socket", str(folder / "k.sock"))
        assert outcome.exit_code == 125 and "of no keeper" in outcome.error, outcome
        assert [p.name for p in folder.iterdir()] == ["k.sock"]


# ---- what it has, and its end ----

def state(keeper):
    return keeper.sandbox.call("keeper", "--status", "--json", env=keeper.env).json


def test_a_keeper_says_what_it_has(keeper, sandbox):
    keeper.run("echo 1", language="shell")
    running = keeper.start_warm("import time; print(1, flush=True); time.sleep(60)", word=b"1")
    told = state(keeper)
    kind = next((kind for kind in told["kinds"] if kind["language"] == "python" and kind["in_use"] == 1), None)
    assert kind, told
    assert (kind["warm"], kind["interpreters"]) == ("fork", 1) and kind["memory"] > 1 << 20, told
    assert "shell" in [kind["language"] for kind in told["kinds"]] and told["commands"] == 1, told
    assert (told["socket"], told["pid"]) == (str(keeper.socket), keeper.process.pid) and told["forked"] > 0 < told["missed"], told
    running.kill()
    running.communicate()
    leftovers.wait_until(lambda: not any(kind["in_use"] for kind in state(keeper)["kinds"]), 30, "the end of the run")
    text = sandbox.call("keeper", "--status", env=keeper.env).stdout.decode()
    assert f"process {keeper.process.pid}, up " in text and "LANGUAGE " in text and "\npython " in text, text


def test_to_look_at_a_keeper_does_not_keep_it(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place, "--idle", f"{5 * SLOWNESS}s")
    first = state(keeper)["ends_in"]
    deadline = time.monotonic() + HARD_TIMEOUT
    while keeper.process.poll() is None:
        assert time.monotonic() < deadline
        sandbox.call("keeper", "--status", env=keeper.env)
    assert 0 < first <= 5 * SLOWNESS and keeper.process.returncode == 0
    keeper.stop()


def test_a_keeper_is_ended_with_what_it_keeps(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place).warm_up()
    running = keeper.start_warm("import time; print(1, flush=True); time.sleep(60)", word=b"1")
    outcome = sandbox.call("keeper", "--stop", env=keeper.env)
    assert (outcome.exit_code, outcome.error) == (0, "sandbox: the keeper has ended\n"), outcome
    assert keeper.process.wait(0.5) == 0  # It is gone already.
    assert not list(keeper.socket.parent.iterdir())
    running.communicate(timeout=60)
    assert running.returncode == 125
    keeper.stop()


def test_two_may_end_a_keeper_at_once(sandbox, place, no_leftovers):
    for moment in (0, 0.002, 0.01):
        keeper = Keeper(sandbox, place).warm_up()
        first = sandbox.start("keeper", "--stop", env=keeper.env)
        time.sleep(moment)  # The moment itself: nothing is waited for.
        second = sandbox.call("keeper", "--stop", env=keeper.env)
        _, error = first.communicate(timeout=60)
        for code, said in ((first.returncode, error.decode()), (second.exit_code, second.error)):
            assert code == 0 or (code == 125 and "no keeper of yours" in said), said
        keeper.stop()


def test_who_asks_where_no_keeper_is_hears_how_one_starts(sandbox, place):
    for flag in ("--status", "--stop"):
        outcome = sandbox.call("keeper", flag, "--socket", str(place / "none.sock"))
        assert outcome.exit_code == 125 and f"no keeper of yours listens on '{place}/none.sock'" in outcome.error, outcome
        assert "hint: 'sandbox keeper &' starts one" in outcome.error


@pytest.mark.parametrize("flags, why", [(["--stop", "--status"], "'--status' does not go with '--stop'"), (["--json"], "'--json' goes with '--status'"),
                                        (["--stop", "--slots", "2"], "'--slots' does not go with '--stop'"),
                                        (["--status", "--idle", "1s"], "'--idle' does not go with '--status'")])
def test_options_of_a_keeper_that_starts_are_not_for_one_that_runs(sandbox, flags, why):
    outcome = sandbox.call("keeper", *flags)
    assert outcome.exit_code == 125 and why in outcome.error, outcome


def test_one_that_does_not_answer_is_not_waited_for(sandbox, place):
    """As a keeper of another version, which hangs up, and one that is busy; or of another user, which is not believed."""
    why = b"no keeper of yours" if sandbox.changes_user else b"does not answer"
    for answers in (False, True):
        path = place / f"k{answers}.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(path))
            sandbox.own(path)
            listener.listen()
            process = sandbox.start("keeper", "--status", "--socket", str(path))
            connection, _ = listener.accept()
            if answers:
                connection.close()
            _, error = process.communicate(timeout=60)
            connection.close()
        assert process.returncode == 125 and why in error, error


def test_a_keeper_that_nobody_wants_any_more_says_so(sandbox, place, no_leftovers):
    outcome = sandbox.call("keeper", "--idle", "1s", "--socket", str(place / "k/keeper.sock"))
    assert outcome.exit_code == 0 and outcome.error.endswith("sandbox: the keeper ends: nobody came for 1s\n"), outcome


def test_a_bad_number_is_told_also_where_a_keeper_listens(keeper, sandbox):
    outcome = sandbox.call("keeper", "--slots", "0", env=keeper.env)
    assert outcome.exit_code == 125 and "option '--slots': '0' is not a number from 1 to 16" in outcome.error, outcome


def test_a_keeper_that_no_command_would_use_is_refused(sandbox):
    outcome = sandbox.call("keeper", env={"SANDBOX_KEEPER": "off"})
    assert outcome.exit_code == 125 and "SANDBOX_KEEPER is 'off'" in outcome.error and "unset it" in outcome.error, outcome
