"""The result: every field of the contract, in its order, and true."""

import datetime
import re
import time

import pytest

FIELDS = ["id", "name", "language", "version", "backend", "status", "success", "exit_code", "signal", "message",
          "stdout", "stderr", "stdout_truncated", "stderr_truncated", "stdout_bytes", "stderr_bytes", "encoding",
          "execution_time", "cpu_time", "memory_used", "compile", "deps", "files", "fuel_consumed", "metrics",
          "limits", "protections", "violations", "analysis", "cases", "template", "started_at", "cost"]
FORK_MANY = """python3 -c 'import os, time
for _ in range(99):
    if os.fork() == 0:
        time.sleep(9); os._exit(0)' """
METRICS = ["startup_time", "processes_peak", "io_read_bytes", "io_write_bytes", "warm"]


@pytest.fixture
def result(sandbox):
    return sandbox.python("print(42)")


def test_the_fields_stand_in_their_order(result):
    shown = [key for key in result if not key.startswith("_")]
    assert [key for key in shown if key in FIELDS] == FIELDS


def test_the_metrics_are_there(result):
    assert [key for key in result["metrics"] if key in METRICS] == METRICS


def test_absent_values_are_null(result):
    assert [result[key] for key in ("name", "signal", "compile", "deps", "fuel_consumed", "cases", "template", "cost")] == [None] * 8


def test_a_good_run_is_a_success(result):
    assert (result["status"], result["success"], result["exit_code"], result["message"]) == ("ok", True, 0, None)


def test_the_backend_is_the_container(result):
    assert result["backend"] == "container"


def test_the_version_is_pythons(result):
    assert re.fullmatch(r"3\.\d+\.\d+", result["version"])


def test_times_are_seconds(result):
    assert all(isinstance(result[key], float) for key in ("execution_time", "cpu_time"))
    assert 0 < result["execution_time"] < 10
    assert 0 < result["metrics"]["startup_time"] < 5


def test_sizes_are_bytes(result):
    assert isinstance(result["memory_used"], int) and result["memory_used"] > 1 << 20


def test_the_start_is_a_time_in_utc(result):
    started = datetime.datetime.strptime(result["started_at"], "%Y-%m-%dT%H:%M:%S.%fZ")
    assert abs((datetime.datetime.utcnow() - started).total_seconds()) < 120


def test_ids_differ_and_sort_by_time(sandbox):
    ids = [sandbox.shell("true")["id"] for _ in range(3)]
    assert len(set(ids)) == 3 and ids == sorted(ids)
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", ids[0])


def test_execution_time_is_wall_time(sandbox):
    started = time.monotonic()
    result = sandbox.shell("sleep 0.5")
    assert 0.5 <= result["execution_time"] < time.monotonic() - started


def test_a_lone_process_computes_no_longer_than_it_ran(sandbox):
    """Both are taken where it begins and ends, however late the supervisor hears of it."""
    for _ in range(5):
        result = sandbox.shell(":")
        used = result["metrics"]["cpu_user"] + result["metrics"]["cpu_system"]
        assert 0 < used <= result["execution_time"] + 0.0005, result


def test_written_bytes_are_counted(sandbox):
    metrics = sandbox.shell("head -c 1000000 /dev/zero > /tmp/f")["metrics"]
    assert 1_000_000 <= metrics["io_write_bytes"] < 1_100_000
    assert 1_000_000 <= metrics["io_read_bytes"] < 2_000_000


@pytest.mark.parametrize("code, flags, status, exit_code", [
    ("true", [], "ok", 0),
    ("exit 9", [], "failed", 9),
    ("kill -USR1 $$", [], "signaled", 138),
    ("sleep 60", ["-t", "300ms"], "timeout", 124),
    ("while :; do :; done", ["--cpu-time", "300ms"], "cpu_limit", 124),
    ("head -c 300M /dev/zero | tail -c 300M | wc -c; exit ${PIPESTATUS[1]}", ["-m", "48M"], "memory_limit", 137),
    (FORK_MANY, ["--processes", "8", "-t", "9s"], "process_limit", None),
    ("head -c 9M /dev/zero > big", ["--disk", "2M"], "disk_limit", None),
    ("while :; do echo x; done", ["--output-limit", "1K", "--output-kill"], "output_limit", None),
])
def test_every_end_has_its_status(sandbox, code, flags, status, exit_code):
    result = sandbox.shell(code, *flags)
    assert result["status"] == status, result
    assert result["success"] == (status == "ok")
    assert exit_code is None or result["_exit"] == exit_code


@pytest.mark.parametrize("code, flags, words", [
    ("sleep 60", ["-t", "250ms"], "timed out after 0.25s"),
    ("while :; do :; done", ["--cpu-time", "300ms"], "0.3s"),
    (FORK_MANY, ["--processes", "8", "-t", "9s"], "8"),
    ("head -c 9M /dev/zero > big", ["--disk", "2M"], "2 MiB"),
    ("while :; do echo x; done", ["--output-limit", "1K", "--output-kill"], "1 KiB"),
])
def test_every_limit_has_a_sentence_with_its_value(sandbox, code, flags, words):
    assert words in sandbox.shell(code, *flags)["message"]


def test_a_python_syntax_error_has_a_sentence(sandbox):
    result = sandbox.python("x = 1\nif x print(x)\n")
    assert result["status"] == "failed"
    assert result["message"] == "Python syntax error: invalid syntax (line 2)"


def test_an_uncaught_exception_is_the_programs_failure(sandbox):
    result = sandbox.python("raise ValueError('x')")
    assert (result["status"], result["exit_code"]) == ("failed", 1)
    assert "ValueError: x" in result["stderr"]


def test_a_refusal_is_ours(sandbox):
    result = sandbox.shell("true", "--backend", "local", "--network", "none")
    if result["status"] != "refused":
        pytest.skip("this machine can do it without a container")
    assert (result["_exit"], result["success"]) == (125, False)
    assert result["message"] and "sandbox: " in result["_stderr"]


def test_protections_have_the_contracts_form(result):
    for protection in result["protections"]:
        assert {"name", "state"} <= set(protection)
        assert protection["state"] in ("enforced", "missing")


def test_a_signal_has_a_sentence(sandbox):
    assert sandbox.shell("kill -SEGV $$")["message"]


def test_the_result_says_how_warm_it_started(result):
    assert result["metrics"]["warm"] in ("none", "fork", "once")
