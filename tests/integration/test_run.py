"""`sandbox run`: where code comes from, what reaches the program, and the exit code."""

import hashlib
import os

import pytest


def test_code_from_an_option_runs(sandbox):
    outcome = sandbox.run("-l", "python", "-c", "print(6 * 7)")
    assert (outcome.exit_code, outcome.stdout) == (0, b"42\n"), outcome


def test_long_options_run_too(sandbox):
    outcome = sandbox.run("--lang", "python", "--code", "print(6 * 7)")
    assert (outcome.exit_code, outcome.stdout) == (0, b"42\n"), outcome


def test_the_word_run_may_be_left_out_under_the_other_name(sandbox, place):
    link = place / "sandbox-run"
    link.symlink_to(sandbox.path)
    helper = sandbox.path.with_name("sandbox-init")
    if helper.exists():
        (place / "sandbox-init").symlink_to(helper)
    before, sandbox.path = sandbox.path, link
    try:
        outcome = sandbox.call("-l", "python", "-c", "print(1)")
        languages = sandbox.call("languages")
    finally:
        sandbox.path = before
    assert (outcome.exit_code, outcome.stdout) == (0, b"1\n"), outcome
    assert b"python" in languages.stdout


@pytest.mark.parametrize("how", ["word", "-f", "--file"])
def test_code_from_a_file_runs(sandbox, place, how):
    path = sandbox.make_file(place / "hello.py", "print('from file')")
    args = [str(path)] if how == "word" else [how, str(path)]
    assert sandbox.run(*args).stdout == b"from file\n"


@pytest.mark.parametrize("args", [["-"], []])
def test_code_from_standard_input_runs(sandbox, args):
    assert sandbox.run("-l", "python", *args, input="print('from stdin')").stdout == b"from stdin\n"


@pytest.mark.parametrize("name, text, language", [
    ("a.py", "print(1)", "python"), ("a.sh", "echo 1", "shell"), ("a.c", "int main(void) { return 0; }", "c"),
    ("script", "#!/usr/bin/env python3\nprint(1)", "python"), ("other", "#!/bin/bash\necho 1", "shell")])
def test_the_language_is_found_from_the_file(sandbox, place, name, text, language):
    path = sandbox.make_file(place / name, text)
    assert sandbox.run_json(str(path))["language"] == language


def test_an_alias_means_the_language(sandbox):
    assert sandbox.run_json("-l", "py", "-c", "print(1)")["language"] == "python"


def test_a_language_of_unknown_code_is_asked_for(sandbox):
    outcome = sandbox.run("-c", "print(1)")
    assert outcome.exit_code == 125
    assert "python" in outcome.error


def test_standard_input_is_empty_by_default(sandbox):
    assert sandbox.python("import sys; print(repr(sys.stdin.read()))")["stdout"] == "''\n"


def test_standard_input_comes_from_a_file(sandbox, place):
    path = sandbox.make_file(place / "input", "one\ntwo\n")
    assert sandbox.shell("cat", "--stdin", str(path))["stdout"] == "one\ntwo\n"


def test_standard_input_is_passed_through(sandbox):
    assert sandbox.run("-l", "shell", "--stdin", "-", "-c", "cat", input="through").stdout == b"through"


def test_a_megabyte_of_standard_input_arrives_whole(sandbox):
    data = os.urandom(1 << 20)
    outcome = sandbox.run("-l", "shell", "--stdin", "-", "-c", "sha256sum", input=data)
    assert outcome.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_standard_input_that_nobody_reads_does_not_hold_the_run_up(sandbox):
    outcome = sandbox.run("-l", "shell", "--stdin", "-", "-c", "exit 3", input=b"x" * (4 << 20))
    assert outcome.exit_code == 3


def test_arguments_reach_the_program(sandbox):
    code = "import sys; print(sys.argv[1:])"
    outcome = sandbox.run("-l", "python", "-c", code, "--", "a b", "--lang", "", "-x", "ü")
    assert outcome.stdout.decode() == "['a b', '--lang', '', '-x', 'ü']\n"


def test_an_argument_may_hold_bytes_that_are_not_utf8(sandbox):
    code = "import os, sys; print(os.fsencode(sys.argv[1]))"
    assert sandbox.run("-l", "python", "-c", code, "--", b"\xff\xfe").stdout == b"b'\\xff\\xfe'\n"


@pytest.mark.parametrize("code", [0, 1, 2, 3, 42, 77, 100, 123, 124, 125, 126, 127, 128, 137, 143, 200, 254, 255])
def test_the_programs_own_exit_code_comes_back(sandbox, code):
    result = sandbox.shell(f"exit {code}")
    assert (result["_exit"], result["exit_code"], result["status"]) == (code, code, "failed" if code else "ok")


@pytest.mark.parametrize("signal", [1, 2, 3, 4, 6, 8, 9, 11, 13, 14, 15, 31, 34, 64])
def test_a_signal_is_told(sandbox, signal):
    code = f"import os, signal; {signal} in (9,) or signal.signal({signal}, signal.SIG_DFL); os.kill(os.getpid(), {signal})"
    result = sandbox.python(code)
    assert (result["status"], result["signal"], result["exit_code"]) == ("signaled", signal, None)
    assert result["_exit"] == 128 + signal


def test_a_variable_is_set(sandbox):
    assert sandbox.shell('echo "$GREETING"', "-e", "GREETING=hello = world")["stdout"] == "hello = world\n"


def test_an_empty_variable_is_set(sandbox):
    assert sandbox.shell('echo "${EMPTY-unset}"', "-e", "EMPTY=")["stdout"] == "\n"


def test_nothing_of_the_callers_environment_enters(sandbox):
    secret = {f"SECRET_{i}": "value" for i in range(5)} | {"LD_PRELOAD": "", "PYTHONSTARTUP": "/x", "BASH_ENV": "/x"}
    result = sandbox.shell("env", env=secret)
    names = {line.split("=")[0] for line in result["stdout"].splitlines()}
    assert not names & (set(secret) | {"XDG_CACHE_HOME", "LANG"}), names


def test_the_environment_is_small_and_known(sandbox):
    names = {line.split("=")[0] for line in sandbox.shell("env")["stdout"].splitlines()}
    assert names <= {"PATH", "HOME", "LC_ALL", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD",
                     "LANG", "TERM"}, names
    assert {"PATH", "HOME"} <= names


def test_ten_thousand_variables_reach_the_program(sandbox):
    flags = [word for i in range(10_000) for word in ("-e", f"V{i}={i}")]
    result = sandbox.python("import os; print(sum(k[0] == 'V' and k[1:] == v for k, v in os.environ.items()))", *flags)
    assert result["stdout"] == "10000\n"


def test_the_last_of_two_values_of_a_variable_counts(sandbox):
    assert sandbox.shell("echo $A", "-e", "A=1", "-e", "A=2")["stdout"] == "2\n"


def test_the_name_given_is_repeated(sandbox):
    assert sandbox.shell("true", "--name", "job-17")["name"] == "job-17"


def test_code_of_no_bytes_runs(sandbox, place):
    path = sandbox.make_file(place / "empty.py", b"")
    result = sandbox.run_json(str(path))
    assert (result["status"], result["stdout"]) == ("ok", "")


def test_code_of_no_bytes_from_an_option_runs(sandbox):
    assert sandbox.shell("")["status"] == "ok"


def test_large_code_arrives_whole(sandbox, place):
    path = sandbox.make_file(place / "large.py", b"# " + b"x" * (8 << 20) + b"\nprint('end')\n")
    assert sandbox.run_json(str(path), "-m", "512M")["stdout"] == "end\n"


def test_code_with_nul_bytes_arrives_as_it_is(sandbox, place):
    path = sandbox.make_file(place / "nul.sh", b"cat /code/main.sh | wc -c\nexit 0\n\0\0\0tail\n")
    result = sandbox.run_json(str(path))
    assert result["stdout"].strip() == str(path.stat().st_size)


@pytest.mark.parametrize("name", [b"with space.py", b"new\nline.py", b"inv\xff\xfealid.py", "umlaut-ü.py".encode(),
                                  b"-dash.py", b"quote'\".py", b"$(x).py"])
def test_a_file_with_an_odd_name_runs(sandbox, place, name):
    path = os.path.join(os.fsencode(place), name)
    with open(path, "wb") as out:
        out.write(b"print('odd')\n")
    outcome = sandbox.run("--json", path)
    assert outcome.json["stdout"] == "odd\n", outcome


def test_a_file_that_is_a_link_runs(sandbox, place):
    sandbox.make_file(place / "real.py", "print('linked')")
    (place / "link.py").symlink_to("real.py")
    assert sandbox.run(str(place / "link.py")).stdout == b"linked\n"


def test_the_program_starts_in_its_workspace(sandbox):
    assert sandbox.shell("pwd; echo $HOME")["stdout"] == "/workspace\n/workspace\n"


def test_a_volume_is_read_only_by_default(sandbox, place):
    sandbox.make_file(place / "data", "content")
    result = sandbox.shell("cat /data/data; echo x > /data/data || echo refused", "--volume", f"{place}:/data")
    assert result["stdout"] == "contentrefused\n"
    assert (place / "data").read_text() == "content"


def test_a_volume_may_be_writable(sandbox, place):
    place.chmod(0o777)
    result = sandbox.shell("echo new > /data/made", "--volume", f"{place}:/data:rw")
    assert result["status"] == "ok", result
    assert (place / "made").read_text() == "new\n"


def test_two_volumes_are_two(sandbox, place):
    for name in ("a", "b"):
        (place / name).mkdir()
        sandbox.make_file(place / name / "file", name)
    flags = ["--volume", f"{place}/a:/one:ro", "--volume", f"{place}/b:/two:ro"]
    assert sandbox.shell("cat /one/file /two/file", *flags)["stdout"] == "ab"


def test_a_single_file_may_be_a_volume(sandbox, place):
    path = sandbox.make_file(place / "single", "one file")
    assert sandbox.shell("cat /input/file", "--volume", f"{path}:/input/file:ro")["stdout"] == "one file"


def test_relative_paths_of_volumes_are_the_callers(sandbox, place):
    sandbox.make_file(place / "file", "relative")
    assert sandbox.shell("cat /data/file", "--volume", ".:/data", cwd=place)["stdout"] == "relative"


def test_localhost_is_the_programs_own(sandbox):
    code = ("import socket; s = socket.create_server(('127.0.0.1', 0)); "
            "c = socket.create_connection(s.getsockname()); print('connected')")
    assert sandbox.python(code, "--network", "localhost")["stdout"] == "connected\n"


def test_no_network_is_the_default(sandbox):
    code = ("import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9), 1)\n"
            "except OSError as e: print(type(e).__name__, e.errno)")
    assert sandbox.python(code)["stdout"].split()[1] in {"101", "111", "1", "13", "99"}


def test_quiet_says_nothing_of_its_own(sandbox):
    outcome = sandbox.run("-q", "-t", "300ms", "-l", "shell", "-c", "sleep 30")
    assert (outcome.exit_code, outcome.stderr) == (124, b"")


def test_verbose_tells_the_protections(sandbox):
    outcome = sandbox.run("-v", "-l", "shell", "-c", "true")
    assert "seccomp" in outcome.error and "container" in outcome.error


def test_help_is_given_and_runs_nothing(sandbox):
    outcome = sandbox.run("--help")
    assert outcome.exit_code == 0
    assert b"--timeout" in outcome.stdout


def test_many_runs_at_once_do_not_disturb_each_other(sandbox, no_leftovers):
    processes = [sandbox.start("run", "-l", "shell", "-c", f"echo {i}") for i in range(16)]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [int(out) for out, _ in outputs] == list(range(16)), outputs


def test_a_run_leaves_nothing(sandbox, no_leftovers):
    assert sandbox.python("import os; os.fork(); open('x', 'w').write('y')")["status"] == "ok"
