"""The launchers at the root of the repository: they find the program, build it when it is not
there, and cost next to nothing when it is. The checkouts here hold a small program of their own."""

import os
import resource
import shutil
import statistics
import subprocess
import time

import pytest

from helpers.program import ORDINARY_UID, REPOSITORY

LAUNCHERS = ("sandbox", "sandbox-run")
MAX_ADDED_SECONDS = 0.002
TELLS_ARGUMENTS = """
#include <stdio.h>
int main(int argc, char **argv)
{
        for (int i = 0; i < argc; i++)
                printf("%s%c", argv[i], 0);
        return 7;
}
"""
MESON_BUILD = """
program = executable('sandbox', 'main.c')
custom_target('sandbox-run', output: 'sandbox-run', depends: program, build_by_default: true,
  command: ['ln', '-sf', 'sandbox', '@OUTPUT@'])
"""


def make_checkout(path):
    """A checkout with the real launchers and tools, and nothing built."""
    path.mkdir()
    path.chmod(0o755)
    (path / "tools").mkdir()
    for name in (*LAUNCHERS, "tools/bootstrap", "tools/build-once"):
        shutil.copy2(REPOSITORY / name, path / name)
    (path / "src/cli").mkdir(parents=True)
    (path / "src/cli/main.c").write_text(TELLS_ARGUMENTS)
    (path / "src/cli/meson.build").write_text(MESON_BUILD)
    (path / "meson.build").write_text("project('checkout', 'c')\nsubdir('src/cli')\n")
    return path


@pytest.fixture
def checkout(tmp_path):
    return make_checkout(tmp_path / "a checkout")


@pytest.fixture
def built(checkout, compile_program):
    """A checkout whose program is there, as after a build."""
    place = checkout / "build/src/cli"
    place.mkdir(parents=True)
    shutil.copy2(compile_program("tells-arguments", TELLS_ARGUMENTS), place / "sandbox")
    (place / "sandbox-run").symlink_to("sandbox")
    (checkout / "build/.built").touch()
    return checkout


def replace_build(checkout, script):
    tool = checkout / "tools/build-once"
    tool.write_text("#!/bin/sh\n" + script)
    tool.chmod(0o755)


def move_head(checkout):
    """What Git does at a commit, pull or checkout, some time after the build."""
    log = checkout / ".git/logs/HEAD"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    later = time.time() + 10
    os.utime(log, (later, later))


def launch(command, *args, **options):
    done = subprocess.run([command, *args], capture_output=True, text=True, timeout=120, check=False,
                          **options)
    return done.returncode, done.stdout.split("\0")[:-1], done.stderr


@pytest.mark.parametrize("name", LAUNCHERS)
def test_passes_name_arguments_and_exit_code(built, name):
    args = ["run", "", "two words", "line\nbreak", "*", "--", "-n"]
    code, seen, errors = launch(built / name, *args)
    assert (code, seen[1:], errors) == (7, args, "")
    assert os.path.basename(seen[0]) == name


@pytest.mark.parametrize("name", LAUNCHERS)
def test_works_from_anywhere_and_through_links(built, tmp_path, name):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/first").symlink_to(f"../a checkout/{name}")
    (tmp_path / "bin/second").symlink_to("first")
    in_path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    calls = [(f"./{name}", {"cwd": built}), (f"../a checkout/{name}", {"cwd": built}),
             (built / name, {"cwd": "/"}), (tmp_path / "bin/second", {"cwd": "/"}),
             ("second", {"cwd": "/", "env": {**os.environ, **in_path}})]
    for command, options in calls:
        code, seen, errors = launch(command, "x", **options)
        assert (code, seen[1:], errors) == (7, ["x"], ""), command
        assert os.path.basename(seen[0]) == name


def test_does_not_build_what_is_built(built):
    replace_build(built, "echo built >&2; exit 1\n")
    assert launch(built / "sandbox-run")[0] == 7


def test_builds_after_the_checkout_moved(built):
    replace_build(built, f"touch '{built}/asked'\n")
    move_head(built)
    assert launch(built / "sandbox-run")[0] == 7
    assert (built / "asked").exists()


def test_builds_where_a_build_was_broken_off(built):
    replace_build(built, f"touch '{built}/asked'\n")
    (built / "build/.built").unlink()
    assert launch(built / "sandbox-run")[0] == 7
    assert (built / "asked").exists()


def test_failed_build_runs_nothing(built):
    replace_build(built, "echo 'sandbox: no compiler' >&2; exit 1\n")
    (built / "build/src/cli/sandbox-run").unlink()
    assert launch(built / "sandbox-run") == (125, [], "sandbox: no compiler\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_runs_what_root_built(built, tmp_path):
    move_head(built)
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    code, seen, errors = launch(built / "sandbox-run", "x", user=ORDINARY_UID, group=ORDINARY_UID,
                                extra_groups=[])
    assert (code, seen[1:], errors) == (7, ["x"], "")


@pytest.mark.skipif(not shutil.which("meson"), reason="meson is not installed")
def test_first_starts_at_the_same_time_build_once(checkout):
    starts = [subprocess.Popen([checkout / "sandbox-run", "x"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE) for _ in range(4)]
    ends = [start.communicate(timeout=120) + (start.returncode,) for start in starts]
    assert all(end[2] == 7 and end[1] == b"" for end in ends), ends
    compiled = (checkout / "build/.ninja_log").read_text().count("main.c.o")
    assert compiled == 1


@pytest.mark.skipif(not shutil.which("meson"), reason="meson is not installed")
def test_what_was_built_elsewhere_is_built_anew(checkout):
    """A build knows where its sources are: one that was copied along would build there."""
    assert launch(checkout / "sandbox-run", "x")[0] == 7
    copy = checkout.parent / "a copy"
    shutil.copytree(checkout, copy, symlinks=True)
    checkout.rename(checkout.parent / "gone")
    (copy / "src/cli/main.c").write_text(TELLS_ARGUMENTS.replace("return 7", "return 8"))
    move_head(copy)
    assert launch(copy / "sandbox-run", "x") == (8, [str(copy / "build/src/cli/sandbox-run"), "x"], "")


@pytest.mark.skipif(not shutil.which("meson"), reason="meson is not installed")
def test_compiler_error_is_one_line_and_a_hint(checkout):
    (checkout / "src/cli/main.c").write_text("int main(void) { return x; }\n")
    code, seen, errors = launch(checkout / "sandbox-run")
    first, second = errors.splitlines()
    assert (code, seen) == (125, [])
    assert first.startswith("sandbox: the build failed: ") and "error:" in first
    assert second == f"hint: the whole story is in {checkout}/build/build.log"


def cpu_seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_adds_less_than_two_milliseconds(built):
    program = built / "build/src/cli/sandbox-run"

    def median_seconds(command):
        times = []
        for _ in range(60):
            before = cpu_seconds_of_children()
            subprocess.run([command], stdout=subprocess.DEVNULL, check=False)
            times.append(cpu_seconds_of_children() - before)
        return statistics.median(times)

    # CPU time, the best of three: what somebody else does on the machine is not the launcher's time.
    added = min(median_seconds(built / "sandbox-run") - median_seconds(program) for _ in range(3))
    assert added < MAX_ADDED_SECONDS


def test_the_launchers_differ_in_the_name_of_the_program_alone():
    first, second = ((REPOSITORY / name).read_text() for name in LAUNCHERS)
    assert first.replace("src/cli/sandbox\n", "src/cli/sandbox-run\n") == second
