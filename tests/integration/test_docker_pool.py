"""Containers of an engine's that wait for a run each: what comes of it is what a new one gives. See docs/DOCKER.md."""

import json
import os
import shutil
import signal

import pytest

from helpers.leftovers import wait_until
from helpers.program import make_program, remove_program
from helpers.processes import below, link, signal_all
from helpers.warm import Keeper

WAITS = {"SANDBOX_WARM_WAIT": "1"}  # A run waits until a container does.
FIELDS = ("status", "exit_code", "signal", "stdout", "stderr", "message", "files", "protections", "violations", "limits")
PROGRAMS = {
    "ok": ("import os, sys; print(sys.stdin.read(), sys.argv[1:], sorted(os.environ), os.getcwd(), os.listdir('/code'), os.listdir('.'))\n"
           "open('made', 'w').write('x')", []),
    "failed": ("import sys; print('so', file=sys.stderr); sys.exit(3)", []),
    "timeout": ("print(1, flush=True); import time; time.sleep(60)", ["-t", "4"]),
    "memory_limit": ("x = bytearray(300 << 20)", ["-m", "64"]),
}


@pytest.fixture(scope="module")
def docker(engine):
    if engine.name == "podman" and not os.environ.get("SANDBOX_DOCKER_ALL"):
        pytest.skip("make test-docker runs it")
    return engine


@pytest.fixture(scope="module")
def program():
    made = make_program("root")
    yield made
    remove_program(made)


@pytest.fixture
def keeper(docker, program):
    """One that has a container waiting."""
    place = program.directory / "pool"
    place.mkdir(exist_ok=True)
    program.own(place)
    started = Keeper(program, place)
    run(started, docker, "")
    wait_for_one(docker)
    yield started
    if started.process.poll() is None:
        started.stop()
    wait_until(lambda: not docker.containers() and not docker.volumes(), 60, "nothing is left of the keeper's")


def run(keeper, engine, code, *words):
    return keeper.run(code, "--backend", "docker", *words, env=engine.env)


def running(engine):
    """Those whose helper lives: an engine takes a moment to end the container of a run that is over."""
    return [one["Id"] for one in engine.call("GET", "/v1.41/containers/json")
            if os.path.exists(f"/proc/{one['Labels']['sandbox-run.owner'].split('.')[0]}")]


def wait_for_one(engine, beside=()):
    """The container that waits: not one of `beside`."""
    found = []

    def is_there():
        found[:] = [one for one in running(engine) if one not in beside]
        return len(found) == 1

    wait_until(is_there, 60, "a container waits")
    return found[0]


def helper_of(keeper):
    return [pid for pid in below(keeper.process.pid) if link(pid, "exe").endswith("/sandbox-docker")]


@pytest.mark.parametrize("status", PROGRAMS)
def test_a_run_in_one_that_waited_is_as_in_a_new_one(docker, program, status):
    code, words = PROGRAMS[status]
    words = ["--backend", "docker", *words, "--stdin", "-", "-e", "K=V", "-l", "python", "-c", code, "--", "one"]
    warm, cold = (program.run_json(*words, env={**docker.env, **more}, input=b"given") for more in (WAITS, {}))
    assert (warm["status"], warm["metrics"]["warm"], cold["metrics"]["warm"]) == (status, "once", "none"), warm
    for key in FIELDS:
        # How long a program has between SIGTERM and SIGKILL is a matter of how busy the machine is.
        if (key, status) != ("signal", "timeout"):
            assert warm[key] == cold[key], key
    wait_until(lambda: not docker.containers() and not docker.volumes(), 60, "nothing is left")


def test_each_serves_one_run_and_is_replaced(docker, keeper):
    code = "import os; print(os.listdir('/tmp'), os.listdir('.')); open('/tmp/a', 'w'); open('b', 'w')"
    seen = []
    for _ in range(2):
        seen.append(wait_for_one(docker, seen))
        # The engine says that it runs a moment before the keeper hears that it waits.
        assert keeper.warm(code, "--backend", "docker", wanted="once", env=docker.env)["stdout"] == "[] []\n"
    wait_for_one(docker, seen)


def test_other_limits_are_another_container(docker, keeper):
    assert run(keeper, docker, "print(1)", "-m", "100")["metrics"]["warm"] == "none"


def test_one_that_has_ended_is_thrown_away(docker, keeper):
    one = wait_for_one(docker)
    docker.call("POST", f"/v1.41/containers/{one}/kill")
    wait_until(lambda: one not in running(docker), 30, "it has ended")
    assert run(keeper, docker, "print(1)")["stdout"] == "1\n"
    wait_for_one(docker, [one])


def test_one_that_was_changed_is_thrown_away(docker, keeper):
    if docker.name == "podman":
        pytest.skip("this Podman changes no container that is there")
    one = wait_for_one(docker)
    docker.call("POST", f"/v1.41/containers/{one}/update", {"Memory": 2 << 30, "MemorySwap": 4 << 30})
    result = run(keeper, docker, "print(1)")
    assert (result["stdout"], result["metrics"]["warm"]) == ("1\n", "none"), result
    assert next(held for held in result["protections"] if held["name"] == "memory")["state"] == "enforced"
    wait_for_one(docker, [one])


def test_one_that_somebody_entered_is_thrown_away(docker, keeper):
    one = wait_for_one(docker)
    # What stays in it, as a shell of somebody's would.
    made = docker.call("POST", f"/v1.41/containers/{one}/exec", {"Cmd": ["/usr/bin/sleep", "600"]})
    docker.call("POST", f"/v1.41/exec/{made['Id']}/start", {"Detach": True})
    result = run(keeper, docker, "print(1)")
    assert (result["stdout"], result["metrics"]["warm"]) == ("1\n", "none"), result
    wait_for_one(docker, [one])


@pytest.mark.parametrize("with_helper", [False, True], ids=["the keeper", "the keeper and its helper"])
def test_killed_who_keeps_it_it_goes(docker, keeper, with_helper):
    signal_all([keeper.process.pid, *(helper_of(keeper) if with_helper else [])], signal.SIGKILL)
    keeper.process.communicate()
    wait_until(lambda: not docker.containers() and not docker.volumes(), 60, "nothing is left")


def test_the_bench_compares_it_with_the_engines_own_command(docker, program):
    if not os.environ.get("SANDBOX_DOCKER_ALL"):
        pytest.skip("make test-docker runs it")
    if not shutil.which("docker"):
        pytest.skip("the command docker is not installed")
    outcome = program.call("bench", "--only", "docker,docker-backend,docker-warm", "--runs", "1", "--json", env=docker.env, timeout=300)
    rows = {row["name"]: row for row in json.loads(outcome.stdout)["rows"]}
    # Debian's command docker cannot attach to what Podman makes.
    for name in ("docker-backend", "docker-warm", *(["docker"] if docker.name == "docker" else [])):
        assert rows[name].get("median", 0) > 0, outcome
    assert not [one for one in docker.call("GET", "/v1.41/images/json") if "sandbox-bench:latest" in (one["RepoTags"] or [])]
    wait_until(lambda: not docker.containers() and not docker.volumes(), 60, "nothing is left")
