"""Hostile programs, each in a folder of its own, run as root and as an ordinary user.

case.yaml says why the attack matters and what must come of it; world.py watches from outside.
"""

import socket

import pytest

from case import Case, names
from helpers import leftovers
from world import World


@pytest.fixture(scope="module")
def world(session_program):
    made = World(session_program)
    yield made
    made.close()


@pytest.mark.parametrize("name", names())
def test_attack_is_contained(sandbox, world, name):
    case = Case(name)
    if not case.applies(sandbox.user) or case.lacks_its_language(sandbox):
        pytest.skip("not for this user or machine")
    before = leftovers.snapshot()
    outcome, faults = case.run(sandbox, world)
    if faults == ["said ESCAPED"] and case.is_beyond_the_monitor(outcome):
        pytest.xfail("no control group here: the monitor does not see memory of the kernel's own")
    faults += world.harm(outcome.stdout + outcome.stderr)
    faults += [f"left behind: {thing}" for thing in leftovers.leftovers(before)]
    assert not faults, f"{faults}\n{outcome!r}"


@pytest.mark.parametrize("name", ["node_runtime", "java_runtime"])
def test_an_attack_in_a_runtime_that_waited_is_answered_alike(sandbox, world, name):
    """Those that are used once have threads, descriptors and a past of their own."""
    case = Case(name)
    if case.lacks_its_language(sandbox):
        pytest.skip("the language is not here, or takes minutes")
    said = {}
    for env in {}, *[{"SANDBOX_WARM_WAIT": "1"}] * 10:
        outcome, faults = case.run(sandbox, world, **env)
        assert not faults + world.harm(outcome.stdout + outcome.stderr), f"{faults}\n{outcome!r}"
        said[outcome.json["metrics"]["warm"]] = outcome.json["stdout"]
        if env and "once" in said:
            break
    assert "once" in said and len(set(said.values())) == 1, said


def test_there_are_enough_attacks():
    assert len(names()) >= 65


def test_every_attack_has_a_marker_or_a_status_that_cannot_come_by_itself():
    """An attack that did nothing must not pass: 'ok' alone proves nothing."""
    silent = []
    for name in names():
        expect = Case(name).expect
        says = any(expect.get(key) for key in ("refused", "stdout_contains", "output_any"))
        if not says and set(expect["status"]) & {"ok", "failed"}:
            silent.append(name)
    assert not silent


def test_the_world_notices_a_reader(world):
    assert world.harm(world.token.encode())


def test_the_world_notices_a_write(world):
    path = world.files["CANARY_TMP"]
    path.write_text(world.token + "\n")
    assert world.harm(b"")
    world.states[path] = world._state(path)


def test_the_world_notices_a_killed_victim(world):
    world.victim.kill()
    world.victim.wait()
    assert world.harm(b"")


def test_the_world_notices_a_connection(world):
    with socket.create_connection(("127.0.0.1", world.port)):
        pass
    assert world.harm(b"")
