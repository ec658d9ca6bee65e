"""The programs of the language suite (tests/languages) on the docker backend, each compared with the container's."""

import json
import pathlib
import re
import sys

import pytest

from helpers.engine_images import TOOLCHAINS, toolchain_image
from test_docker import ALL, BACKEND

sys.path.append(str(pathlib.Path(__file__).parents[1] / "languages"))
from toolchains import CASES, DATA, HERE, NAMES, program, programs  # noqa: E402

# These are in the image that all tests have; `make test-docker` makes one for each of the others.
AT_HAND = ("python", "shell", "sh", "lua", "awk")
ALWAYS = ("python", "shell")
MODES = {"args": ("a", "two words", "", "*"), "stdin": (), "files": (), "exit": (), "uncaught": ()}
TOLD = ("status", "success", "exit_code", "signal", "stdout", "stderr", "message", "files", "violations", "_exit")


@pytest.fixture(scope="module")
def tools(root):
    listed = json.loads(root.call("languages", "--json", timeout=120).stdout)
    return {one["name"]: one["path"] for one in listed if one["status"] == "ready"}


@pytest.fixture
def image(engine, tools, language):
    """The image of a language; it goes with the test, for some are large."""
    if engine.name == "podman":
        pytest.skip("Docker and Podman start the same runc")
    if language not in ALWAYS and not ALL:
        pytest.skip("make test-docker runs it")
    if language not in tools:
        pytest.skip(f"{language} is not here")
    name = "sandbox-run/test" if language in AT_HAND else "sandbox-run/toolchain"
    if language not in AT_HAND:
        with toolchain_image(language, tools[language]) as tar:
            engine.call("POST", f"/v1.41/images/create?fromSrc=-&repo={name}&tag=latest", tar, "application/x-tar")
    yield name
    if language not in AT_HAND:
        engine.call("DELETE", f"/v1.41/images/{name}:latest?force=1")


def test_every_language_of_the_suite_is_compared():
    assert sorted([*AT_HAND, *TOOLCHAINS]) == NAMES


def texts_of(language):
    """What the suite runs: each with its name, flags, words and input."""
    case, data = CASES[language], DATA[language]
    for name, text in (("hello", data["hello"]), ("error", data["error"]),
                       *((name, case[name]["code"]) for name in ("syntax", "compile") if name in case)):
        yield name, ("-c", text), (), b""
    for mode, words in MODES.items():
        if mode not in case.get("without", ()):
            yield mode, ("-f", str(program(language, "basics"))), (mode, *words), b"1\n2\n3\n"
    for path in programs(language):
        yield path.stem, ("-f", str(path)), (), (HERE / "document.json").read_bytes()


def plain(result, key):
    """Rust names the number of a thread that panicked, which is another in each container."""
    return re.sub(r"\(\d+\) panicked", "(N) panicked", result[key]) if key == "stderr" else result[key]


@pytest.mark.parametrize("language", NAMES)
def test_a_language_does_what_it_does_in_the_container(engine, root, image, language):
    for name, flags, words, given in texts_of(language):
        command = ["--no-cache", "-l", language, *flags, "-t", "120", "--stdin", "-", "--", *words]
        docker, container = (root.run_json(*backend, *command, env={**engine.env, "DOCKER_IMAGE": image}, input=given, timeout=600)
                             for backend in (BACKEND, ("--backend", "container")))
        assert docker["backend"] == "docker"
        for key in TOLD:
            assert plain(docker, key) == plain(container, key), (name, key, docker[key], container[key])
        assert (docker["compile"] is None) == (container["compile"] is None), name
        for key in ("status", "exit_code", "stdout", "stderr") if docker["compile"] else ():
            assert docker["compile"][key] == container["compile"][key], (name, key, docker["compile"])
