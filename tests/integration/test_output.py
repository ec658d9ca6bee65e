"""The forms of output: raw, text, json, jsonl; caps, encodings, streams, readers that go away."""

import base64
import json
import os
import pty
import subprocess
import time

import pytest

from helpers.leftovers import wait_until

BINARY = bytes(range(256))
PRINT_BINARY = "import os; os.write(1, bytes(range(256)))"


# Raw.

def test_raw_passes_bytes_through(sandbox):
    assert sandbox.run("-l", "python", "-c", PRINT_BINARY).stdout == BINARY


def test_raw_keeps_the_streams_apart(sandbox):
    outcome = sandbox.run("-l", "shell", "-c", "echo out; echo err >&2")
    assert (outcome.stdout, outcome.stderr) == (b"out\n", b"err\n")


def test_raw_output_comes_while_the_program_runs(sandbox):
    process = sandbox.start("run", "-l", "shell", "-c", "echo first; read line; echo second",
                            "--stdin", "-", stdin=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"first\n"  # The program waits: this came before its end.
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stdout.read() == b"second\n"
    assert process.returncode == 0


def test_raw_output_beyond_the_cap_is_dropped_and_the_program_goes_on(sandbox):
    outcome = sandbox.run("-l", "shell", "--output-limit", "1000", "-c", "head -c 100000 /dev/zero; exit 5")
    assert (outcome.exit_code, len(outcome.stdout)) == (5, 1000)


def test_raw_large_output_into_a_file_is_whole(sandbox, place):
    target = place / "out"
    with open(target, "wb") as out:
        outcome = sandbox.run("-l", "shell", "--output-limit", "100M", "-t", "50s", "-c",
                              "head -c 50000000 /dev/zero", stdout=out)
    assert (outcome.exit_code, target.stat().st_size) == (0, 50_000_000), outcome


def test_raw_appends_to_a_file_opened_for_appending(sandbox, place):
    target = place / "log"
    target.write_bytes(b"before\n")
    with open(target, "ab") as out:
        sandbox.run("-l", "shell", "-c", "echo after", stdout=out)
    assert target.read_bytes() == b"before\nafter\n"


def on_terminal(sandbox, *args):
    """Runs with standard output and error on a terminal; returns all that appeared there."""
    master, slave = pty.openpty()
    process = sandbox.start("run", *args, stdout=slave, stderr=slave, env={"TERM": "xterm"})
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:
        pass  # The other end is closed: the end of the output.
    process.wait(60)
    os.close(master)
    return shown


def test_raw_ends_with_one_dim_line_on_a_terminal(sandbox):
    shown = on_terminal(sandbox, "-l", "shell", "-c", "echo hi")
    assert shown.startswith(b"hi\r\n")
    assert shown.count(b"\n") == 2 and b"\x1b[2m" in shown.splitlines()[1]


def test_raw_says_nothing_more_where_there_is_no_terminal(sandbox):
    assert sandbox.run("-l", "shell", "-c", "echo hi").stderr == b""


def test_quiet_keeps_the_line_away(sandbox):
    assert on_terminal(sandbox, "-q", "-l", "shell", "-c", "echo hi") == b"hi\r\n"


def test_the_program_sees_no_terminal(sandbox):
    shown = on_terminal(sandbox, "-q", "-l", "shell", "-c",
                        "test -t 0 || test -t 1 || test -t 2 && echo terminal || echo none")
    assert shown == b"none\r\n"


def test_raw_tells_a_timeout_in_one_line(sandbox):
    outcome = sandbox.run("-l", "shell", "-t", "300ms", "-c", "sleep 60")
    assert outcome.error == "sandbox: Code execution timed out after 0.3s\n"


# Text.

def test_text_has_header_streams_and_metrics(sandbox):
    outcome = sandbox.run("--text", "-l", "shell", "-c", "echo to-out; echo to-err >&2")
    text = outcome.stdout.decode()
    assert all(part in text for part in ("to-out", "to-err", "stdout", "stderr", "Bash", "memory")), text
    assert outcome.stderr == b""


def test_text_carries_no_colour_off_a_terminal(sandbox):
    assert b"\x1b" not in sandbox.run("--text", "-l", "shell", "-c", "exit 1").stdout


def test_text_shows_the_message(sandbox):
    assert b"timed out after 0.3s" in sandbox.run("--text", "-l", "shell", "-t", "300ms", "-c", "sleep 9").stdout


# JSON.

def test_json_is_one_object(sandbox):
    outcome = sandbox.run("--json", "-l", "shell", "-c", "echo hi")
    assert outcome.json["stdout"] == "hi\n"
    assert outcome.stderr == b""


@pytest.mark.parametrize("flags", [["--json"], ["-o", "json"], ["--output", "json"], ["--output=json"]])
def test_json_is_asked_for_in_several_ways(sandbox, flags):
    assert sandbox.run(*flags, "-l", "shell", "-c", "true").json["status"] == "ok"


def test_json_with_binary_output_is_base64(sandbox):
    result = sandbox.python(PRINT_BINARY)
    assert result["encoding"] == "base64"
    assert base64.b64decode(result["stdout"]) == BINARY


def test_json_with_text_is_utf8(sandbox):
    result = sandbox.python("print('grün ✓ 💡')")
    assert (result["encoding"], result["stdout"]) == ("utf-8", "grün ✓ 💡\n")


def test_json_counts_all_bytes_and_keeps_the_cap(sandbox):
    result = sandbox.shell("head -c 5000 /dev/zero | tr '\\0' x; head -c 70 /dev/zero | tr '\\0' y >&2",
                           "--output-limit", "1000")
    assert (len(result["stdout"]), result["stdout_bytes"], result["stdout_truncated"]) == (1000, 5000, True)
    assert (result["stderr_bytes"], result["stderr_truncated"]) == (70, False)


def test_json_cut_within_a_character_stays_text(sandbox):
    result = sandbox.python("print('ü' * 100, end='')", "--output-limit", "101")
    assert (result["encoding"], result["stdout"], result["stdout_truncated"]) == ("utf-8", "ü" * 50, True)


def test_each_stream_has_its_own_cap(sandbox):
    result = sandbox.shell("head -c 3000 /dev/zero | tr '\\0' x; head -c 3000 /dev/zero | tr '\\0' y >&2",
                           "--output-limit", "1000")
    assert (len(result["stdout"]), len(result["stderr"])) == (1000, 1000)


def test_output_of_control_bytes_is_capped_after_encoding(sandbox):
    outcome = sandbox.run("--json", "-l", "shell", "--output-limit", "100K", "-c", "head -c 200000 /dev/zero")
    assert len(outcome.stdout) < 250_000
    assert base64.b64decode(outcome.json["stdout"]) == bytes(102400)


def test_output_kill_ends_the_program(sandbox):
    result = sandbox.shell("while :; do echo flood; done", "--output-limit", "10K", "--output-kill", "-t", "20s")
    assert (result["status"], result["stdout_truncated"], len(result["stdout"])) == ("output_limit", True, 10240)


def test_output_kill_holds_for_standard_error(sandbox):
    result = sandbox.shell("while :; do echo flood >&2; done", "--output-limit", "10K", "--output-kill", "-t", "20s")
    assert (result["status"], result["stderr_truncated"]) == ("output_limit", True)


def test_output_kill_lets_a_program_below_the_cap_be(sandbox):
    assert sandbox.shell("echo short", "--output-limit", "10K", "--output-kill")["status"] == "ok"


def test_a_flood_without_kill_goes_on_to_its_own_end(sandbox):
    result = sandbox.shell("head -c 3000000 /dev/zero; exit 4", "--output-limit", "10K")
    assert (result["status"], result["_exit"], result["stdout_bytes"]) == ("failed", 4, 3_000_000)


# JSON lines.

def test_jsonl_streams_events(sandbox):
    events = sandbox.run_held("-l", "shell", "-c", "echo out; echo err >&2; read line",
                              until=[lambda told: told["event"] == "usage"])
    kinds = [event["event"] for event in events]
    assert kinds[0] == "start" and kinds[-1] == "complete"
    assert {"stdout", "stderr", "usage"} <= set(kinds)
    assert "".join(e["data"] for e in events if e["event"] == "stdout") == "out\n"
    assert events[-1]["result"]["status"] == "ok"


def test_jsonl_samples_usage_each_tenth_of_a_second(sandbox):
    """Never sooner; and that often, unless the machine holds it up each time."""
    def is_kept():
        events = sandbox.run("-o", "jsonl", "-l", "shell", "-c", "sleep 1.05").events
        told, tenths = sum(event["event"] == "usage" for event in events), events[-1]["result"]["execution_time"] * 10
        assert told <= tenths + 1
        return told >= 0.65 * tenths

    assert any(is_kept() for _ in range(10))


def test_jsonl_comes_while_the_program_runs(sandbox):
    process = sandbox.start("run", "-o", "jsonl", "-l", "shell", "--stdin", "-", "-c",
                            "echo first; read line", stdin=subprocess.PIPE)
    with process:
        for line in process.stdout:
            if json.loads(line)["event"] == "stdout":
                break
        process.stdin.close()
        assert json.loads(process.stdout.readlines()[-1])["event"] == "complete"


def test_jsonl_carries_binary_output_as_base64(sandbox):
    events = sandbox.run("-o", "jsonl", "-l", "python", "-c", PRINT_BINARY).events
    parts = [event for event in events if event["event"] == "stdout"]
    assert b"".join(base64.b64decode(e["data"]) if e["encoding"] == "base64" else e["data"].encode()
                    for e in parts) == BINARY


# Readers that are not there.

def test_a_full_disk_is_our_error(sandbox):
    with open("/dev/full", "wb") as full:
        outcome = sandbox.run("--json", "-l", "shell", "-c", "echo hi", stdout=full)
    assert outcome.exit_code == 125
    assert outcome.error.startswith("sandbox: ") and "No space left" in outcome.error


def test_a_full_disk_in_raw_is_our_error(sandbox, no_leftovers):
    with open("/dev/full", "wb") as full:
        outcome = sandbox.run("-l", "shell", "-c", "echo hi", stdout=full)
    assert outcome.exit_code == 125, outcome
    assert outcome.error.startswith("sandbox: ")


def test_a_reader_that_goes_away_ends_the_run(sandbox, no_leftovers):
    process = sandbox.start("run", "-l", "shell", "-t", "60s", "--output-limit", "10G", "-c", "yes")
    assert process.stdout.read(4) == b"y\ny\n"
    process.stdout.close()
    started = time.monotonic()
    wait_until(lambda: process.poll() is not None, 45, "end after the reader left")
    assert process.returncode != 0
    assert time.monotonic() - started < 45
    process.stderr.close()


def test_closed_standard_output_is_our_error_and_nothing_runs(sandbox, place):
    place.chmod(0o777)
    outcome = sandbox.run("--json", "-l", "shell", "--workspace", str(place), "-c", "touch ran",
                          stdout=None, preexec_fn=lambda: os.close(1))
    assert outcome.exit_code == 125
    assert not (place / "ran").exists()


def test_closed_standard_input_is_an_empty_one(sandbox):
    outcome = sandbox.run("--json", "-l", "shell", "-c", "cat; echo end", stdin=None,
                          preexec_fn=lambda: os.close(0))
    assert outcome.json["stdout"] == "end\n"


def test_all_streams_closed_is_our_error(sandbox, no_leftovers):
    outcome = sandbox.run("-l", "shell", "-c", "echo hi", stdin=None, stdout=None, stderr=None,
                          preexec_fn=lambda: os.closerange(0, 3))
    assert outcome.exit_code == 125
