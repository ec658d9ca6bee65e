"""The wasm backend: Python and JavaScript, their limits, what they see. See docs/WASM.md.

Skipped where engine and guests were not built (`make wasm`).
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from helpers.leftovers import wait_until
from helpers.program import ORDINARY_UID, REPOSITORY, wasm_parts

pytestmark = pytest.mark.skipif(wasm_parts() is None, reason="the wasm backend is not built: make wasm")

WASM = ["--backend", "wasm"]


def run_python(sandbox, code, *options, **more):
    return sandbox.run_json(*WASM, "-l", "python", *options, "-c", code, **more)


def run_javascript(sandbox, code, *options, **more):
    return sandbox.run_json(*WASM, "-l", "javascript", *options, "-c", code, **more)


# ---- the languages


SAME_AS_NATIVE = {
    "print": "print('hello', 1 + 1)",
    "arguments": "import sys; print(sys.argv[1:])",
    "exit code": "import sys; sys.exit(3)",
    "exit text": "raise SystemExit('so')",
    "uncaught": "def f():\n    raise ValueError('no')\nf()",
    "standard error": "import sys; print('e', file=sys.stderr)",
    "files": "open('a.txt', 'w').write('x'); print(open('a.txt').read())",
    "directory": "import os; print(os.getcwd(), os.listdir('.'))",
    "exit functions": "import atexit; atexit.register(print, 'last'); print('first')",
    "library": "import json, re, datetime, decimal, hashlib, zlib, collections\n"
               "print(json.dumps({'a': [1, None]}), re.findall('b+', 'abba'), decimal.Decimal(1) / 3)\n"
               "print(hashlib.sha256(b'x').hexdigest(), zlib.decompress(zlib.compress(b'y' * 99)))",
    "late import": "import colorsys; print(colorsys.rgb_to_hsv(1, 0, 0))",
    "unicode": "print('äöü', '\\N{SNOWMAN}', len('👍'))",
    "integers": "print(2 ** 200, divmod(-7, 2), hash(2 ** 61 - 2) > 0)",
    "main": "print(__name__, __file__)",
}


@pytest.mark.parametrize("name", SAME_AS_NATIVE)
def test_python_does_what_it_does_in_the_container(sandbox, name):
    code = SAME_AS_NATIVE[name]
    results = [sandbox.run_json("--backend", backend, "-l", "python", "-c", code, "--", "one", "two")
               for backend in ("wasm", "container")]
    for key in ("status", "exit_code", "stdout", "success", "message", "language"):
        assert results[0][key] == results[1][key], (key, results[0]["stderr"])
    assert results[0]["files"] == results[1]["files"]
    assert results[0]["stderr"].splitlines()[-1:] == results[1]["stderr"].splitlines()[-1:]


def test_syntax_error_names_the_line(sandbox):
    result = run_python(sandbox, "x = 1\nif x\n    pass\n")
    assert result["status"] == "failed" and result["exit_code"] == 1
    assert result["message"].startswith("Python syntax error") and "line 2" in result["message"]


def test_traceback_shows_the_program_alone(sandbox):
    result = run_python(sandbox, "def f():\n    1 / 0\nf()\n")
    assert result["stderr"].startswith("Traceback (most recent call last):\n  File \"/code/main.py\", line 3")
    assert "sandbox_launch" not in result["stderr"]


def test_standard_input(sandbox):
    result = run_python(sandbox, "import sys; print(input(), sys.stdin.read())", "--stdin", "-", input="one\ntwo\nthree")
    assert result["stdout"] == "one two\nthree\n"


def test_project_with_neighbours(sandbox, place):
    (place / "main.py").write_text("import helper\nprint(helper.answer())\n")
    (place / "helper.py").write_text("def answer():\n    return 42\n")
    assert sandbox.run_json(*WASM, str(place))["stdout"] == "42\n"


JAVASCRIPT = {
    "console": ("console.log('a', 1, [1, 'x'], {b: null}); console.error('e')", "a 1 [ 1, 'x' ] { b: null }\n"),
    "module": ("import fs from 'node:fs'; fs.writeFileSync('f', 'x'); console.log(fs.readFileSync('f', 'utf8'))", "x\n"),
    "require": ("const path = require('path'); console.log(path.join('a', '..', 'b'))", "b\n"),
    "await": ("const x = await Promise.resolve(4); console.log(x)", "4\n"),
    "timers": ("setTimeout(() => console.log(2), 5); console.log(1)", "1\n2\n"),
    "arguments": ("console.log(process.argv.slice(2).join())", "one,two\n"),
    "recursion": ("function f() { f() } try { f() } catch (e) { console.log(e instanceof RangeError || e.name) }", None),
}


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_javascript(sandbox, name):
    code, expected = JAVASCRIPT[name]
    result = sandbox.run_json(*WASM, "-l", "javascript", "-c", code, "--", "one", "two")
    assert result["status"] == "ok", result["stderr"]
    assert expected is None or result["stdout"] == expected


def test_javascript_ends_with_its_code(sandbox):
    assert run_javascript(sandbox, "process.exitCode = 4")["exit_code"] == 4
    assert run_javascript(sandbox, "process.exit(5)")["exit_code"] == 5
    failed = run_javascript(sandbox, "let x = 1;\nthrow new TypeError('bad')")
    assert failed["exit_code"] == 1 and "TypeError: bad" in failed["stderr"] and ":2:" in failed["stderr"]
    assert run_javascript(sandbox, "Promise.reject(new Error('r'))")["exit_code"] == 1


def test_javascript_imports_neighbours(sandbox, place):
    (place / "main.js").write_text("import { two } from './two.js'; import three from './three.cjs'; console.log(two + three)")
    (place / "two.js").write_text("export const two = 2")
    (place / "three.cjs").write_text("module.exports = 3")
    assert sandbox.run_json(*WASM, "-l", "javascript", "--entry", "main.js", str(place))["stdout"] == "5\n"


# ---- limits


@pytest.mark.parametrize("run, code", [(run_python, "x = 0\nfor i in range(20000):\n    x += i\nprint(x)"),
                                       (run_javascript, "let x = 0; for (let i = 0; i < 1e5; i++) x += i; console.log(x)")])
def test_fuel_is_deterministic(sandbox, run, code):
    first, second = run(sandbox, code), run(sandbox, code)
    assert first["fuel_consumed"] == second["fuel_consumed"] > 100000
    assert first["fuel"]["consumed"] == first["fuel_consumed"]


def test_fuel_used_up(sandbox):
    outcome = sandbox.run("--json", *WASM, "-l", "python", "--fuel", "20000000", "-c", "while True: pass")
    result = outcome.json
    assert outcome.exit_code == 124
    assert result["status"] == "fuel_exhausted" and not result["success"]
    assert result["message"] == "Fuel of 20000000 instructions used up"
    assert result["fuel_consumed"] == 20000000 and result["fuel"]["percent"] == 100
    assert "--fuel" in result["fuel"]["recommendation"]
    assert [violation["kind"] for violation in result["violations"]] == ["fuel"]


def test_fuel_report_recommends_from_three_quarters_on(sandbox):
    used = run_python(sandbox, "pass")["fuel_consumed"]
    scarce = run_python(sandbox, "pass", "--fuel", str(used * 5 // 4))
    plenty = run_python(sandbox, "pass", "--fuel", str(used * 2))
    assert scarce["status"] == plenty["status"] == "ok"
    assert 75 <= scarce["fuel"]["percent"] <= 85 and scarce["fuel"]["recommendation"]
    assert plenty["fuel"]["recommendation"] is None


def test_fuel_comes_from_a_policy_too(sandbox, place):
    policy = place / "policy.yaml"
    policy.write_text("limits: {fuel: 5000000}\n")
    result = run_python(sandbox, "while True: pass", "--policy", str(policy))
    assert result["status"] == "fuel_exhausted" and result["fuel"]["limit"] == 5000000


def test_memory_is_an_error_the_program_can_handle(sandbox):
    result = run_python(sandbox, "try:\n    x = bytearray(200 << 20)\nexcept MemoryError:\n    print('none left')",
                        "--memory", "64M")
    assert result["status"] == "ok" and result["stdout"] == "none left\n"
    assert 0 < result["memory_used"] <= 64 << 20


@pytest.mark.parametrize("run, code", [(run_python, "a = []\nwhile True: a.append('x' * 1000000)"),
                                       (run_javascript, "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)")])
def test_memory_used_up(sandbox, run, code):
    result = run(sandbox, code, "--memory", "48M")
    assert result["status"] == "memory_limit" and result["message"] == "Memory limit of 48 MiB exceeded"
    assert result["memory_used"] <= 48 << 20


@pytest.mark.parametrize("code", ["import time; time.sleep(60)", "import sys; sys.stdin.read()", "while True: pass"])
def test_wall_time_ends_whatever_it_does(sandbox, code):
    read, write = os.pipe()  # A standard input on which nothing comes.
    try:
        result = run_python(sandbox, code, "--timeout", "500ms", "--fuel", "99999999999999",
                            "--stdin", "-", stdin=read)
    finally:
        os.close(read)
        os.close(write)
    assert result["status"] == "timeout" and result["message"] == "Code execution timed out after 0.5s"


def test_output_is_cut_as_it_comes(sandbox):
    result = run_python(sandbox, "while True: print('x' * 1000)", "--output-limit", "10000", "--output-kill")
    assert result["status"] == "output_limit" and result["stdout_truncated"] and len(result["stdout"]) <= 10000


def test_deep_recursion_is_an_error(sandbox):
    result = run_python(sandbox, "def f(): f()\ntry:\n    f()\nexcept RecursionError:\n    print('deep')")
    assert result["stdout"] == "deep\n"


def test_interrupt_ends_the_run(sandbox):
    """Whoever ends the command ends its run, at whatever it is."""
    code = "print('up', flush=True)\nwhile True: pass"
    with sandbox.start("run", *WASM, "-l", "python", "--fuel", "99999999999999", "-c", code) as process:
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


# ---- what it sees


def test_environment_is_what_was_given(sandbox):
    result = run_python(sandbox, "import os; print(sorted(os.environ))", "--env", "MINE=1")
    assert "'MINE'" in result["stdout"] and "SANDBOX_WASM" not in result["stdout"] and "HOME" in result["stdout"]


def test_no_sockets_processes_or_threads(sandbox):
    result = run_python(sandbox, "import threading\n"
                                 "def tell(what):\n"
                                 "    try:\n        print(what())\n"
                                 "    except (ImportError, OSError, RuntimeError, AttributeError) as error:\n"
                                 "        print('no')\n"
                                 "tell(lambda: __import__('socket').socket().connect(('127.0.0.1', 80)))\n"
                                 "tell(lambda: __import__('subprocess').run(['/bin/true']))\n"
                                 "tell(lambda: __import__('os').fork())\n"
                                 "tell(lambda: threading.Thread(target=print).start())\n")
    assert result["stdout"] == "no\n" * 4, result["stderr"]


def test_workspace_app_and_volumes(sandbox, place):
    data, kept = place / "data", place / "kept"
    for folder in (data, kept):
        folder.mkdir()
        sandbox.own(folder)
    (data / "in.txt").write_text("given")
    result = run_python(sandbox, "import os\n"
                                 "open('/app/one', 'w').write(open('/data/in.txt').read())\n"
                                 "print(open('/workspace/one').read(), os.listdir('/app'))\n"
                                 "try:\n    open('/data/new', 'w')\n"
                                 "except OSError as error:\n    print('closed')\n",
                        "--volume", f"{data}:/data", "--workspace", str(kept))
    assert result["stdout"] == "given ['one']\nclosed\n", result["stderr"]
    assert result["files"]["created"] == ["one"]
    assert (kept / "one").read_text() == "given"


def test_both_walls_are_told(sandbox):
    states = {one["name"]: one for one in run_python(sandbox, "pass")["protections"]}
    assert states["webassembly"]["state"] == "enforced" and states["webassembly"]["by"] == "wasmtime"
    for name in ("mount_namespace", "pid_namespace", "network", "seccomp", "filesystem", "memory"):
        assert states[name]["state"] == "enforced", name


def test_other_backends_do_not_name_this_wall(sandbox):
    result = sandbox.run_json("-l", "python", "-c", "pass")
    assert "webassembly" not in {one["name"] for one in result["protections"]} and result["fuel_consumed"] is None


# ---- where it is not there, and where nothing else is


def test_language_without_a_guest(sandbox):
    outcome = sandbox.run(*WASM, "-l", "shell", "-c", "echo")
    assert outcome.exit_code == 125 and "backend 'wasm' runs python, javascript and modules, not 'shell'" in outcome.error
    assert "hint:" in outcome.error


def test_not_built_says_how_to_build(sandbox, place):
    outcome = sandbox.run(*WASM, "-l", "python", "-c", "print(1)", env={"SANDBOX_WASM_PARTS": str(place / "none")})
    assert outcome.exit_code == 125 and "backend 'wasm' is not built" in outcome.error and "make wasm" in outcome.error
    other = sandbox.run(*WASM, "--fallback", "container", "-l", "python", "-c", "print(1)",
                        env={"SANDBOX_WASM_PARTS": str(place / "none")})
    assert other.exit_code == 0 and other.stdout == b"1\n"


TAMPERED = {
    "directory": lambda parts: parts.chmod(0o777),
    "engine": lambda parts: (parts / "libwasmtime.so").chmod(0o666),
    "image": lambda parts: (parts / "python.cwasm").chmod(0o664),
    "library": lambda parts: (parts / "python.zip").chmod(0o646),
    "link": lambda parts: ((parts / "python.cwasm").unlink(), os.symlink(wasm_parts() / "python.cwasm", parts / "python.cwasm")),
    "parent": lambda parts: parts.parent.chmod(0o777),
}


@pytest.fixture
def parts(place):
    """A copy of engine and guests that a test may spoil."""
    return pathlib.Path(shutil.copytree(wasm_parts(), place / "mine" / "wasm"))


@pytest.mark.parametrize("name", TAMPERED)
def test_what_others_can_write_is_not_loaded(sandbox, parts, name):
    TAMPERED[name](parts)
    outcome = sandbox.run(*WASM, "-l", "python", "-c", "print(1)", env={"SANDBOX_WASM_PARTS": str(parts)})
    assert outcome.exit_code == 125 and "can be written by others" in outcome.error and "chmod go-w" in outcome.error


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_what_is_another_users_is_not_loaded(sandbox, parts):
    os.chown(parts / "python.cwasm", ORDINARY_UID + 1, ORDINARY_UID + 1)
    outcome = sandbox.run(*WASM, "-l", "python", "-c", "print(1)", env={"SANDBOX_WASM_PARTS": str(parts)})
    assert outcome.exit_code == 125 and "is theirs" in outcome.error


def test_broken_image_is_no_crash(sandbox, parts):
    (parts / "python.cwasm").write_bytes(b"\x7fELF" + bytes(5000))
    outcome = sandbox.run(*WASM, "-l", "python", "-c", "print(1)", env={"SANDBOX_WASM_PARTS": str(parts)})
    assert outcome.exit_code == 125 and outcome.error.count("the guest cannot be loaded") == 1
    assert "make wasm" in outcome.error.split("hint:")[1]
    result = sandbox.run_json(*WASM, "-l", "python", "-c", "print(1)", env={"SANDBOX_WASM_PARTS": str(parts)})
    assert (result["status"], result["_exit"]) == ("internal_error", 125), result


def test_image_for_another_processor_is_made_again(sandbox):
    """By the command of a checkout, which looks at each start. What is kept is not compiled again."""
    parts = REPOSITORY / "build/wasm"
    if wasm_parts() != parts or not sandbox.is_root or os.geteuid() != 0:
        pytest.skip("the checkout's own, as its owner")
    processor = (parts / "processor").read_text()
    (parts / "processor").write_text("flags : another one\n")
    done = subprocess.run([REPOSITORY / "sandbox-run", "run", *WASM, "-l", "python", "-c", "print(1)"], capture_output=True,
                          timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout == b"1\n", done
    assert (parts / "processor").read_text() == processor


# ---- who asks for fuel gets it, or is told


@pytest.mark.parametrize("language, code", [("python", "print(1)"), ("javascript", "console.log(1)")])
def test_fuel_chooses_the_backend_that_counts_it(sandbox, language, code):
    result = sandbox.run_json("--fuel", "900000000", "-l", language, "-c", code)
    assert result["backend"] == "wasm" and result["fuel"]["limit"] == 900000000 and result["stdout"] == "1\n"


REFUSED_FUEL = {
    "not built": (["-l", "python", "-c", "print(1)"], "is not built", "make wasm"),
    "no guest": (["-l", "shell", "-c", "echo 1"], "not 'shell'", "--cpu-time"),
    "container": (["--backend", "container", "-l", "python", "-c", "print(1)"], "backend 'container' does not count", "--backend wasm"),
}


@pytest.mark.parametrize("name", REFUSED_FUEL)
def test_fuel_that_nobody_would_count_is_refused(sandbox, place, name):
    arguments, why, remedy = REFUSED_FUEL[name]
    outcome = sandbox.run("--fuel", "900000000", *arguments, env={"SANDBOX_WASM_PARTS": str(place / "none")})
    assert outcome.exit_code == 125 and "fuel" in outcome.error and why in outcome.error, outcome.error
    assert remedy in outcome.error.split("hint:")[1]


def test_fuel_of_the_default_and_of_those_who_accept_less_is_no_reason(sandbox, place):
    """A whole policy names it for other backends too."""
    nowhere = {"SANDBOX_WASM_PARTS": str(place / "none")}
    for options in (["--fuel", "5000000000"], ["--fuel", "900000000", "--enforcement", "best-effort"]):
        result = sandbox.run_json(*options, "-l", "python", "-c", "print(1)", env=nowhere)
        assert result["backend"] == "container" and result["fuel_consumed"] is None


NO_NAMESPACES = ("echo 0 >/proc/sys/user/max_user_namespaces || exit 9; "
                 "exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"")


@pytest.fixture
def bare(sandbox, place):
    """Runs the command where no namespaces can be made, as in an unprivileged container."""
    if sandbox.is_root and os.geteuid() != 0:
        pytest.skip("needs root")

    def run(*arguments):
        become = ["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups"] \
            if os.geteuid() == 0 else []
        return subprocess.run([*become, "unshare", "-U", "-r", "sh", "-c", NO_NAMESPACES, "sh", str(sandbox.path), "run",
                               "--no-record", *arguments], capture_output=True, timeout=60, cwd="/",
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, stdin=subprocess.DEVNULL)

    if sandbox.is_root:
        pytest.skip("the ordinary user's case is the same")
    tried = run("--backend", "container", "-l", "python", "-c", "print(1)")
    assert tried.returncode == 125 and b"namespaces" in tried.stderr, tried
    return run


def test_without_namespaces_wasm_contains_by_itself(bare):
    done = bare("--json", "--backend", "wasm", "-l", "python", "-c",
                "import os\nopen('a', 'w')\nprint(os.listdir('/app'), os.environ['HOME'])\n"
                "try:\n    open('/etc/passwd')\nexcept OSError:\n    print('closed')")
    result = json.loads(done.stdout)
    assert result["status"] == "ok" and result["stdout"] == "['a'] /workspace\nclosed\n", result
    states = {one["name"]: one["state"] for one in result["protections"]}
    assert states["webassembly"] == states["landlock"] == states["seccomp"] == states["filesystem"] == "enforced"
    assert states["mount_namespace"] == "missing"


@pytest.mark.parametrize("target", ["/data/kept", "/workspace/kept", "/tmp/kept"])
def test_without_namespaces_a_volume_within_another_is_refused(bare, place, target):
    """There are no mounts to keep it apart: it could be written through the other one."""
    (place / "kept").mkdir()
    done = bare("--backend", "wasm", "--volume", f"{place}:/data:rw", "--volume", f"{place / 'kept'}:{target}", "-l", "python",
                "-c", "open('/data/./kept/x', 'w')")
    assert done.returncode == 125 and f"volume '{target}' lies within".encode() in done.stderr and b"hint:" in done.stderr
    assert list((place / "kept").iterdir()) == []


def test_without_namespaces_auto_takes_wasm(bare):
    done = bare("-l", "python", "-c", "import sys; print(sys.platform)")
    assert done.returncode == 0 and done.stdout == b"wasi\n", done
    shell = bare("-l", "shell", "-c", "echo 1")
    assert shell.returncode == 125


def test_within_a_sandbox_auto_takes_wasm(sandbox):
    """There, a filter and not the kernel's settings forbids to make namespaces; and the supervisor of the outer one is
    asked about calls already, beside which there can be no second."""
    build = REPOSITORY / "build"
    if wasm_parts() != build / "wasm":
        pytest.skip("the checkout's own")
    inner = f"/opt/build/{sandbox.path.relative_to(build)}"
    result = sandbox.run_json("--backend", "container", "--memory", "1G", "--volume", f"{build}:/opt/build", "-l", "shell", "-c",
                              f"{inner} run --no-record -l python -c 'import sys; print(sys.platform)'")
    assert result["exit_code"] == 0 and result["stdout"] == "wasi\n", result["stderr"]


def test_doctor_and_languages_show_it(sandbox):
    found = next(one for one in sandbox.call("doctor", "--json").json["backends"] if one["name"] == "wasm")
    assert found["available"] and found["built"]["engine"]["name"] == "wasmtime"
    assert set(found["built"]["guests"]) == {"python", "javascript"}
    listed = {one["name"]: one for one in sandbox.call("languages", "--json").json}
    assert listed["python"]["wasm"].startswith("3.13") and listed["shell"]["wasm"] is None


# ---- warm


@pytest.mark.parametrize("language, code", [("python", "print(6 * 7)"), ("javascript", "console.log(6 * 7)")])
def test_worker_that_is_parked_gives_the_same_result(sandbox, place, language, code):
    """The first run has nothing ready; a later one is a copy, with the same output and the same fuel."""
    socket = str(place / "keeper.sock")
    with sandbox.start("keeper", "--socket", socket) as keeper:
        try:
            wait_until(lambda: os.path.exists(socket), what="the keeper's socket")
            results = []

            def is_warm():
                results.append(sandbox.run_json(*WASM, "-l", language, "-c", code, env={"SANDBOX_KEEPER": socket}))
                return results[-1]["metrics"]["warm"] == "fork"

            wait_until(is_warm, deadline=30, what="a warm run")
        finally:
            keeper.terminate()
            keeper.communicate(timeout=60)
    assert {result["stdout"] for result in results} == {"42\n"}
    assert len({result["fuel_consumed"] for result in results}) == 1
