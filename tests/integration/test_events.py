"""Events: what is told while a run goes on, to `--log` and to `jsonl`."""

import json
import os
import pathlib
import signal
import socket
import subprocess

import pytest

from helpers import processes

HOG = "import time\nb = b'x' * (%d << 20)\ntime.sleep(0.3)"


def log_of(sandbox, place, *args, **options):
    """The events that `--log` writes to a file."""
    path = place / "log.jsonl"
    outcome = sandbox.run("--log", path, *args, **options)
    return outcome, [json.loads(line) for line in path.read_bytes().splitlines()]


def kinds(events):
    return [event["event_name"] for event in events]


def only(events, kind):
    return [event["attributes"] for event in events if event["event_name"] == kind]


def test_a_run_is_told_from_start_to_end(sandbox, place):
    outcome, events = log_of(sandbox, place, "-l", "shell", "-c", "exit 5")
    assert kinds(events) == ["execution.start", "execution.complete"], outcome
    last = events[-1]
    assert last["attributes"]["sandbox.status"] == "failed" and last["attributes"]["process.exit.code"] == 5
    assert last["resource"]["service.name"] == "sandbox" and last["severity_number"] == 9


def test_code_in_a_template_is_told_like_any_other(sandbox, place):
    _, events = log_of(sandbox, place, "--template", "call", "--set", "function=f", "-l", "python", "-c",
                       "def f(): return 1")
    assert kinds(events) == ["execution.start", "execution.complete"]


def test_cases_are_told_as_one_run(sandbox, place):
    cases = sandbox.make_file(place / "cases.yaml", "- { stdin: '1', expected: '1' }\n- { stdin: '2', expected: '3' }\n")
    _, events = log_of(sandbox, place, "--cases", cases, "-l", "shell", "-c", "cat")
    assert kinds(events) == ["execution.start", "execution.complete"]


def test_the_log_is_private_and_appended_to(sandbox, place):
    log_of(sandbox, place, "-l", "shell", "-c", "true")
    _, events = log_of(sandbox, place, "-l", "shell", "-c", "true")
    assert len(events) == 4 and (place / "log.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_limit_that_comes_near_is_a_warning(sandbox, place):
    _, events = log_of(sandbox, place, "-m", "200M", "-l", "python", "-c", HOG % 183)
    warning, = only(events, "limit.warning")
    assert warning["sandbox.limit.name"] == "memory" and warning["sandbox.limit.allowed"] == 200 << 20
    assert 0.9 * (200 << 20) <= warning["sandbox.limit.used"] <= 200 << 20
    assert "limit.exceeded" not in kinds(events)


@pytest.mark.parametrize("percent, warned", [(20, True), (0, False), (99, False)])
def test_the_threshold_is_the_policys(sandbox, place, percent, warned):
    policy = sandbox.make_file(place / "p.yaml", f"version: 1\nmonitoring: {{ warn_memory: {percent} }}\n")
    _, events = log_of(sandbox, place, "--policy", policy, "-m", "64M", "-l", "python", "-c", HOG % 20)
    assert ("limit.warning" in kinds(events)) == warned


def test_a_limit_that_is_passed_is_told(sandbox, place):
    _, events = log_of(sandbox, place, "-t", "0.3", "-l", "shell", "-c", "sleep 9")
    assert [event["sandbox.limit.name"] for event in only(events, "limit.warning")] == ["timeout"]
    assert [event["sandbox.limit.name"] for event in only(events, "limit.exceeded")] == ["timeout"]
    assert "security.violation" in kinds(events) and kinds(events)[-1] == "execution.complete"


def test_protections_that_were_given_up_are_told(sandbox, place):
    _, events = log_of(sandbox, place, "--backend", "local", "--enforcement", "best-effort", "-l", "shell", "-c", "true")
    missing = {event["sandbox.protection"] for event in only(events, "security.bypass")}
    assert "pid_namespace" in missing


def test_analysis_that_was_left_out_is_told(sandbox, place):
    _, events = log_of(sandbox, place, "--trusted", "-l", "python", "-c", "import subprocess")
    assert only(events, "security.bypass")[0]["sandbox.protection"] == "static analysis was left out: --trusted"


def test_code_that_was_blocked_is_told(sandbox, place):
    outcome, events = log_of(sandbox, place, "--check", "block", "-l", "python", "-c", "import subprocess")
    told, = only(events, "security.blocked")
    assert outcome.exit_code == 126
    assert told["sandbox.reason"] == "Security policy blocked import: subprocess (line 1)"
    assert kinds(events)[0] == "execution.start" and kinds(events)[-1] == "execution.complete"


@pytest.mark.parametrize("flags, code, limit", [
    (["--cpu-time", "0.2"], "while True: pass", "cpu_time"),
    (["-m", "48M"], "b = b'x' * (200 << 20)", "memory"),
    (["--disk", "1M"], "open('f', 'wb').write(b'x' * (4 << 20))", "disk"),
    (["--output-limit", "1K", "--output-kill"], "while True: print('x' * 100)", "output"),
])
def test_each_limit_that_is_passed_is_told_by_its_name(sandbox, place, flags, code, limit):
    _, events = log_of(sandbox, place, *flags, "-l", "python", "-c", code)
    assert limit in [event["sandbox.limit.name"] for event in only(events, "limit.exceeded")], events


def test_what_a_killed_supervisor_left_is_told(sandbox, place):
    """Supervisor and warden die at once, so that nobody removes the control groups; the next run does, and says so."""
    by = {p["name"]: p["by"] for p in sandbox.run_json("-l", "shell", "-c", "true")["protections"]}
    if not (by.get("memory") or "").startswith("cgroup"):
        pytest.skip("there are no control groups for this user")
    process = sandbox.start("run", "--no-record", "-l", "shell", "-c", "echo ready; sleep 60")
    assert process.stdout.readline() == b"ready\n"
    both = [process.pid, *processes.children(process.pid)]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        processes.signal_all(both, number)
    process.communicate()
    _, events = log_of(sandbox, place, "-l", "shell", "-c", "true")
    assert only(events, "cleanup.leftover")[0]["sandbox.reason"].startswith("control groups of a supervisor"), events


def test_a_fallback_is_told(sandbox, place):
    outcome, events = log_of(sandbox, place, "--backend", "docker", "--fallback", "container", "-l", "shell", "-c", "true",
                             env={"DOCKER_HOST": "unix:///nowhere.sock"})
    told = only(events, "backend.fallback")
    assert len(told) == 1 and told[0]["sandbox.reason"].startswith("container instead: "), outcome


def test_a_record_that_failed_is_told(sandbox, place):
    sandbox.make_file(place / "state", "x")
    _, events = log_of(sandbox, place, "-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": str(place / "state")})
    assert "record.failed" in kinds(events)


def test_nothing_secret_and_nothing_that_acts_is_in_an_event(sandbox, place):
    evil = "import sys; print('s3cr3t-out'); raise SyntaxError('\\x1b[2J\\x9b31m\\r\\n{\"event_name\":\"forged\"}')"
    log_of(sandbox, place, "-l", "python", "-e", "T=s3cr3t-env", "--stdin", "/dev/null", "-c", evil + " # s3cr3t-code",
           "--", "s3cr3t-arg")
    raw = (place / "log.jsonl").read_bytes()
    assert b"s3cr3t" not in raw and b"\x1b" not in raw and b"\r" not in raw and b"\xc2\x9b" not in raw
    assert {json.loads(line)["event_name"] for line in raw.splitlines()} == {"execution.start", "execution.complete"}


def test_a_dash_is_standard_error(sandbox):
    outcome = sandbox.run("--log", "-", "-l", "shell", "-c", "echo out")
    assert outcome.stdout == b"out\n"
    assert [json.loads(line)["event_name"] for line in outcome.stderr.splitlines()][0] == "execution.start"


@pytest.mark.parametrize("where", ["/no/such/place/log", "/"])
def test_a_log_that_cannot_be_opened_runs_nothing(sandbox, place, where):
    outcome = sandbox.run("--log", where, "--workspace", place / "w", "-l", "shell", "-c", "touch ran")
    assert outcome.exit_code == 125 and "option '--log'" in outcome.error
    assert not (place / "w/ran").exists()


@pytest.mark.parametrize("where, path, start", [("journald", "/run/systemd/journal/socket", b"SYSLOG_IDENTIFIER=sandbox\n"),
                                                ("syslog", "/dev/log", b"<14>sandbox: {")])
def test_journald_and_syslog_get_one_datagram_each(sandbox, place, where, path, start):
    """Their sockets are in a mount namespace of the test's own, into which a receiver is bound."""
    if not sandbox.is_root:
        pytest.skip("mounting takes root")
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(place / "receiver"))
    receiver.settimeout(20)
    folder = os.path.dirname(path)
    script = (f'mkdir -p {folder} 2>/dev/null; mount -t tmpfs none {folder} && touch {path} && '
              f'mount --bind {place}/receiver {path} && exec "$S" run --log {where} --backend local '
              f'--enforcement best-effort -l shell -c true')
    if where == "syslog":  # The rest of /dev must stay as it is.
        script = script.replace(f"mount -t tmpfs none {folder} && touch {path} && ", f"touch {path} && ")
    had_file = os.path.lexists(path)
    try:
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                              env=sandbox.environment({"S": str(sandbox.path)}))
        assert done.returncode == 0, done
        datagram = receiver.recv(65536)
    finally:
        receiver.close()
        if where == "syslog" and not had_file:
            pathlib.Path(path).unlink(missing_ok=True)
    assert datagram.startswith(start)
    assert json.loads(datagram[datagram.index(b"{"):])["event_name"] == "execution.start"


# ---- jsonl ----

def test_usage_lines_say_what_is_used(sandbox):
    def is_all_told(told):
        return (told["event"] == "usage" and told["memory_peak"] >= 40 << 20 and
                all((told[name] or 0) >= 3000000 for name in ("disk", "io_write")))

    events = sandbox.run_held("-l", "python", "-c",
                              "import time\nopen('f', 'wb').write(b'x' * 3000000)\nb = b'x' * (40 << 20)\n"
                              "while time.process_time() < 0.5: pass\ninput()", until=[is_all_told])
    usage = [event for event in events if event["event"] == "usage"]
    result = events[-1]["result"]
    assert usage and usage[-1]["memory_peak"] >= 40 << 20
    assert usage[-1]["disk"] >= 3000000 and usage[-1]["io_write"] >= 3000000
    assert usage[-1]["cpu_time"] <= result["cpu_time"] * 1.05 + 0.02
    assert all(0 <= event["cpu_percent"] <= 250 for event in usage)
    assert usage[-1]["network_in"] in (0, None)


def test_the_interval_is_the_policys(sandbox, place):
    """Never sooner; and twice as often as without, unless the machine holds it up each time."""
    policy = sandbox.make_file(place / "p.yaml", "version: 1\nmonitoring: { interval: 20ms }\n")

    def count(seconds, *flags):
        events = sandbox.run("-o", "jsonl", *flags, "-l", "shell", "-c", "sleep 0.6").events
        told = sum(event["event"] == "usage" for event in events)
        assert told <= events[-1]["result"]["execution_time"] / seconds + 1
        return told

    count(0.1)
    assert any(count(0.02, "--policy", policy) > 12 for _ in range(20))


def test_a_warning_is_a_line(sandbox):
    events = sandbox.run("-o", "jsonl", "-t", "0.3", "-l", "shell", "-c", "sleep 9").events
    warning, = [event for event in events if event["event"] == "warning"]
    assert (warning["limit"], warning["allowed"]) == ("timeout", 300)


def test_figures_agree_with_the_kernels_own(sandbox, compile_program):
    """A program that touches a known amount says what the kernel counts for it."""
    program = compile_program("hold", "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                                      "int main(void) { char *p = malloc(200 << 20); memset(p, 1, 200 << 20);"
                                      " for (volatile char *q = p; q < p + (200 << 20); q += 4096) *q = 1;"
                                      " return read(0, p, 1) != 1 || p[4096] != 1; }")
    events = sandbox.run_held("-m", "400M", "-f", program,
                              until=[lambda told: told["event"] == "usage" and told["memory"] >= 190 << 20])
    memory = max(event["memory"] for event in events if event["event"] == "usage")
    assert memory == pytest.approx(200 << 20, rel=0.05)
