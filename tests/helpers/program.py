"""The program under test: where it is, and how it is run as root and as an ordinary user.

SANDBOX_BIN names the program; without it the one in the build folder is meant. The helper
program is found beside it. Where an ordinary user cannot reach the folder, both are copied.
"""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ORDINARY_UID = 54321  # Has no entry in the password file, owns nothing.
SLOWNESS = float(os.environ.get("SANDBOX_TEST_SLOWNESS", "1"))  # Above 1 on emulated machines.
HARD_TIMEOUT = 180 * SLOWNESS  # Seconds after which a call of the program is a failure of its own.
WAITING = ("-o", "jsonl", "--stdin", "-", "-t", "120s")  # Options of a run whose program waits for lines.
LIMIT_UIDS_FIRST = 0x70000000  # Host users of sandboxes started by root lie here and above.


def program_path():
    given = os.environ.get("SANDBOX_BIN")
    return pathlib.Path(given).resolve() if given else REPOSITORY / "build/src/cli/sandbox"


def helper_path():
    """The program that becomes the guest's first process: beside the program, or as the build lays it."""
    for candidate in (program_path().with_name("sandbox-init"), program_path().parents[1] / "init/sandbox-init"):
        if candidate.exists():
            return candidate
    return None


def historian_path():
    """What `history` and `top` execute, likewise."""
    for candidate in (program_path().with_name("sandbox-history"),
                      program_path().parents[1] / "historian/sandbox-history"):
        if candidate.exists():
            return candidate
    return None


def toml_path():
    """The program that reads TOML policies, found likewise."""
    for candidate in (program_path().with_name("sandbox-toml"), program_path().parents[1] / "toml/sandbox-toml"):
        if candidate.exists():
            return candidate
    return None


def proxy_path():
    """The way out of a closed network: beside the helper, or as the build lays it."""
    helper = helper_path()
    candidates = [helper.with_name("sandbox-proxy"), helper.parents[1] / "proxy/sandbox-proxy"] if helper else []
    return next((path for path in candidates if path.exists()), None)


def network_path():
    """The program that makes a guest's connections, found likewise."""
    helper = helper_path()
    candidates = ([helper.with_name("sandbox-network"), helper.parents[1] / "network/program/sandbox-network"]
                  if helper else [])
    return next((path for path in candidates if path.exists()), None)


def wasm_path():
    """The worker of the wasm backend, found likewise."""
    for candidate in (program_path().with_name("sandbox-wasm"), program_path().parents[1] / "wasm/sandbox-wasm"):
        if candidate.exists():
            return candidate
    return None


def wasm_parts():
    """Engine and guests of the wasm backend; None where they were not built."""
    worker = wasm_path()
    for candidate in (worker.with_name("wasm"), worker.parents[2] / "wasm") if worker else ():
        if (candidate / "about.json").exists():
            return candidate
    return None


def docker_paths():
    """What talks to container engines, the first process of its containers and its filter, found likewise."""
    names = ("sandbox-docker", "sandbox-inside", "sandbox-seccomp.json")
    return [path for name in names
            for path in (program_path().with_name(name), program_path().parents[1] / "docker" / name) if path.exists()]


def analyze_path():
    """The program of static analysis, found likewise; not there where the build has no grammars."""
    for candidate in (program_path().with_name("sandbox-analyze"),
                      program_path().parents[1] / "analysis/sandbox-analyze"):
        if candidate.exists():
            return candidate
    return None


def mcp_path():
    """What `mcp` executes, found likewise."""
    for candidate in (program_path().with_name("sandbox-mcp"), program_path().parents[1] / "mcp/sandbox-mcp"):
        if candidate.exists():
            return candidate
    return None


def reachable_by_all(path):
    """Whether a user who owns nothing can run this file where it is."""
    if not path.stat().st_mode & stat.S_IXOTH:
        return False
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)


def users():
    """The users that the tests can be here."""
    return ["root", "user"] if os.geteuid() == 0 else ["user"]


class Outcome:
    """What one call of the program did."""

    def __init__(self, args, exit_code, stdout, stderr):
        self.args = args
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr

    @property
    def json(self):
        return json.loads(self.stdout)

    @property
    def result(self):
        """The parsed result of a run with --json, with the exit code of the program and what it said."""
        try:
            result = self.json
        except ValueError:
            raise AssertionError(f"no JSON: {self!r}") from None
        times = [result.get("execution_time"), result.get("cpu_time"), (result.get("metrics") or {}).get("startup_time")]
        assert all(0 <= time < HARD_TIMEOUT for time in times if time is not None), f"no run took so long: {times}"
        result["_exit"] = self.exit_code
        result["_stderr"] = self.error
        return result

    @property
    def events(self):
        """The lines of the `jsonl` form."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def error(self):
        return self.stderr.decode("utf-8", "replace")

    def __repr__(self):
        words = [str(word)[:80] for word in self.args]
        return f"exit {self.exit_code} of {words[:40]}\nstdout: {self.stdout[:900]!r}\nstderr: {self.stderr[:900]!r}"


def held_events(process, until):
    """All events of a run whose program waits for lines: each is given when an event came of which the next function in
    `until` is true. So the program lasts as long as it takes to see them, on any machine."""
    events = []
    with process:
        for is_wanted in until:
            while True:
                line = process.stdout.readline()
                assert line, (events, process.stderr.read())
                events.append(json.loads(line))
                if is_wanted(events[-1]):
                    break
                assert events[-1]["event"] != "complete", events
            process.stdin.write(b"\n")
            process.stdin.flush()
        process.stdin.close()
        events += map(json.loads, process.stdout)
    return events


class Program:
    """The command line as one user runs it."""

    def __init__(self, user, directory):
        self.user = user
        self.is_root = user == "root"
        self.uid = ORDINARY_UID if user == "user" and os.geteuid() == 0 else os.geteuid()
        self.changes_user = self.uid != os.geteuid()
        self.directory = pathlib.Path(directory)
        self.home = self.make_directory("home")
        self.state = self.directory / "state"  # Records of all runs: never the machine's own place.
        self.path = self._reachable_program()

    def _reachable_program(self):
        path = program_path()
        if not self.changes_user or reachable_by_all(path):
            return path
        place = self.directory / "bin"
        place.mkdir(mode=0o755)
        for source in (path, helper_path(), historian_path(), toml_path(), proxy_path(), network_path(),
                       analyze_path(), mcp_path(), wasm_path(), *docker_paths()):
            if source:
                shutil.copy2(source, place / source.name)
                (place / source.name).chmod(0o755)
        if wasm_parts():
            shutil.copytree(wasm_parts(), place / "wasm")
        return place / path.name

    def own(self, path, follow=True):
        """Gives a file or directory to the user."""
        if self.changes_user:
            os.chown(path, self.uid, self.uid, follow_symlinks=follow)
        return path

    def make_directory(self, name):
        path = self.directory / name
        path.mkdir(mode=0o755, exist_ok=True)
        return self.own(path)

    def make_file(self, name, content=b"", mode=0o644):
        path = self.directory / name if isinstance(name, str) else name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        path.chmod(mode)
        return self.own(path)

    def environment(self, extra=None):
        plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home),
                 "XDG_CACHE_HOME": str(self.home / ".cache"), "SANDBOX_STATE_DIR": str(self.state),
                 "LANG": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE", "SANDBOX_WARM_WAIT"):
            if name in os.environ:
                plain[name] = os.environ[name]
        plain.update(extra or {})
        return plain

    def start(self, *args, env=None, **options):
        """Starts the program in a session of its own and returns the Popen."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.directory)
        options.setdefault("start_new_session", True)
        if self.changes_user:
            options.update(user=self.uid, group=self.uid)
            options.setdefault("extra_groups", [])
        return subprocess.Popen([self.path, *args], env=self.environment(env), **options)

    def call(self, *args, input=None, timeout=HARD_TIMEOUT, env=None, **options):
        """Runs the program to its end. A call that hangs is killed and fails the test."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
            input = input.encode() if isinstance(input, str) else input
        with self.start(*args, env=env, **options) as process:
            try:
                stdout, stderr = process.communicate(input, timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                stdout, stderr = process.communicate()
                raise AssertionError(f"hung for {timeout} s: "
                                     f"{Outcome(args, None, stdout or b'', stderr or b'')}") from None
        return Outcome(args, process.returncode, stdout or b"", stderr or b"")

    def run(self, *args, **options):
        return self.call("run", *args, **options)

    def run_json(self, *args, **options):
        """Runs with --json and returns the parsed result, the outcome's exit code added."""
        return self.run("--json", *args, **options).result

    def run_held(self, *args, until, **options):
        """The events of a run that lasts until they came: see `held_events`."""
        return held_events(self.start("run", *WAITING, *args, stdin=subprocess.PIPE, **options), until)

    def python(self, code, *flags, **options):
        return self.run_json("-l", "python", *flags, "-c", code, **options)

    def shell(self, code, *flags, **options):
        return self.run_json("-l", "shell", *flags, "-c", code, **options)


def make_program(user):
    """A program in a directory of its own, which the caller removes with `remove_program`."""
    directory = tempfile.mkdtemp(prefix="sbtest-")
    os.chmod(directory, 0o755)
    program = Program(user, directory)
    program.own(directory)
    return program


def remove_tree(path):
    """Removes a directory, also one that is deeper than Python's recursion goes."""
    subprocess.run(["chmod", "-R", "u+rwX", path], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["rm", "-rf", path], check=False)


def remove_program(program):
    remove_tree(program.directory)
