"""The script that holds the sources to the plan of the house finds what it should find."""

import subprocess

import pytest

from helpers.program import REPOSITORY


def check(tree):
    done = subprocess.run([REPOSITORY / "tools/check-layers", tree], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout.splitlines()


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("room, header", [
    ("policy", "request/request.h"), ("monitor", "backend/run.h"), ("cli", "base/mem.h"),
    ("cli", "sandbox.h"), ("engine", "history/history.h"), ("init", "plan/plan.h"),
])
def test_arrows_that_point_down_are_fine(tmp_path, room, header):
    write(tmp_path, f"src/{room}/file.c", f'#include "{header}"\n')
    assert check(tmp_path) == (0, [])


@pytest.mark.parametrize("room, header, words", [
    ("base", "kernel/cgroup.h", "base may not include kernel"),
    ("monitor", "backend/container.h", "monitor may not include backend"),
    ("cli", "engine/engine.h", "cli may not include engine"),
    ("policy", "nowhere/a.h", 'no room "nowhere"'),
    ("kernel", "../base/mem.h", "includes are written from src"),
    ("attic", "base/mem.h", 'the room "attic" is not in the table'),
])
def test_other_arrows_are_named_with_their_place(tmp_path, room, header, words):
    write(tmp_path, f"src/{room}/file.c", f'#include "{header}"\n')
    code, lines = check(tmp_path)
    assert code == 1 and len(lines) == 1
    assert lines[0].startswith(f"src/{room}/file.c:1: ") and words in lines[0]


def test_long_functions_and_files_are_named(tmp_path):
    body = "        work();\n"
    write(tmp_path, "src/base/long.c", "static int long_one(void)\n{\n" + body * 79 + "}\n")
    write(tmp_path, "src/base/fits.c", "static int fits(void)\n{\n" + body * 78 + "}\n")
    write(tmp_path, "src/base/file.c", "\n" * 501)
    assert check(tmp_path) == (1, ["src/base/file.c:1: 501 lines, more than 500",
                                   "src/base/long.c:2: long_one() has 81 lines, more than 80"])


def test_this_repository_is_fine():
    assert check(REPOSITORY) == (0, [])
