"""Fixtures of all tests that run the program: see helpers/ for what is behind them."""

import os
import pathlib
import shutil
import tempfile
import zlib

import pytest

from helpers import confinement, leftovers
from helpers.compiler import compile_static
from helpers.program import make_program, program_path, remove_program, remove_tree, users


def pytest_collection_modifyitems(config, items):
    """With SANDBOX_TEST_ONE_USER, each test runs as one of its users: half of them as each, always the same half."""
    if os.environ.get("SANDBOX_TEST_ONE_USER"):
        left_out = [item for item in items if not _is_chosen(item)]
        items[:] = [item for item in items if _is_chosen(item)]
        config.hook.pytest_deselected(items=left_out)


def _is_chosen(item):
    user = getattr(item, "callspec", None) and item.callspec.params.get("session_program")
    if user is None or len(users()) < 2:
        return True
    name = item.nodeid.replace(user, "", 1)
    return user == users()[zlib.crc32(name.encode()) % len(users())]


@pytest.fixture(scope="session", autouse=True)
def confined_session():
    """The whole session lives in a control group with limits, and leaves nothing behind."""
    entered = confinement.enter()
    before = leftovers.snapshot()
    yield
    left = leftovers.leftovers(before)
    confinement.leave(entered)
    assert not left, f"left after the whole session: {left}"


@pytest.fixture(scope="session", params=users())
def session_program(request):
    if not program_path().exists():
        pytest.fail(f"no program at {program_path()}: build it, or set SANDBOX_BIN")
    program = make_program(request.param)
    yield program
    remove_program(program)


@pytest.fixture
def sandbox(session_program):
    """The command line as root and as an ordinary user."""
    return session_program


@pytest.fixture
def place(sandbox):
    """A fresh directory of the user's, reachable by them."""
    path = tempfile.mkdtemp(prefix="case-", dir=sandbox.directory)
    sandbox.own(path)
    yield pathlib.Path(path)
    remove_tree(path)


@pytest.fixture
def no_leftovers():
    """The test's own runs leave nothing: compared when the test has ended."""
    before = leftovers.snapshot()
    yield
    left = leftovers.leftovers(before)
    assert not left, f"left behind: {left}"


@pytest.fixture(scope="session")
def compile_program():
    """Compiles C text once per name and returns the program's path, readable for everybody."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sbtest-bin-"))
    directory.chmod(0o755)
    made = {}

    def compile_once(name, text, *flags):
        if name not in made:
            made[name] = compile_static(text, directory / name, *flags)
        return made[name]

    yield compile_once
    shutil.rmtree(directory, ignore_errors=True)
