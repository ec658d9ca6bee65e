"""Bad input: one clear line and its remedy, exit 125, and nothing has run."""

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess

import pytest

from helpers import leftovers

LIMIT_OPTIONS = ["-t", "--timeout", "--cpu-time", "-m", "--memory", "--cpus", "--processes", "--disk", "--open-files",
                 "--output-limit"]
BAD_NUMBERS = ["", "-1", "+1", "abc", "1x", "1e400", "nan", "inf", "0x10", "1 ", " 1", "1,5", "18446744073709551616",
               "99999999999999999999999", "9223372036854775808", "--", "007", "1..5", ".5", "5.", "1\n", "ü", "1m1"]


@pytest.fixture
def marker(sandbox, place):
    """A workspace in which any code that ran would leave a file."""
    place.chmod(0o777)
    return place / "ran"


def refuse(sandbox, marker, *args, words=(), **options):
    """Calls the program with bad arguments and checks the manner of its refusal."""
    outcome = sandbox.call(*args, **options)
    assert outcome.exit_code == 125, outcome
    lines = outcome.error.splitlines()
    assert len(lines) == 2 and lines[0].startswith("sandbox: ") and lines[1].startswith("hint: "), outcome
    assert len(outcome.stderr) < 4096
    assert outcome.stdout == b""
    assert not any(ord(char) < 32 for line in lines for char in line), "control bytes in the message"
    for word in words:
        assert word in outcome.error, outcome
    assert not marker.exists(), "something ran"
    return outcome


def refuse_run(sandbox, marker, *flags, words=(), **options):
    run = ["run", "--workspace", str(marker.parent), "-l", "shell", "-c", "touch ran"]
    return refuse(sandbox, marker, *run, *flags, words=words, **options)


@pytest.mark.parametrize("flag", ["--no-such", "-Z", "--lang-uage", "--timeout=1=2x", "-", "--jsn", "---", "--=x", "-\n"])
def test_an_unknown_option_is_refused(sandbox, marker, flag):
    refuse_run(sandbox, marker, flag)


def test_a_misspelt_option_gets_a_hint(sandbox, marker):
    refuse_run(sandbox, marker, "--timout", "1s", words=["--timout", "hint:", "timeout"])


@pytest.mark.parametrize("flag", ["--lang", "-l", "--code", "--file", "--stdin", "--timeout", "-t", "--memory", "-m",
                                  "--cpus", "--processes", "--disk", "--open-files", "--output-limit", "--network",
                                  "--volume", "--workspace", "--env", "-e", "--backend", "--fallback", "--policy",
                                  "--output", "-o", "--enforcement", "--name",
                                  "--template", "--set", "--set-file", "--cases", "--jobs"])
def test_a_missing_value_is_refused(sandbox, marker, flag):
    refuse(sandbox, marker, "run", flag)


@pytest.mark.parametrize("option", LIMIT_OPTIONS)
@pytest.mark.parametrize("number", BAD_NUMBERS)
def test_a_bad_number_is_refused(sandbox, marker, option, number):
    refuse_run(sandbox, marker, option, number, words=[option.lstrip("-")] if len(option) > 2 else [])


@pytest.mark.parametrize("option", [name for name in LIMIT_OPTIONS if name != "--output-limit"])
def test_a_limit_of_zero_is_refused_and_never_means_endless(sandbox, marker, option):
    refuse_run(sandbox, marker, option, "0")


@pytest.mark.parametrize("flags", [["--processes", "1.5"], ["--open-files", "2.5"], ["-t", "1000000h"], ["-m", "1"+"0"*15],
                                   ["--cpus", "1000000"], ["-m", "10K"], ["--processes", "9999999"], ["-t", "5M"+"B"],
                                   ["-m", "5s"]])
def test_an_impossible_value_is_refused(sandbox, marker, flags):
    refuse_run(sandbox, marker, *flags)


@pytest.mark.parametrize("flags", [["-t", "1s", "-t", "2s"], ["--json", "--text"], ["--json", "-o", "raw"],
                                   ["--network", "none", "--network", "host"], ["-l", "python"]])
def test_an_option_given_twice_or_against_another_is_refused(sandbox, marker, flags):
    refuse_run(sandbox, marker, *flags)


@pytest.mark.parametrize("flags", [["-o", "xml"], ["-o", "JSON "], ["--network", "some"], ["--enforcement", "maybe"],
                                   ["--backend", "vm"], ["--backend", ""], ["--check", "maybe"], ["--check", ""], ["--fallback", "vm"], ["-o", ""],
                                   ["--name", "x" * 10_000], ["--network", "none\n"]])
def test_a_word_that_is_not_a_choice_is_refused(sandbox, marker, flags):
    refuse_run(sandbox, marker, *flags)


@pytest.mark.parametrize("name", ["cobol", "../python", "/bin/sh", "py thon", "python\n", "x" * 10240, "", "\x1b[31m",
                                  "python\t", ".", "..", "p" * 100_000], ids=lambda name: repr(name[:12]))
def test_an_unknown_language_is_refused_with_the_list(sandbox, marker, name):
    args = ["run", "--workspace", str(marker.parent), "-l", name, "-c", "touch ran"]
    refuse(sandbox, marker, *args, words=[] if name == "" else ["python"])


@pytest.mark.parametrize("name", [b"\xff\xfe", b"pyth\xc3"])
def test_a_language_that_is_not_text_is_refused(sandbox, marker, name):
    refuse(sandbox, marker, "run", "-l", name, "-c", "touch ran")


@pytest.mark.parametrize("args", [["-c", "x", "-c", "y"], ["-c", "x", "-f", "y"], ["-c", "x", "y"], ["a", "b"],
                                  ["-c", "x", "-"], ["-f", "x", "y"]])
def test_more_than_one_source_is_refused(sandbox, marker, args):
    refuse(sandbox, marker, "run", "-l", "shell", *args)


def test_standard_input_twice_is_refused(sandbox, marker):
    refuse(sandbox, marker, "run", "-l", "shell", "--stdin", "-", "-", input="true")


def make_bad_file(sandbox, place, kind):
    path = place / f"{kind}.sh"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "unreadable":
        sandbox.make_file(path, "true", mode=0)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(path))
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    return path


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "unreadable", "socket", "loop", "dangling"])
def test_a_file_that_cannot_be_code_is_refused(sandbox, marker, kind):
    if kind == "unreadable" and sandbox.is_root:
        pytest.skip("root reads everything")
    path = make_bad_file(sandbox, marker.parent, kind)
    refuse(sandbox, marker, "run", "-l", "shell", str(path), words=[path.name])


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/proc/self/mem", "", "x" * 5000, "a/" * 3000, "/dev/null/x"],
                         ids=lambda path: path[:12])
def test_a_path_that_is_no_file_is_refused(sandbox, marker, path):
    refuse(sandbox, marker, "run", "-l", "shell", "-f", path)


def test_a_file_name_with_control_bytes_is_shown_safely(sandbox, marker):
    refuse(sandbox, marker, "run", "-l", "shell", b"no\nsuch\x1b[31m\xff.sh")


def test_code_of_fifty_megabytes_is_refused_by_its_size(sandbox, marker):
    path = sandbox.make_file(marker.parent / "huge.sh", b"#" * (50 << 20))
    refuse(sandbox, marker, "run", str(path), words=["code"])


def test_fifty_megabytes_from_standard_input_are_refused(sandbox, marker):
    refuse(sandbox, marker, "run", "-l", "shell", input=b"#" * (50 << 20))


def test_endless_standard_input_is_refused(sandbox, marker):
    with open("/dev/zero", "rb") as zero:
        refuse(sandbox, marker, "run", "-l", "shell", stdin=zero, words=["hint: hand data in with --volume"])


def test_a_megabyte_argument_is_refused(sandbox, marker):
    refuse_run(sandbox, marker, "--", *["x" * 100_000] * 11)


@pytest.mark.parametrize("value", ["NOVALUE", "=x", "", "A B=c", "1A=x", "A\n=x", "A-B=x"])
def test_a_bad_variable_is_refused(sandbox, marker, value):
    refuse_run(sandbox, marker, "-e", value)


@pytest.mark.parametrize("value", [
    "", ":", "x", "/tmp", "/tmp:", ":/data", "/tmp:data", "/tmp:/data:rx", "/tmp:/data:ro:rw", "/no/such/dir:/data",
    "/tmp:/", "/tmp:/proc", "/tmp:/dev", "/tmp:/code", "/tmp:/usr/../data", "/tmp:/data/../../etc", "/tmp:/sys",
    "/tmp:/workspace", "/tmp:/proc/self", "/tmp:/" + "x" * 5000, "/tmp:/dev/shm", "/tmp:/etc/passwd"])
def test_a_bad_volume_is_refused(sandbox, marker, value):
    refuse_run(sandbox, marker, "--volume", value)


@pytest.mark.parametrize("words, hint", [
    (["--volume", "/no/such/dir:/data"], "name a directory or a file that this user can reach"),
    (["--volume", "/dev/null:/data"], "hand in a directory of data"),
    (["--workspace", "/dev/null"], "hand in a directory of data")])
def test_what_cannot_be_handed_in_is_told_with_a_remedy(sandbox, marker, words, hint):
    refuse(sandbox, marker, "run", "-l", "shell", "-c", "touch ran", *words, words=[f"hint: {hint}"])


@pytest.mark.parametrize("kind", ["file", "fifo", "unwritable", "empty", "long", "dangling", "proc", "no parent"])
def test_a_bad_workspace_is_refused(sandbox, marker, kind):
    path = marker.parent / kind
    if kind == "unwritable":
        if sandbox.is_root:
            pytest.skip("root writes everywhere")
        path.mkdir(mode=0)
    elif kind == "file":
        sandbox.make_file(path, "x")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    text = {"empty": "", "long": "x" * 5000, "proc": "/proc", "no parent": "/no/such/place"}.get(kind, str(path))
    refuse(sandbox, marker, "run", "--workspace", text, "-l", "shell", "-c", "echo ran")


@pytest.mark.parametrize("path", ["/no/such", "", "/"])
def test_a_bad_standard_input_is_refused(sandbox, marker, path):
    refuse_run(sandbox, marker, "--stdin", path)


@pytest.mark.parametrize("word", ["serve", "worker"])
def test_a_command_of_later_says_so(sandbox, marker, word):
    refuse(sandbox, marker, word, words=["not available in this build"])


@pytest.mark.parametrize("word", ["frobnicate", "rn", "", "\n", "x" * 10_000, "--frob"])
def test_an_unknown_command_is_refused(sandbox, marker, word):
    refuse(sandbox, marker, word)


def test_no_command_at_all_is_refused(sandbox, marker):
    outcome = sandbox.call()
    assert outcome.exit_code == 125
    assert outcome.stderr


@pytest.mark.parametrize("name, value", [("SANDBOX_TIMEOUT_SEC", "soon"), ("SANDBOX_MEMORY_MB", "-1"),
                                         ("SANDBOX_TYPE", "vm"), ("SANDBOX_MAX_OUTPUT_KB", "1e9"),
                                         ("SANDBOX_TIMEOUT_SEC", "0"), ("SANDBOX_POLICY", "/no/such/file")])
def test_a_bad_variable_of_ours_is_refused(sandbox, marker, name, value):
    refuse_run(sandbox, marker, env={name: value})


@pytest.mark.parametrize("env", [{"PATH": ""}, {"HOME": ""}, {"LANG": "xx_YY.nonsense"}, {"LD_PRELOAD": "/no/such.so"},
                                 {"LD_LIBRARY_PATH": "/tmp"}, {"BIG": "x" * 120_000}, {"TMPDIR": "/no/such"},
                                 {"HOME": "/no/such"}, {"XDG_CACHE_HOME": "relative"}, {"PATH": "/no"},
                                 {"IFS": "x", "BASH_ENV": "/no", "ENV": "/no"}])
def test_an_odd_environment_changes_nothing(sandbox, env):
    outcome = sandbox.run("-l", "python", "-c", "print(6 * 7)", env=env)
    assert (outcome.exit_code, outcome.stdout) == (0, b"42\n"), outcome


def with_descriptors(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


@pytest.mark.parametrize("count", [3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64])
def test_few_descriptors_end_in_a_run_or_a_clear_error(sandbox, no_leftovers, count):
    outcome = sandbox.run("--json", "-l", "shell", "-c", "echo hi", preexec_fn=with_descriptors(count))
    if outcome.exit_code == 0:
        assert outcome.json["stdout"] == "hi\n"
    else:
        assert outcome.exit_code == 125, outcome
        assert outcome.error.startswith("sandbox: ")


def test_a_language_is_not_said_to_be_missing_for_want_of_descriptors(sandbox, place):
    outcome = sandbox.run("-l", "python", "-c", "print(1)", preexec_fn=with_descriptors(8),
                          env={"SANDBOX_CACHE_DIR": str(place / "none")})
    assert outcome.exit_code == 125 and "not installed" not in outcome.error and "hint: " in outcome.error, outcome


def test_sixty_four_descriptors_are_enough(sandbox):
    outcome = sandbox.run("-l", "shell", "--open-files", "32", "-c", "echo hi", preexec_fn=with_descriptors(64))
    assert outcome.stdout == b"hi\n", outcome


def test_no_process_to_be_had_is_a_clear_error(sandbox, no_leftovers):
    if sandbox.is_root:
        pytest.skip("the limit does not hold for root")
    outcome = sandbox.run("-l", "shell", "-c", "echo hi",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)))
    assert outcome.exit_code == 125, outcome
    assert outcome.error.startswith("sandbox: ")


def test_little_address_space_is_a_clear_error_or_a_run(sandbox, no_leftovers):
    outcome = sandbox.run("-l", "shell", "-c", "echo hi",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20)))
    assert outcome.exit_code in (0, 125), outcome


def test_a_file_size_limit_of_the_callers_does_not_kill_us(sandbox):
    outcome = sandbox.run("--json", "-l", "shell", "-c", "echo hi",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert outcome.json["stdout"] == "hi\n"


def test_a_missing_helper_is_a_clear_error(sandbox, place, no_leftovers):
    alone = place / "sandbox"
    shutil.copy(sandbox.path, alone)
    process = subprocess.run([alone, "run", "-l", "shell", "-c", "echo hi"], capture_output=True, timeout=30,
                             env=sandbox.environment(), user=sandbox.uid if sandbox.changes_user else None)
    if process.returncode:
        assert process.returncode == 125
        assert process.stderr.startswith(b"sandbox: ")
    else:
        assert process.stdout == b"hi\n"  # An installed helper was found.


def test_a_directory_that_is_gone_is_no_obstacle(sandbox, place):
    gone = place / "gone"
    gone.mkdir()
    sandbox.own(gone)
    outcome = sandbox.run("-l", "shell", "-c", "echo hi", cwd=gone, preexec_fn=lambda: os.rmdir(gone))
    assert outcome.stdout == b"hi\n", outcome


def test_blocked_and_ignored_signals_of_the_callers_do_not_enter(sandbox):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1])
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    outcome = sandbox.run("-l", "shell", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; exit 3", preexec_fn=block)
    assert outcome.exit_code == 3, outcome
    values = [line.split()[1] for line in outcome.stdout.decode().splitlines()]
    assert values == ["0" * 16, "0" * 16]


def test_bad_input_leaves_nothing(sandbox, marker):
    before = leftovers.snapshot()
    for flags in (["-t", "x"], ["--volume", "/no:/x"], ["--workspace", "/no"], ["--policy", "/no"]):
        sandbox.run("-l", "shell", "-c", "true", *flags)
    assert not leftovers.leftovers(before)


def in_a_hurry():
    """Everything before others that this caller can have: as an ordinary user it is nothing."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -5)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


@pytest.mark.parametrize("backend", ["container", "local"])
def test_a_caller_with_real_time_priority_does_not_hand_it_on(sandbox, backend):
    ask = "import os; print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0) >= 0)"
    outcome = sandbox.run("-l", "python", "--backend", backend, "-c", ask, preexec_fn=in_a_hurry)
    assert (outcome.exit_code, outcome.stdout) == (0, b"0 True\n"), outcome


def out_of_the_kernels_reach():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-500")


@pytest.mark.parametrize("backend", ["container", "local"])
def test_a_caller_that_the_kernel_spares_does_not_hand_it_on(sandbox, backend):
    try:
        outcome = sandbox.run("-l", "shell", "--backend", backend, "-c", "cat /proc/self/oom_score_adj",
                              preexec_fn=out_of_the_kernels_reach)
    except subprocess.SubprocessError:
        pytest.skip("the kernel spares nobody for this user")
    assert outcome.exit_code == 0 and int(outcome.stdout) >= 0, outcome
