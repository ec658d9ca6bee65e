import pytest

from sandbox import create_sandbox


@pytest.fixture
def python():
    with create_sandbox() as made:
        yield made
