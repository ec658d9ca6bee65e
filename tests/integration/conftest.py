"""Fixtures of the integration tests alone."""

import os
import shutil

import pytest

from helpers.engine_images import machine_image
from helpers.engines import start_engine
from helpers.leftovers import wait_until
from helpers.network_world import World
from helpers.program import make_program, remove_program
from helpers.warm import Keeper

# Where container engines cannot run everywhere else, they must on a machine that can.
ENGINES_MUST_RUN = bool(os.environ.get("CI")) and os.geteuid() == 0


@pytest.fixture(scope="module")
def world():
    """Servers in namespaces of their own, and a namespace beside them to run the program in."""
    if not shutil.which("ip"):
        pytest.fail("no 'ip': tools/bootstrap installs it with what the tests need")
    made = World()
    yield made
    made.end()


@pytest.fixture(scope="module")
def root():
    """A program for what is the same for every user: root's, where root runs the tests."""
    made = make_program("root" if os.geteuid() == 0 else "user")
    yield made
    remove_program(made)


@pytest.fixture
def own_keeper(sandbox, place, no_leftovers):
    """A keeper of one test's, which may do with it what it likes."""
    keeper = Keeper(sandbox, place)
    yield keeper.warm_up()
    keeper.stop()


@pytest.fixture(scope="session")
def image_tar():
    return machine_image()


def _engine(name, image_tar):
    started = start_engine(name, image_tar)
    if isinstance(started, str):
        (pytest.fail if ENGINES_MUST_RUN else pytest.skip)(started)
    yield started
    try:
        wait_until(lambda: not started.containers() and not started.volumes(), 30, f"nothing is left in {started.name}")
    finally:
        started.stop()


@pytest.fixture(scope="session", params=["docker", "podman"])
def engine(request, image_tar, confined_session):
    yield from _engine(request.param, image_tar)


@pytest.fixture(scope="module")
def rootless(image_tar, confined_session):
    """Podman of an ordinary user's."""
    yield from _engine("rootless", image_tar)
