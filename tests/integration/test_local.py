"""The `local` backend: a plain subprocess with limits, and an honest result."""

import contextlib
import os
import signal

import pytest

from helpers.leftovers import wait_until
from helpers.program import HARD_TIMEOUT, SLOWNESS

CONTAINED = {"user_namespace", "mount_namespace", "pid_namespace", "network", "ipc_namespace", "uts_namespace",
             "cgroup_namespace", "filesystem", "proc"}


@pytest.fixture
def local(sandbox):
    def run(code, *flags, language="python"):
        return sandbox.run_json("--backend", "local", "--enforcement", "best-effort", "-l", language, *flags, "-c", code)

    return run


def test_a_program_runs(local):
    result = local("print(6 * 7)")
    assert (result["backend"], result["status"], result["stdout"]) == ("local", "ok", "42\n"), result


def test_asked_for_by_name_it_runs_under_strict_enforcement_and_names_what_is_missing(sandbox):
    result = sandbox.run_json("--backend", "local", "-l", "python", "-c", "print(1)")
    missing = {p["name"] for p in result["protections"] if p["state"] == "missing"}
    assert result["status"] == "ok"
    assert {"pid_namespace", "mount_namespace", "network", "cleanup"} <= missing


def test_it_is_never_chosen_by_itself(sandbox):
    for backend in ([], ["--backend", "auto"], ["--backend", "container"]):
        assert sandbox.shell("true", *backend)["backend"] == "container"


def test_what_was_not_contained_is_said(local):
    states = {p["name"]: p["state"] for p in local("print(1)")["protections"]}
    assert states.get("pid_namespace") == "missing" and states.get("mount_namespace") == "missing"
    assert {name for name in CONTAINED if states.get(name) == "missing"}


def test_the_bounding_set_is_told_as_it_is(sandbox, local):
    result = local("print(open('/proc/self/status').read().split('CapBnd:')[1].split()[0])")
    told = next(p for p in result["protections"] if p["name"] == "capabilities")
    assert ("bounding set" in (told["detail"] or "")) == (int(result["stdout"], 16) != 0), (told, result["stdout"])


def test_exit_codes_come_back(local):
    assert local("raise SystemExit(9)")["_exit"] == 9


def test_a_timeout_ends_the_whole_group(local, no_leftovers):
    code = "import subprocess; p = subprocess.Popen(['sleep', '60']); p.wait()"
    assert local(code, "-t", "500ms")["status"] == "timeout"


@pytest.fixture
def stopped(sandbox):
    """Runs of which somebody has stopped those who watch: a guest of the same user can, where Landlock has no scopes."""
    made = []

    def start(timeout, *who):
        code = "import os, time\nprint(os.getppid(), flush=True)\ntime.sleep(60)"
        process = sandbox.start("run", "--backend", "local", "-l", "python", "-t", timeout, "-c", code)
        keeper = int(process.stdout.readline())
        with open(f"/proc/{keeper}/status") as status:
            warden = int(status.read().split("PPid:")[1].split()[0])
        made.append((process, keeper, warden))
        for pid in [{"keeper": keeper, "warden": warden}[name] for name in who]:
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda: is_stopped(pid), what="it has stopped")
        return process

    yield start
    for process, keeper, warden in made:
        process.kill()
        process.communicate()
        for pid in (keeper, warden):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


@pytest.mark.parametrize("who", [["keeper"], ["warden"], ["keeper", "warden"]], ids="+".join)
def test_a_run_ends_though_those_who_watch_were_stopped(stopped, no_leftovers, who):
    process = stopped(f"{5 * SLOWNESS}s", *who)
    process.communicate(timeout=HARD_TIMEOUT)
    assert process.returncode == 124


def test_a_stopped_keeper_does_not_outlive_its_supervisor(stopped, no_leftovers):
    process = stopped("120s", "keeper")
    process.kill()
    process.communicate(timeout=HARD_TIMEOUT)


def test_the_keeper_of_a_kept_workspace_has_an_id_of_its_own(sandbox, local, place):
    """Not the one after the owner's, which may be an account that could signal it then."""
    if not sandbox.is_root:
        pytest.skip("an ordinary user has one id")
    owner = 12345
    os.chown(place, owner, owner)
    code = ("import os\n"
            "def keeper(): return int(open(f'/proc/{os.getppid()}/status').read().split('Uid:')[1].split()[0])\n"
            "while keeper() == 0: pass\n"
            "open('made', 'w').close()\n"
            "print(os.getuid(), keeper())\n")
    result = local(code, "--workspace", str(place))
    assert result["status"] == "ok", result
    guest, keeper = map(int, result["stdout"].split())
    assert guest == owner and (place / "made").stat().st_uid == owner
    assert keeper > 65535, keeper


def test_a_volume_that_cannot_be_reached_costs_no_other_rule(sandbox, local, place):
    """Another program, that may write to it, may have closed the way."""
    if not sandbox.is_root:
        pytest.skip("an ordinary user's program has the rights of its caller")
    (place / "way/inner").mkdir(parents=True)
    (place / "way").chmod(0o700)
    result = local("open('/etc/passwd')", "--volume", f"{place}/way/inner:/data")
    states = {p["name"]: p["state"] for p in result["protections"]}
    assert states["landlock"] == "enforced" and "PermissionError" in result["stderr"], result


def test_output_is_capped(local):
    result = local("print('x' * 5000)", "--output-limit", "1000")
    assert (len(result["stdout"]), result["stdout_truncated"]) == (1000, True)


def test_output_kill_ends_the_program(local):
    assert local("while True: print('x' * 1000)", "--output-limit", "10K", "--output-kill")["status"] == "output_limit"


def test_the_directory_is_temporary_and_goes(local, no_leftovers):
    result = local("import os; open('made', 'w').close(); print(os.getcwd())")
    assert result["files"]["created"] == ["made"]
    assert not os.path.exists(result["stdout"].strip())


def test_no_place_for_the_directory_is_told(sandbox, place):
    """Each time: what the helper says before it ends is heard, though it has not read all that it was told."""
    missing = place / "missing"
    for _ in range(10):
        outcome = sandbox.run("--backend", "local", "-l", "shell", "-c", "true", env={"TMPDIR": str(missing)})
        assert outcome.exit_code == 125, outcome
        assert str(missing) in outcome.error and "make the directory first" in outcome.error, outcome


def test_the_callers_environment_does_not_enter(sandbox):
    result = sandbox.run_json("--backend", "local", "--enforcement", "best-effort", "-l", "shell", "-c", "env",
                              env={"SECRET_TOKEN": "x"})
    assert "SECRET" not in result["stdout"]


def test_descriptors_do_not_enter(sandbox):
    with open("/etc/hostname") as extra:
        result = sandbox.run_json("--backend", "local", "--enforcement", "best-effort", "-l", "shell", "-c",
                                  "ls /proc/self/fd | wc -l", pass_fds=[extra.fileno()])
    assert result["stdout"].strip() in ("3", "4")  # The fourth is ls reading the directory.


def test_seccomp_and_landlock_are_used_where_the_kernel_has_them(local):
    states = {p["name"]: p["state"] for p in local("print(1)")["protections"]}
    assert states["seccomp"] == "enforced" and states["landlock"] == "enforced" and states["no_new_privs"] == "enforced"


def test_the_filter_is_really_there(local):
    assert local("print([l for l in open('/proc/self/status') if 'Seccomp:' in l])")["stdout"].count("2")


def test_cpu_time_is_limited(local):
    assert local("while True: pass", "--cpu-time", "500ms", "-t", "20s")["status"] == "cpu_limit"


def test_memory_is_limited(local):
    result = local("x = bytearray(400 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('escaped')", "-m", "64M")
    assert "escaped" not in result["stdout"]
    assert result["status"] in ("memory_limit", "failed")


def test_a_compiled_language_runs(local):
    code = '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }'
    assert local(code, language="c")["stdout"] == "compiled\n"


def test_a_fallback_is_taken_only_where_it_is_needed(sandbox):
    assert sandbox.shell("true", "--backend", "container", "--fallback", "local")["backend"] == "container"

