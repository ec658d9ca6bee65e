"""The docker backend on real daemons of Docker and Podman, and on one that misbehaves. See docs/DOCKER.md."""

import json
import os
import random
import signal
import subprocess
import time

import pytest

from helpers.engine_images import compiler_image
from helpers.engines import FakeDaemon, TlsFront, forward_to, make_certificates, reply
from helpers import leftovers
from helpers.leftovers import wait_until
from helpers.program import make_program, remove_program

BACKEND = ("--backend", "docker")
# `make test-docker` has both engines do everything; else Podman does some of it.
ALL = bool(os.environ.get("SANDBOX_DOCKER_ALL"))
PODMAN_TOO = ("timeout", "memory_limit", "ok", "shell")


@pytest.fixture
def nothing_of_ours(engine):
    """The test's own runs leave nothing; an engine's mounts and namespaces come and go as it likes."""
    def left():
        return [one for one in leftovers.snapshot() - before
                if str(engine.directory) not in one and not one.startswith("namespace")]

    before = leftovers.snapshot()
    yield
    try:
        wait_until(lambda: not left(), 30)
    except AssertionError:
        pytest.fail(f"left behind: {left()}")


def run(program, engine, *words, env=None, **more):
    return program.run_json(*BACKEND, *words, env={**engine.env, **(env or {})}, **more)


def python(program, engine, code, *words, **more):
    return run(program, engine, "-l", "python", *words, "-c", code, **more)


def leave_some(engine, name):
    if engine.name == "podman" and name not in PODMAN_TOO and not ALL:
        pytest.skip("make test-docker runs it")


def is_left_empty(engine):
    """Where all went well, Docker removes the container by itself a moment after the run."""
    wait_until(lambda: not engine.containers(), 30, f"no container is left in {engine.name}")


def by_name(result):
    return {one["name"]: one for one in result["protections"]}


# ---- what it does


@pytest.mark.parametrize("user", ["root", "user"])
def test_runs_for_root_and_for_whoever_may_open_the_socket(engine, user, nothing_of_ours):
    program = make_program(user)
    result = python(program, engine, "print(6 * 7); open('made.txt', 'w').write('x')")
    remove_program(program)
    assert (result["status"], result["stdout"], result["backend"]) == ("ok", "42\n", "docker"), result
    assert result["files"]["created"] == ["made.txt"]


LIMITS = {
    "timeout": ("import time; print(1, flush=True); time.sleep(60)", ["-t", "4"]),
    "cpu_limit": ("while True: pass", ["--cpu-time", "0.3"]),
    "memory_limit": ("x = bytearray(300 << 20)", ["-m", "64"]),
    "process_limit": ("import os\nfor _ in range(30): os.fork() or os._exit(os.pause() if hasattr(os, 'pause') else "
                      "__import__('time').sleep(9) or 0)", ["--processes", "5"]),
    "disk_limit": ("open('big', 'wb').write(bytes(9 << 20))", ["--disk", "1M"]),
    "failed": ("raise SystemExit(3)", []),
    "signaled": ("import os; os.kill(os.getpid(), 11)", []),
    "ok": ("import sys; print(sys.stdin.read(), sys.argv[1:])", []),
    "output_limit": ("while True: print('x' * 1000)", ["--output-limit", "1K", "--output-kill"]),
}


@pytest.mark.parametrize("status", LIMITS)
def test_ends_as_in_the_container(engine, root, status):
    """Status, exit code, sentence and violations are those of the container backend."""
    leave_some(engine, status)
    code, words = LIMITS[status]
    words = [*words, "--stdin", "-", "-l", "python", "-c", code, "--", "one", "two"]
    results = [root.run_json("--backend", backend, *words, env=engine.env, input=b"given")
               for backend in ("docker", "container")]
    assert results[0]["status"] == status, results[0]
    # How long a program has between SIGTERM and SIGKILL is a matter of how busy the machine is.
    of_end = () if status == "timeout" else ("signal",)
    for key in ("status", "success", "exit_code", *of_end, "message", "stdout_truncated", "violations", "_exit"):
        assert results[0][key] == results[1][key], (key, results[0])
    if status != "output_limit":
        assert results[0]["stdout"] == results[1]["stdout"]
    is_left_empty(engine)


def test_says_what_holds_it(engine, root):
    result = python(root, engine, "print(open('/proc/self/status').read())", "--processes", "9")
    protections = by_name(result)
    held = {name for name, one in protections.items() if one["state"] == "enforced"}
    assert held >= {"mount_namespace", "pid_namespace", "network", "filesystem", "identity", "capabilities", "no_new_privs",
                    "seccomp", "memory", "processes", "cpus", "disk", "open_files", "timeout", "output", "cpu_time"}
    assert protections["landlock"]["state"] == "missing"
    words = dict(line.split(":\t", 1) for line in result["stdout"].splitlines() if ":\t" in line)
    assert (words["Seccomp"], words["NoNewPrivs"], words["CapBnd"]) == ("2", "1", "0" * 16)
    assert words["Uid"].split() == ["65533"] * 4


def test_a_program_sees_no_way_out(engine, root):
    """A read-only root, no network, our filter's answers, a first process that cannot be touched."""
    code = """
import ctypes, errno, os, socket
def answer(name, function):
    try:
        print(name, function() or "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "")
answer("root", lambda: open("/etc/new", "w") and None)
answer("code", lambda: open("/code/new", "w") and None)
answer("connect", lambda: socket.create_connection(("192.0.2.1", 80), 2) and None)
answer("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) and None)
answer("mount", lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, 0))
answer("unshare", lambda: call(272, 0x10000000))
answer("ptrace", lambda: call(101, 16, 1, 0, 0))
answer("clone3", lambda: call(435, 0, 0))
answer("unknown", lambda: call(1000))
answer("memory", lambda: open("/proc/1/mem", "rb") and None)
answer("words", lambda: os.listdir("/proc/1/fd") and None)
answer("kill", lambda: os.kill(1, 9))
answer("groups", lambda: open("/sys/fs/cgroup/memory/cgroup.procs", "w") and None)
"""
    result = python(root, engine, code)
    told = dict(line.split() for line in result["stdout"].splitlines())
    assert told == {"root": "EROFS", "code": "EACCES", "connect": "ENETUNREACH", "raw": "EPERM", "mount": "EPERM",
                    "unshare": "EPERM", "ptrace": "EPERM", "clone3": "ENOSYS", "unknown": "ENOSYS", "memory": "EACCES", "words": "EACCES",
                    "kill": "done", "groups": told["groups"]}, result
    assert told["groups"] in ("EROFS", "EACCES", "ENOENT", "EPERM")


def test_input_files_go_in_and_new_ones_come_out(engine, root, tmp_path):
    (tmp_path / "given.txt").write_text("given")
    out = tmp_path / "out"
    out.mkdir()
    code = ("import os\nos.makedirs('a/b'); open('a/b/deep.txt', 'w').write(open('given.txt').read().upper())\n"
            "os.symlink('/etc/passwd', 'link'); open('given.txt', 'a').write('!')")
    result = python(root, engine, code, "--input-file", str(tmp_path / "given.txt"), "--collect", "**", "--collect-to", str(out))
    assert result["status"] == "ok", result
    assert (result["files"]["created"], result["files"]["modified"]) == (["a/b/deep.txt"], ["given.txt"]), result["files"]
    assert (out / "a/b/deep.txt").read_text() == "GIVEN"
    assert not (out / "link").exists()


def test_the_version_is_the_images(engine, root):
    """Images of the same files, each with another word about itself."""
    if engine.name == "podman":
        pytest.skip("the inspection is the same")
    assert python(root, engine, "print(1)")["version"] is None
    source = engine.call("POST", "/v1.41/containers/create", {"Image": "sandbox-run/test", "Cmd": ["/bin/true"]})["Id"]
    for change, told in (("LABEL%20sandbox-run.version=9.8.7", "9.8.7"), ("ENV%20PYTHON_VERSION=3.99.1", "3.99.1"),
                         ("LABEL%20sandbox-run.version=a%26b", None)):
        engine.call("POST", f"/v1.41/commit?container={source}&repo=sandbox-run/versioned&tag=latest&changes={change}", {})
        assert python(root, engine, "print(1)", env={"DOCKER_IMAGE": "sandbox-run/versioned"})["version"] == told
    engine.call("DELETE", f"/v1.41/containers/{source}")


def test_an_engine_without_root_is_told_by_what_it_says_of_itself(engine, root, fake):
    """Docker without root, which tests have not: the word is put into the answer of one that has it."""
    if engine.name == "podman":
        pytest.skip("test_docker_rootless.py has it without root")

    def answer(options):
        def add(request):
            path = request.split()[1].decode() if request.startswith(b"GET ") else ""
            return {**engine.call("GET", path), "SecurityOptions": options} if path.endswith("/info") else None
        return add

    def told_of(options):
        daemon = fake(forward_to(engine, answer(options)))
        one = by_name(python(root, engine, "print(1)", env=daemon.env))["user_namespace"]
        return one["state"], one.get("detail")

    assert told_of(["name=seccomp,profile=default", "name=rootless"]) == ("enforced", "the engine runs without root")
    assert told_of(["name=userns"]) == ("enforced", "the engine maps the users of its containers")
    assert told_of(["name=rootless-not"])[0] == "missing"


def test_names_are_bytes(engine, root, tmp_path):
    (tmp_path / "h\u00e9.txt").write_text("given")
    result = python(root, engine, "open('h\u00e9.txt', 'a').write('!'); open(b'\\xff', 'w')", "--input-file", str(tmp_path / "h\u00e9.txt"))
    assert (result["files"]["created"], result["files"]["modified"]) == (["\\xff"], ["h\u00e9.txt"]), result


def test_a_volume_is_seen_where_it_was_asked_for(engine, root, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "data.txt").write_text("from the host")
    result = python(root, engine, "print(open('/data/data.txt').read())\nopen('/data/new', 'w')", "--volume",
                    f"{tmp_path}:/data:ro")
    assert result["stdout"] == "from the host\n"
    assert "Read-only file system" in result["stderr"]


SAME = {
    "shell": "echo hello; echo wrong >&2; exit 4",
    "sh": "for i in 1 2 3; do echo $i; done | sort -r",
    "perl": "print join(',', map { $_ * 2 } 1 .. 5), qq{\\n}; die qq{so\\n}",
    "lua": "print(#arg, string.rep('x', 3))",
    "awk": "BEGIN { print 6 * 7 }",
}


@pytest.mark.parametrize("language", SAME)
def test_a_language_does_what_it_does_in_the_container(engine, root, language):
    leave_some(engine, language)
    words = ["-l", language, "-c", SAME[language], "--", "one"]
    results = [root.run_json("--backend", backend, *words, env=engine.env) for backend in ("docker", "container")]
    for key in ("status", "exit_code", "stdout", "stderr", "message", "files"):
        assert results[0][key] == results[1][key], (key, results[0])


COMPILED = {
    "runs": "#include <stdio.h>\n#include <math.h>\nint main(int argc, char **argv) { printf(\"%s %.0f\\n\", argv[1], sqrt(argc)); return 3; }",
    "warns": "#include <stdlib.h>\nint main(void) { int x = \"text\"; abort(); }",
    "does not compile": "int main(void) { return 1 }",
}


def test_a_compiled_program_does_what_it_does_in_the_container(engine, root):
    if not ALL:
        pytest.skip("make test-docker runs it")
    engine.call("POST", "/v1.41/images/create?fromSrc=-&repo=sandbox-run/c&tag=latest", compiler_image(), "application/x-tar")
    for name, code in COMPILED.items():
        words = ["--no-cache", "-l", "c", "-c", code, "--", "one"]
        results = [root.run_json("--backend", backend, *words, env=engine.env) for backend in ("docker", "container")]
        for key in ("status", "exit_code", "signal", "stdout", "stderr", "message", "files"):
            assert results[0][key] == results[1][key], (name, key, results[0])
        for key in ("status", "exit_code", "stdout", "stderr"):
            assert results[0]["compile"][key] == results[1]["compile"][key], (name, key, results[0])


def test_output_comes_while_the_program_runs(engine, root):
    with root.start("run", *BACKEND, "-l", "python", "-c", "print('first', flush=True); input(); print('last')", "--stdin", "-",
                    env=engine.env, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"first\n"
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stdout.read() == b"last\n"
        assert process.wait() == 0


def test_no_byte_waits_for_the_next_one(engine, root):
    """Also not the one with which the record of the end begins, which nobody knows here."""
    code = ("import os\nfor byte in range(256):\n    os.write(1, bytes([byte]))\n"
            "    assert os.read(0, 1) == bytes([byte])")
    with root.start("run", *BACKEND, "-l", "python", "-c", code, "--stdin", "-", env=engine.env, stdin=subprocess.PIPE, bufsize=0) as process:
        for byte in range(256):
            assert process.stdout.read(1) == bytes([byte])
            process.stdin.write(bytes([byte]))
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_what_it_uses_is_told_while_it_runs(engine, root):
    """The program goes on until a sample was heard: how often an engine looks is its own matter."""
    code = "data = bytearray(32 << 20); print(1, flush=True); input()"
    with root.start("run", *BACKEND, "-t", "120", "-l", "python", "-o", "jsonl", "--stdin", "-", "-c", code, env=engine.env,
                    stdin=subprocess.PIPE) as process:
        events = []
        while not any(event["event"] == "usage" and event["memory"] > 32 << 20 for event in events):
            events.append(json.loads(process.stdout.readline()))
        process.stdin.write(b"\n")
        process.stdin.close()
        last = json.loads(process.stdout.read().splitlines()[-1])["result"]
        assert process.wait() == 0
    told = events[-1]
    assert 0 < told["cpu_time"] and told["processes"] == 1 and told["memory_peak"] >= told["memory"], told
    assert told["disk"] is told["io_read"] is told["network_in"] is None, told
    assert last["status"] == "ok" and last["memory_used"] >= told["memory"], last


def test_a_look_without_an_answer_ends_no_looking(engine, root, fake):
    """Each engine refuses a look now and then; and the peak at the end is never below what was told before."""
    looks = []

    def answer(data):
        if b"/stats" not in data.split(b"\r\n")[0]:
            return None
        looks.append(data)
        if len(looks) < 3:
            return {"message": "busy"}
        return {"cpu_stats": {"cpu_usage": {"total_usage": 10**7}}, "memory_stats": {"usage": 123 << 30},
                "pids_stats": {"current": 2}}

    daemon = fake(forward_to(engine, answer))
    with root.start("run", *BACKEND, "-t", "120", "-l", "python", "-o", "jsonl", "--stdin", "-", "-c", "input()",
                    env=daemon.env, stdin=subprocess.PIPE) as process:
        told = {}
        while told.get("memory") != 123 << 30:
            told = json.loads(process.stdout.readline())
            assert told["event"] != "complete", told
        process.stdin.write(b"\n")
        process.stdin.close()
        last = json.loads(process.stdout.read().splitlines()[-1])["result"]
        assert process.wait() == 0
    assert last["status"] == "ok" and last["memory_used"] == 123 << 30, last


def test_much_output_arrives_whole(engine, root):
    code = "import sys, hashlib\ndata = bytes(range(256)) * 4096 * 8\nsys.stdout.buffer.write(data)\nsys.stdout.flush()"
    outcome = root.run(*BACKEND, "-l", "python", "--output-limit", "64M", "-c", code, env=engine.env)
    assert outcome.stdout == bytes(range(256)) * 4096 * 8


# ---- how it ends


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_removes_the_container(engine, root, number, code, nothing_of_ours):
    is_left_empty(engine)
    with root.start("run", *BACKEND, "-l", "python", "-c", "print(1, flush=True); import time; time.sleep(60)",
                    env=engine.env) as process:
        assert process.stdout.readline() == b"1\n"
        process.send_signal(number)
        assert process.wait(30) == code
    assert engine.containers() == []


def helpers_of(pid):
    """The processes that the program started itself."""
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in children.stdout.split()]


def kill_at_moments(program, engine, turns, *words):
    """Four moments in each turn: the program alone is killed, or its helper with it, and then the next run sweeps."""
    moments = random.Random(8)
    for turn in range(turns):
        processes = [program.start("run", *BACKEND, *words, "-l", "python", "-c", "import time; time.sleep(60)", env=engine.env)
                     for _ in range(4)]
        for process in processes:
            time.sleep(moments.random() / 3)  # The moment itself: nothing is waited for.
            victims = [*(helpers_of(process.pid) if turn % 2 else []), process.pid]
            for victim in victims:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.communicate()

    def swept():
        """An engine that was told to make a container makes it, also for one who is dead by then."""
        assert python(program, engine, "print(1)", *words)["stdout"] == "1\n"
        try:
            wait_until(lambda: engine.containers() == engine.volumes() == [], 5)
        except AssertionError:
            return False  # One came later: the next run sweeps it.
        return True

    wait_until(swept, 60, "everything is gone")


def test_killed_at_any_moment_no_container_stays(engine, root, nothing_of_ours):
    """Twenty moments, with Podman eight."""
    kill_at_moments(root, engine, 5 if engine.name == "docker" or ALL else 2)


# ---- what can be wrong


@pytest.fixture
def fake():
    made = []

    def make(serve):
        made.append(FakeDaemon(serve) if callable(serve) else serve)
        return made[-1]

    yield make
    for one in made:
        one.end()


def refused(root, env, *words):
    outcome = root.run(*BACKEND, "-l", "python", *words, "-c", "print(1)", env=env)
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    return outcome.error.splitlines()


def test_no_daemon_is_said_with_the_remedy(root):
    lines = refused(root, {"DOCKER_HOST": "unix:///nowhere.sock"})
    assert lines[0] == "sandbox: docker: cannot connect to unix:///nowhere.sock: No such file or directory"
    assert lines[1].startswith("hint: is the daemon running")


@pytest.mark.parametrize("words, env", [(BACKEND, {}), ((), {"SANDBOX_TYPE": "docker"}), (("--policy", "p.yaml"), {}),
                                        ((), {"SANDBOX_POLICY": "p.yaml"})])
def test_no_helper_of_the_other_backend_is_started(root, tmp_path, words, env, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text("backend: [docker]\n")
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-o", trace, "-e", "trace=execve", root.path, "run", *words, "-l", "python", "-c", "print(1)"]
    env = {**root.environment(), **env, "DOCKER_HOST": "unix:///nowhere.sock"}
    assert subprocess.run(command, env=env, capture_output=True, timeout=60, check=False).returncode == 125
    assert "/sandbox-docker" in trace.read_text() and "/sandbox-init" not in trace.read_text()


def test_no_daemon_at_a_port(root):
    assert "cannot connect to tcp://127.0.0.1:1: Connection refused" in refused(root, {"DOCKER_HOST": "tcp://127.0.0.1:1"})[0]


@pytest.mark.parametrize("host", ["", "here", "ssh://host", "unix://relative", "tcp://", "tcp://a/b"])
def test_a_host_that_is_none_is_refused(root, host):
    if host:
        assert f"cannot use '{host}' as a host" in refused(root, {"DOCKER_HOST": host})[0]


@pytest.mark.parametrize("backend", ["container", "local"])
def test_a_fallback_runs_and_says_so(root, backend):
    words = ["--enforcement", "best-effort"] if backend == "local" else []
    outcome = root.run("--output", "jsonl", *BACKEND, *words, "--fallback", backend, "-l", "python", "-c", "print(1)",
                       env={"DOCKER_HOST": "unix:///nowhere.sock"})
    events = outcome.events
    assert events[-1]["result"]["backend"] == backend, outcome
    assert events[-1]["result"]["fallback"].startswith(f"{backend} instead: docker: cannot connect to unix:///nowhere.sock"), outcome
    assert events[-1]["result"]["stdout"] == "1\n"


def test_an_engine_that_gives_a_network_and_denies_it_runs_nothing(engine, root, fake):
    """Its inspection says that there is none; the first process of the container looks for itself."""
    with open("/proc/net/route", encoding="ascii") as routes:
        if len(routes.readlines()) < 2:
            pytest.skip("this machine has no network itself")

    def deny(request):
        path = request.split()[1].decode() if request.startswith(b"GET ") else ""
        if not path.endswith("/json") or path.split("/")[-2] not in engine.containers():
            return None
        told = engine.call("GET", path)
        told["HostConfig"]["NetworkMode"] = "none"
        return told

    daemon = fake(forward_to(engine, deny, lambda data: data.replace(b'"NetworkMode":"none"', b'"NetworkMode":"host"')
                             .replace(b'"NetworkDisabled":true', b'"NetworkDisabled":null')))
    result = python(root, engine, "print(1)", env=daemon.env)
    assert (result["status"], result["stdout"], result["exit_code"]) == ("refused", "", None), result
    assert "gave the container a network that it denies" in result["message"]
    is_left_empty(engine)


def test_the_mode_localhost_has_a_loopback_and_its_name(engine, root):
    code = ("import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
            "print(socket.create_connection(('localhost', server.getsockname()[1])).getpeername()[0])")
    assert python(root, engine, code, "--network", "localhost")["stdout"] == "127.0.0.1\n"


def test_an_image_that_is_missing(engine, root):
    lines = refused(root, {**engine.env, "DOCKER_IMAGE": "no/such:image"})
    assert lines[0] == "sandbox: docker: there is no image 'no/such:image'"
    assert "sandbox images build python" in lines[1]


def test_an_image_without_the_language(engine, root):
    is_left_empty(engine)
    outcome = root.run(*BACKEND, "-l", "ruby", "-c", "puts 1", env={**engine.env, "DOCKER_IMAGE": "sandbox-run/test"})
    assert "image 'sandbox-run/test' has no program for 'ruby'" in outcome.error
    assert engine.containers() == []


def ping(version):
    return lambda fake, connection, data: reply(connection, 200, b"OK", f"Api-Version: {version}")


IMPATIENT = {"DOCKER_CLIENT_TIMEOUT": "1"}  # For daemons whose answer never comes.
TROUBLES = {
    "garbage": (lambda fake, connection, data: connection.sendall(b"\0\xff\x01 what?\r\n" * 9), "gave no proper answer"),
    "silence": (lambda fake, connection, data: None, "did not answer within 1 s"),
    "closing": (lambda fake, connection, data: connection.close(), "gave no proper answer"),
    "an old version": (ping("1.39"), "speaks version 1.39 of the API, and 1.40 is the oldest"),
    "no version": (ping("new"), "names no version of the API"),
    "an error": (lambda fake, connection, data: reply(connection, 500, {"message": "so\x07 sorry"}), "the daemon answered 500"),
    "no JSON": (ping("1.41"), "gave no proper answer to 'POST /containers/create"),
    "no end": (lambda fake, connection, data: [connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n"),
                                               [connection.sendall(b"x" * 65536) for _ in range(400)]], "it is too long"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_daemon_that_misbehaves_is_a_clear_error(root, fake, name, no_leftovers):
    serve, words = TROUBLES[name]
    lines = refused(root, {**fake(serve).env, **(IMPATIENT if name == "silence" else {})})
    assert lines[0].startswith("sandbox: docker: ") and words in lines[0], lines


def test_a_daemon_that_falls_silent_while_it_removes_is_not_waited_for(root, fake):
    """It is asked once whether the container has gone, not again and again."""
    def serve(_fake, connection, data):
        if data.startswith(b"POST") and b"/containers/create" in data:
            reply(connection, 201, {"Id": "abc"})
        elif data.startswith(b"POST"):
            reply(connection, 500, {"message": "no"})
        elif not data.startswith(b"GET /v1.41/containers/abc/json"):
            reply(connection, 200, b"OK", "Api-Version: 1.41")

    daemon = fake(serve)
    assert "does not let us attach: no" in refused(root, {**daemon.env, **IMPATIENT})[0]
    assert sum(b"DELETE" in request for request in daemon.requests) == 1
    assert sum(b"GET /v1.41/containers/abc/json" in request for request in daemon.requests) == 1


@pytest.mark.parametrize("version, spoken", [("1.40", b"/v1.40/"), ("1.44", b"/v1.44/"), ("1.59", b"/v1.51/")])
def test_the_newest_version_that_both_know_is_spoken(root, fake, version, spoken):
    daemon = fake(ping(version))
    refused(root, daemon.env)
    assert spoken in daemon.requests[1]


def test_a_daemon_that_dies_during_a_run_is_not_the_programs_failure(engine, root, fake):
    daemon = fake(forward_to(engine))
    with root.start("run", *BACKEND, "-l", "python", "-c", "print('x', flush=True); import time; time.sleep(60)",
                    "--output", "jsonl", env=daemon.env) as process:
        for line in process.stdout:
            if json.loads(line)["event"] == "stdout":
                break
        daemon.cut()
        last = json.loads(process.stdout.read().splitlines()[-1])["result"]
        process.wait(30)
    assert last["status"] == "internal_error", last
    assert "went away during the run" in last["message"]
    wait_until(lambda: engine.containers() == [], 30, "the container is gone")


@pytest.mark.parametrize("words, why", [(["--network", "allowlist", "--allow", "a.test"], "no network modes"),
                                        (["--workspace", "kept"], "keeps no workspace")])
def test_what_it_cannot_do_is_refused(root, words, why):
    lines = refused(root, {}, *words)
    assert why in lines[0] and "--fallback container" in lines[1]


# ---- another machine


def test_an_engine_behind_tls_is_spoken_to_and_must_prove_itself(engine, root, tmp_path):
    if engine.name == "podman":
        pytest.skip("Podman takes the filter from its own machine alone")
    make_certificates(tmp_path)
    front = TlsFront(engine, tmp_path)
    env = {"DOCKER_HOST": f"tcp://127.0.0.1:{front.port}", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    code = "import sys; sys.stdout.write('x' * 300000); open('made', 'w'); sys.exit(len(sys.stdin.read()))"
    result = root.run_json(*BACKEND, "-l", "python", "--stdin", "-", "-c", code, env=env, input=b"12345")
    assert (result["exit_code"], result["stdout_bytes"], result["files"]["created"]) == (5, 300000, ["made"]), result
    others = tmp_path / "others"
    others.mkdir()
    make_certificates(others)
    assert "cannot connect to tcp://127.0.0.1" in refused(root, {**env, "DOCKER_CERT_PATH": str(others)})[0]
    front.end()


# ---- images


def test_images_are_built_listed_used_and_pruned(engine, root):
    """On a base that has the language already: nothing is fetched."""
    built = root.call("images", "build", "--base", "sandbox-run/test:latest", "--no-packages", "shell", env=engine.env,
                      timeout=180)
    name = built.stdout.decode().strip()
    assert built.exit_code == 0 and name.startswith("sandbox-run/shell:"), built
    assert "Step" in built.error or "STEP" in built.error, built
    listed = root.call("images", "list", env=engine.env).stdout.decode()
    assert name in listed and "sandbox-run/shell:latest" in listed
    labels = engine.call("GET", f"/v1.41/images/{name}/json")["Config"]["Labels"]
    version = root.call("--version").stdout.decode().split()[-1]
    assert (labels["sandbox-run.source"], labels["sandbox-run.project"]) == (name.rsplit(":", 1)[1], version), labels
    result = run(root, engine, "-l", "shell", "-c", "echo hello", env={"DOCKER_IMAGE": name.removeprefix("docker.io/")})
    assert result["stdout"] == "hello\n", result
    again = root.call("images", "build", "--base", "sandbox-run/test:latest", "--no-packages", "shell", env=engine.env,
                      timeout=180)
    assert again.stdout == built.stdout
    pruned = root.call("images", "prune", "--all", env=engine.env)
    assert pruned.exit_code == 0 and name not in root.call("images", env=engine.env).stdout.decode(), pruned
    engine.call("POST", "/v1.41/images/sandbox-run/test:latest/tag?repo=sandbox-run/shell&tag=latest")


def test_an_image_that_cannot_be_built_says_why(engine, root):
    unknown = root.call("images", "build", "cobol", env=engine.env)
    assert unknown.exit_code == 125 and "there is no image for 'cobol'" in unknown.error
    based = root.call("images", "build", "--base", "no/such:base", "shell", env=engine.env, timeout=180)
    assert based.exit_code == 125 and based.error.splitlines()[-2].startswith("sandbox: docker: "), based


def test_the_doctor_removes_what_dead_owners_left(engine, root):
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        host = f"{boot.read().strip()}.{os.readlink('/proc/self/ns/pid')[5:-1]}"
    labels = {"sandbox-run.owner": "1.99999999999", "sandbox-run.host": host}
    dead = engine.call("POST", "/v1.41/containers/create", {"Image": "sandbox-run/test", "Cmd": ["/bin/true"], "Labels": labels})
    other = engine.call("POST", "/v1.41/containers/create", {"Image": "sandbox-run/test", "Cmd": ["/bin/true"],
                                                            "Labels": {**labels, "sandbox-run.host": "elsewhere"}})
    outcome = root.call("doctor", "--clean", env=engine.env)
    assert outcome.stdout == b"removed 1 leftovers of runs\n", outcome
    wait_until(lambda: engine.containers() == [other["Id"]], 30, f"only {other['Id']} is left, not {dead['Id']}")
    engine.call("DELETE", f"/v1.41/containers/{other['Id']}")
