"""Every run leaves one record, and nothing that happens to the records harms a run."""

import json
import os
import shutil
import stat
import subprocess
import time

import pytest

from helpers import journal
from helpers.leftovers import wait_until


@pytest.fixture
def state(place):
    return place / "state"


@pytest.fixture
def run(sandbox, state):
    """Runs shell code with a state directory of the test's own."""
    def go(code="true", *flags, env=None, language="shell"):
        return sandbox.run_json("-l", language, *flags, "-c", code, env={"SANDBOX_STATE_DIR": str(state), **(env or {})})
    return go


def folders(state):
    return sorted(path for path in (state / "executions").glob("*/*") if path.is_dir())


# ---- the record ----

def test_a_run_leaves_one_record_of_itself(run, state, sandbox):
    result = run("exit 3", "--name", "mine")
    record, = journal.records(state)
    assert (record["id"], record["name"], record["status"], record["exit_code"]) == (result["id"], "mine", "failed", 3)
    assert (record["language"], record["backend"], record["uid"]) == ("shell", result["backend"], sandbox.uid)
    assert record["limits"] == {name: value for name, value in result["limits"].items() if name in record["limits"]}
    assert record["execution_time"] == pytest.approx(result["execution_time"], abs=2e-6)
    assert record["memory_used"] == result["memory_used"]
    enforced = {p["name"]: p["by"] for p in result["protections"] if p["state"] == "enforced"}
    assert {name: by for name, by in record["protections"].items() if by} == enforced


def test_a_run_whose_output_nobody_takes_is_recorded(sandbox, state):
    with open("/dev/full", "wb") as full:
        outcome = sandbox.run("-l", "shell", "-c", "echo hi", stdout=full, env={"SANDBOX_STATE_DIR": str(state)})
    assert outcome.exit_code == 125
    record, = journal.records(state)
    assert record["status"] == "internal_error" and "No space left" in record["message"]
    assert record["protections"]


def test_the_record_has_the_hash_of_the_code(run, state):
    run("echo hello")
    digest = subprocess.run(["sha256sum"], input=b"echo hello", capture_output=True, check=True).stdout[:64].decode()
    assert journal.records(state)[0]["code"] == {"sha256": digest, "bytes": 10}


@pytest.mark.parametrize("where", ["workspace", "volume"])
def test_a_program_that_rewrites_its_own_file_does_not_change_its_record(sandbox, state, place, where):
    (place / "work").mkdir()
    sandbox.own(place / "work")
    code = "with open('%s/main.py', 'r+') as f: f.write('#')\nprint(open('%s/main.py').read(1))\n"
    inside = "/workspace" if where == "workspace" else "/data"
    path = sandbox.make_file(place / "work/main.py", code % (inside, inside))
    sandbox.own(path)
    digest = subprocess.run(["sha256sum", path], capture_output=True, check=True).stdout[:64].decode()
    flags = ["--workspace", place / "work"] if where == "workspace" else ["--volume", f"{place / 'work'}:/data:rw"]
    outcome = sandbox.run(*flags, path, env={"SANDBOX_STATE_DIR": str(state)})
    assert outcome.stdout == b"#\n", outcome
    assert [record["code"]["sha256"] for record in journal.records(state)] == [digest]


def test_the_hash_of_a_large_program_is_remembered_and_true(sandbox, state, place):
    path = sandbox.make_file(place / "large.sh", "#" * 40000 + "\ntrue\n")
    os.utime(path, (1, 1))
    digest = subprocess.run(["sha256sum", path], capture_output=True, check=True).stdout[:64].decode()
    wait_until(lambda: os.stat(path).st_ctime + 3.1 < time.time(), what="the file is left alone")
    for _ in range(2):
        sandbox.run("-q", path, env={"SANDBOX_STATE_DIR": str(state)})
    assert [record["code"]["sha256"] for record in journal.records(state)] == [digest] * 2
    assert digest.encode() in (state / "code-hashes").read_bytes()


@pytest.mark.parametrize("flags, expected", [
    ([], {"state": "done", "risk": "high", "findings": 2}),
    (["--check", "block"], {"state": "done", "risk": "high", "findings": 2}),
    (["--trusted"], {"state": "trusted", "risk": None, "findings": 0}),
    (["--check", "off"], None),
])
def test_the_record_has_the_risk(run, state, flags, expected):
    run("import subprocess, socket", *flags, language="python")
    assert journal.records(state)[0]["analysis"] == expected


def test_the_risk_is_recorded_also_where_nobody_looks(sandbox, state):
    """The form raw belongs to the program: what analysis found is told nowhere else."""
    outcome = sandbox.run("-q", "-l", "python", "-c", "import socket, time\ntime.sleep(1)",
                          env={"SANDBOX_STATE_DIR": str(state)})
    assert (outcome.exit_code, outcome.stderr) == (0, b"")
    assert journal.records(state)[0]["analysis"]["state"] == "done"


def test_neither_code_nor_input_nor_output_is_in_the_journal(run, state):
    run("echo s3cr3t-out; cat; : s3cr3t-code", "-e", "TOKEN=s3cr3t-env", "--", "s3cr3t-arg")
    assert b"s3cr3t" not in b"".join(journal.lines(state))


def test_records_are_private(run, state):
    run("false")
    for path in [state, *state.rglob("*")]:
        if path.is_file() and "files" in path.parts:
            continue
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_refusal_and_a_compile_error_are_recorded(run, state):
    run("int main( {", language="c")
    run("true", "--memory", "1G", "--cpus", "1024", "--processes", "32768")
    assert [record["status"] for record in journal.records(state)][0] == "compile_error"


def test_a_mistake_in_the_request_is_no_run(sandbox, state):
    sandbox.run("-l", "klingon", "-c", "x", env={"SANDBOX_STATE_DIR": str(state)})
    assert not journal.lines(state)


def test_the_doctor_leaves_no_record(sandbox, state):
    sandbox.call("doctor", env={"SANDBOX_STATE_DIR": str(state)})
    assert not state.exists()


def test_each_case_has_its_record(sandbox, state, place):
    cases = sandbox.make_file(place / "cases.yaml", "- { stdin: '1', expected: '1' }\n- { stdin: '2', expected: '3' }\n")
    sandbox.run("--cases", cases, "-l", "shell", "-c", "cat", env={"SANDBOX_STATE_DIR": str(state)})
    assert [record["status"] for record in journal.records(state)] == ["ok", "ok"]


def test_no_record_leaves_nothing(run, state):
    run("false", "--no-record")
    assert not state.exists()


def test_the_policy_switches_records_off(sandbox, run, state, place):
    for form in ("records: { mode: off }", "records: off"):
        run("false", "--policy", sandbox.make_file(place / "off.yaml", f"version: 1\n{form}\n"))
        assert not state.exists()


def test_texts_of_the_guest_cannot_break_a_line(sandbox, state, place):
    evil = "raise SyntaxError('\\x1b[2J\\x9b31m\\u202e\\r\\n{\"prev\":\"x\",\"seq\":99}\\x00')"
    sandbox.run("-l", "python", "-c", evil, "--name", 'a"b\\', env={"SANDBOX_STATE_DIR": str(state)})
    record, = journal.records(state)
    assert record["name"] == 'a"b\\'
    raw, = journal.lines(state)
    assert all(0x20 <= byte != 0x7f for byte in raw) and b"\xc2\x9b" not in raw


def test_runs_at_the_same_time_all_have_their_record(sandbox, state):
    processes = [sandbox.start("run", "-q", "-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": str(state)})
                 for _ in range(12)]
    for process in processes:
        process.communicate()
    assert len(journal.records(state)) == 12


# ---- what is kept beside it ----

@pytest.mark.parametrize("store, code, kept", [("never", "false", 0), ("on_error", "true", 0), ("on_error", "false", 1),
                                               ("always", "true", 1)])
def test_code_is_kept_as_the_policy_says(run, state, store, code, kept):
    run(code, env={"SANDBOX_STORE_CODE": store})
    assert len(folders(state)) == kept
    assert bool(journal.records(state)[0]["artifacts"]) == bool(kept)


def test_code_outputs_result_and_files_are_kept_whole(run, state):
    result = run("echo out; echo err >&2; mkdir d; echo made > d/f", env={"SANDBOX_STORE_CODE": "always"})
    folder, = folders(state)
    assert journal.records(state)[0]["artifacts"] == str(folder.relative_to(state))
    assert (folder / "code.sh").read_text().startswith("echo out")
    assert (folder / "stdout").read_text() == "out\n" and (folder / "stderr").read_text() == "err\n"
    assert (folder / "files/d/f").read_text() == "made\n"
    kept = json.loads((folder / "result.json").read_text())
    assert (kept["id"], kept["stdout"]) == (result["id"], "out\n")
    assert folder.name.endswith("-" + journal.records(state)[0]["code"]["sha256"][:8])
    assert not list((state / "executions").glob(".new-*"))


@pytest.mark.parametrize("to_file", [False, True])
def test_outputs_that_go_straight_to_the_caller_are_kept_too(sandbox, state, place, to_file):
    options = {"stdout": open(place / "out", "wb")} if to_file else {}
    process = sandbox.start("run", "-q", "--output-limit", "300K", "-l", "shell", "-c", "head -c 500000 /dev/zero; echo err >&2",
                            env={"SANDBOX_STATE_DIR": str(state), "SANDBOX_STORE_CODE": "always"}, **options)
    out, err = process.communicate()
    folder, = folders(state)
    out = (place / "out").read_bytes() if to_file else out
    assert (folder / "stdout").read_bytes() == out == bytes(300 << 10)
    assert (folder / "stderr").read_bytes() == err.split(b"\n")[0] + b"\n" == b"err\n"


@pytest.mark.parametrize("to_file", [False, True])
def test_of_a_failed_run_the_beginning_of_what_went_straight_to_the_caller_is_kept(sandbox, state, place, to_file):
    """More than is kept, of bytes that show where one went missing or came twice."""
    options = {"stdout": open(place / "out", "wb")} if to_file else {}
    code = "seq 400000; seq 3 >&2; exit 3"
    process = sandbox.start("run", "--output-limit", "8M", "-l", "shell", "-c", code,
                            env={"SANDBOX_STATE_DIR": str(state)}, **options)
    out, err = process.communicate()
    out = (place / "out").read_bytes() if to_file else out
    assert out == b"".join(b"%d\n" % number for number in range(1, 400001)) and len(out) > 2 << 20
    assert (process.returncode, err) == (3, b"1\n2\n3\n")
    folder, = folders(state)
    assert (folder / "stdout").read_bytes() == out[:1 << 20] and (folder / "stderr").read_bytes() == err
    kept = json.loads((folder / "result.json").read_text())
    assert (kept["stdout_truncated"], kept["stderr_truncated"]) == (True, False)
    assert (kept["stdout_bytes"], kept["stderr_bytes"]) == (len(out), len(err))
    assert journal.records(state)[0]["metrics"]["stdout_truncated"] is False  # the limit of output cut nothing


def test_what_is_kept_of_a_failed_run_is_told_once(sandbox, state):
    """An error that the sandbox could make a sentence of is still the program's to tell."""
    process = sandbox.start("run", "-l", "python", "-c", "x = = 1", env={"SANDBOX_STATE_DIR": str(state)})
    out, err = process.communicate()
    folder, = folders(state)
    assert (out, process.returncode) == (b"", 1)
    assert err.count(b"SyntaxError") == 1 and (folder / "stderr").read_bytes() == err


def test_of_a_run_that_went_well_nothing_that_was_passed_on_is_kept(sandbox, state):
    process = sandbox.start("run", "-l", "shell", "-c", "echo out", env={"SANDBOX_STATE_DIR": str(state)})
    assert process.communicate()[0] == b"out\n" and not folders(state)


def test_links_that_the_guest_made_lead_nowhere(run, state):
    run("ln -s /etc/passwd link; echo x > real", env={"SANDBOX_STORE_CODE": "always"})
    folder, = folders(state)
    assert [path.name for path in (folder / "files").iterdir()] == ["real"]


# ---- places that cannot be used ----

def ran_without_record(result, why):
    return result["_exit"] == 0 and "sandbox: not recorded:" in result["_stderr"] and why in result["_stderr"]


def test_a_directory_that_others_can_write_is_refused(sandbox, run, state):
    sandbox.own(state.parent)
    state.mkdir()
    sandbox.own(state)
    state.chmod(0o777)
    result = run()
    assert ran_without_record(result, "can be written by others"), result
    assert not list(state.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to somebody else")
def test_a_directory_of_somebody_else_is_refused(sandbox, run, state):
    state.mkdir(mode=0o755)
    os.chown(state, 12345, 12345)
    result = run()
    assert ran_without_record(result, "belongs to another user"), result


def test_a_file_in_its_place_fails_no_run(sandbox, run, state):
    sandbox.make_file(state, "x")
    result = run()
    assert ran_without_record(result, "Not a directory"), result


def test_no_home_at_all_fails_no_run(sandbox):
    if sandbox.is_root:
        pytest.skip("root has a place of its own")
    outcome = sandbox.run("-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": "", "HOME": "", "XDG_STATE_HOME": ""})
    assert outcome.exit_code == 0 and "not recorded" in outcome.error


def test_a_record_without_its_code_is_not_called_missing(sandbox, run, state):
    run()
    sandbox.make_file(state / "executions", "no folder")
    result = run("false")
    assert "sandbox: code and outputs not kept: " in result["_stderr"] and "not recorded" not in result["_stderr"], result
    assert [record["artifacts"] for record in journal.records(state)] == [None, None]


def mounted(sandbox, state, script):
    """Runs a script in a mount namespace of its own, as root."""
    if not sandbox.is_root:
        pytest.skip("mounting takes root")
    state.mkdir(mode=0o700)
    environment = sandbox.environment({"SANDBOX_STATE_DIR": str(state), "S": str(sandbox.path), "D": str(state)})
    return subprocess.run(["unshare", "-m", "sh", "-c", script], env=environment, capture_output=True, text=True,
                          timeout=60)


def test_a_full_disk_fails_no_run_and_is_counted(sandbox, state):
    done = mounted(sandbox, state, """
        mount -t tmpfs -o size=48k,mode=700 none "$D"; $S run -q -l shell -c true
        head -c 1M /dev/zero > "$D/filler" 2>/dev/null
        for i in 1 2 3 4; do $S run -l shell -c 'echo ran; exit 7'; echo "exit $?"; done
        rm "$D/filler"; $S run -l shell -c true; $S history verify""")
    assert done.stdout.count("ran\nexit 7") == 4, done
    assert "not recorded: " in done.stderr and "No space left on device" in done.stderr
    assert "could not be written" in done.stdout and "ok:" in done.stdout


def test_a_read_only_disk_fails_no_run(sandbox, state):
    done = mounted(sandbox, state, """
        mount -t tmpfs -o mode=700 none "$D"; $S run -q -l shell -c true; mount -o remount,ro "$D"
        $S run -l shell -c 'echo ran; exit 7'; echo "exit $?"; $S history list""")
    assert "ran\nexit 7" in done.stdout and "Read-only file system" in done.stderr, done
    assert done.stdout.count(" ok ") == 1


def test_quiet_says_nothing_of_a_missing_record(sandbox, state, place):
    sandbox.make_file(state, "x")
    outcome = sandbox.run("-q", "-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": str(state)})
    assert (outcome.exit_code, outcome.stderr) == (0, b"")


def test_the_journal_survives_a_supervisor_that_is_killed(sandbox, state):
    env = {"SANDBOX_STATE_DIR": str(state)}
    for _ in range(5):
        process = sandbox.start("run", "-l", "shell", "-c", "sleep 60", env=env)
        wait_until(lambda: state.exists() and sandbox.call("top", "--once", "--json", env=env).json,
                   what="the run is seen as running")
        process.kill()
        process.communicate()
        assert sandbox.call("top", "--once", "--json", env=env).json == []
    sandbox.run("-l", "shell", "-c", "true", env=env)
    assert len(journal.records(state)) == 1
    shutil.rmtree(state)
