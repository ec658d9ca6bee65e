import pytest

import toolchains


@pytest.fixture(scope="session")
def missing_languages(session_program):
    return toolchains.missing(session_program)


@pytest.fixture(params=toolchains.NAMES)
def language(request, sandbox, missing_languages):
    """Each language, as root and as an ordinary user."""
    if request.param in missing_languages:
        pytest.skip(missing_languages[request.param])
    return toolchains.Toolchain(sandbox, request.param)
