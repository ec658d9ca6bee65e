"""Languages: what runs, how it fails, and what the compile step may do."""

import json
import pathlib

import pytest

HELLO_C = '#include <stdio.h>\nint main(int argc, char **argv) { puts(argc > 1 ? argv[1] : "hello"); return 0; }\n'


@pytest.fixture
def listed(sandbox):
    return {entry["name"]: entry for entry in json.loads(sandbox.call("languages", "--json").stdout)}


def test_the_languages_are_listed(listed):
    assert {"python", "shell", "c", "binary"} <= set(listed)


def test_versions_and_paths_are_listed(listed):
    assert listed["python"]["version"].startswith("3.")
    assert listed["python"]["path"].startswith("/")
    assert "warm" in listed["python"]


def test_the_table_names_each(sandbox, listed):
    text = sandbox.call("languages").stdout.decode()
    assert all(name in text for name in listed)


def test_c_is_compiled_and_run(sandbox):
    result = sandbox.run_json("-l", "c", "-c", HELLO_C, "--", "argument")
    assert (result["status"], result["stdout"]) == ("ok", "argument\n")
    assert result["compile"] is not None


def test_c_programs_exit_with_their_code(sandbox):
    assert sandbox.run_json("-l", "c", "-c", "int main(void) { return 7; }")["_exit"] == 7


def test_a_compile_error_is_told_apart(sandbox):
    result = sandbox.run_json("-l", "c", "-c", "int main(void) { return x; }")
    assert (result["status"], result["success"], result["signal"]) == ("compile_error", False, None)
    assert result["message"] and "undeclared" in json.dumps(result)


def test_a_compile_error_has_an_exit_code_that_is_not_zero(sandbox):
    assert sandbox.run_json("-l", "c", "-c", "nonsense")["_exit"] not in (0, 125)


def test_c_may_use_mathematics_and_threads(sandbox):
    code = ("#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\nstatic void *go(void *x) { return x; }\n"
            "int main(int c, char **v) { pthread_t t; pthread_create(&t, 0, go, 0); pthread_join(t, 0);"
            " printf(\"%.1f\\n\", sqrt(c * 4.0)); return 0; }")
    assert sandbox.run_json("-l", "c", "-c", code)["stdout"] == "2.0\n"


def test_c_that_crashes_is_signaled(sandbox):
    result = sandbox.run_json("-l", "c", "-c", "int main(void) { *(volatile int *)0 = 1; return 0; }")
    assert (result["status"], result["signal"], result["_exit"]) == ("signaled", 11, 139)


def test_a_binary_is_run_as_it_is(sandbox, compile_program):
    path = compile_program("hello", HELLO_C)
    assert sandbox.run_json(str(path))["language"] == "binary"
    assert sandbox.run("-l", "binary", str(path), "--", "as it is").stdout == b"as it is\n"


def test_a_binary_that_is_none_is_our_or_its_failure(sandbox, place):
    path = sandbox.make_file(place / "broken", b"\x7fELF" + b"\0" * 60)
    result = sandbox.run("--json", "-l", "binary", str(path))
    assert result.exit_code != 0


def test_the_compiler_does_not_leave_its_files_in_the_workspace(sandbox):
    assert sandbox.run_json("-l", "c", "-c", HELLO_C)["files"]["created"] == []


def test_the_compiled_program_sees_the_workspace(sandbox, place):
    place.chmod(0o777)
    code = '#include <stdio.h>\nint main(void) { FILE *f = fopen("made", "w"); fputs("x", f); return 0; }'
    result = sandbox.run_json("-l", "c", "--workspace", str(place), "-c", code)
    assert result["files"]["created"] == ["made"]
    assert pathlib.Path(place, "made").read_text() == "x"


def test_shell_is_bash(sandbox):
    assert sandbox.shell("[[ a == a ]] && echo ${BASH_VERSION%%.*}")["stdout"].strip().isdigit()


def test_python_can_use_the_standard_library(sandbox):
    code = ("import asyncio, ctypes, decimal, hashlib, json, multiprocessing, sqlite3, ssl, subprocess, tempfile, zlib\n"
            "async def f(): return (await (await asyncio.create_subprocess_exec('true')).wait())\n"
            "print(asyncio.run(f()), subprocess.run(['echo', 'x'], capture_output=True).stdout)\n"
            "with multiprocessing.Pool(2) as p: print(p.map(abs, [-1, -2]))\n"
            "print(tempfile.mkdtemp().startswith('/tmp'))\n")
    assert sandbox.python(code)["stdout"] == "0 b'x\\n'\n[1, 2]\nTrue\n"


def test_python_threads_work(sandbox):
    code = "import concurrent.futures as c\nwith c.ThreadPoolExecutor(4) as p: print(sum(p.map(int, '1234')))"
    assert sandbox.python(code)["stdout"] == "10\n"


def test_python_knows_its_user(sandbox):
    code = "import getpass, os, pwd; print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name, os.getuid(), os.getgid())"
    assert sandbox.python(code)["stdout"] == "sandbox sandbox 1000 1000\n"


def test_a_terminal_of_its_own_can_be_made(sandbox):
    assert sandbox.python("import os; m, s = os.openpty(); print(os.isatty(s))")["stdout"] == "True\n"


def test_a_language_of_a_folder_is_added(sandbox, place):
    text = ("name: upper\ntitle: Upper\nextensions: [.upper]\nfind: { candidates: [/usr/bin/bash], install: bash }\n"
            "paths: [/bin, /lib, /lib64, /usr/bin, /usr/lib, /usr/lib64]\nfile: main.txt\n"
            "run: [\"{tool}\", -c, 'tr a-z A-Z < \"$0\"', \"{file}\"]\nhello: hello\nerror: none\n")
    folder = place / "languages"
    folder.mkdir()
    sandbox.make_file(folder / "upper.yaml", text)
    outcome = sandbox.run("--languages", str(folder), "-l", "upper", "-c", "shout")
    assert outcome.exit_code == 0 and outcome.stdout.strip() == b"SHOUT", outcome


def test_a_bad_language_file_is_refused_with_its_place(sandbox, place):
    folder = place / "languages"
    folder.mkdir()
    sandbox.make_file(folder / "bad.yaml", "name: bad\nnonsense: 1\n")
    outcome = sandbox.run("--languages", str(folder), "-l", "shell", "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert "bad.yaml:2:" in outcome.error


def test_a_language_of_the_users_own_folder_is_added(sandbox, place):
    folder = place / "sandbox/languages"
    folder.mkdir(parents=True)
    sandbox.make_file(folder / "own.yaml", "name: own\ntitle: Own\nfile: main.sh\nfind: {candidates: [/bin/sh], install: x}\n"
                      "paths: [/bin, /lib, /lib64, /usr/bin, /usr/lib, /usr/lib64]\nrun: ['{tool}', '{file}']\n"
                      "limits: {memory: 77M}\nhello: echo hello\nerror: exit 1\n")
    env = {"XDG_CONFIG_HOME": str(place)}
    result = sandbox.run_json("-l", "own", "-c", "echo mine", env=env)
    assert (result["stdout"], result["limits"]["memory"]) == ("mine\n", 77 << 20)
    shown = sandbox.call("policy", "show", "--lang", "own", env=env).stdout.decode()
    assert "memory: 77M" in shown
    sandbox.make_file(folder / "own.yaml", "name: own\n  oops\n")
    outcome = sandbox.call("languages", env=env)
    assert outcome.exit_code == 125 and "own.yaml:" in outcome.error


def test_the_limits_of_a_language_are_below_every_policy(sandbox, place):
    shown = json.loads(sandbox.call("policy", "show", "--json", "--lang", "java").stdout)
    assert shown["limits"]["memory"] == 1 << 30
    policy = sandbox.make_file(place / "p.yaml", "version: 1\nlimits: {memory: 200M}\n")
    shown = json.loads(sandbox.call("policy", "show", "--json", "--lang", "java", "--policy", str(policy)).stdout)
    assert shown["limits"]["memory"] == 200 << 20


def test_words_of_a_command_are_replaced_inside_too(sandbox, place):
    folder = place / "languages"
    folder.mkdir()
    sandbox.make_file(folder / "words.yaml", "name: words\ntitle: Words\nfile: f\nfind: {candidates: [/usr/bin/env], install: x}\n"
                      "paths: ['{root}/bin', /lib, /lib64, /usr/lib, /usr/lib64]\nheap: 50\nrun: ['{tool}', printf, '%s|',"
                      " 'a{heap_mib}b{memory_mib}c', '{root}', '{dir}/x']\nenv: {WHERE: 'in {workspace}!'}\n"
                      "hello: x\nerror: x\n")
    outcome = sandbox.run("--languages", str(folder), "-l", "words", "-m", "64", "-c", "x", "--", "last")
    assert outcome.stdout == b"a32b64c|/usr|/code/x|last|", outcome
