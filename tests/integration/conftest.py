"""Fixtures of the integration tests alone."""

import shutil

import pytest

from helpers.network_world import World


@pytest.fixture(scope="module")
def world():
    """Servers in namespaces of their own, and a namespace beside them to run the program in."""
    if not shutil.which("ip"):
        pytest.fail("no 'ip': tools/bootstrap installs it with what the tests need")
    made = World()
    yield made
    made.end()
