"""The attacks of tests/escape on the docker backend: those that an engine's container can answer as ours does."""

import os
import pathlib
import sys

import pytest

from helpers.leftovers import wait_until
from helpers.program import make_program, remove_program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "escape"))
from case import Case, names  # noqa: E402
from world import World  # noqa: E402

# What an engine does otherwise, by its nature or by its image; docs/DOCKER.md names it.
ELSEWHERE = {
    **dict.fromkeys(("compile_huge", "compile_incbin", "compile_include", "compile_output_link", "compile_recursion",
                     "compile_toolchain"), "the image has no compiler"),
    **dict.fromkeys(("deep_directories", "workspace_fifos", "workspace_swap", "workspace_symlinks"), "a workspace is not kept"),
    "devices": "an engine's /dev has a few more: mqueue, core",
    "disk_bomb": "workspace, /tmp and /dev/shm are limited each",
    "hard_links": "the image has no /etc/passwd",
    "identity_leak": "the image has no /etc/passwd, and the user is another",
    **dict.fromkeys(("java_runtime", "node_runtime"), "the image has no such runtime"),
    "kernel_files": "an engine mounts /sys",
    "proc_other_processes": "an engine's mounts name its folders",
    "proc_sys_writes": "there is no user namespace, so the map opens, though nothing can be written",
    "read_host_files": "an engine mounts /sys",
    "set_user_id": "the user has another number",
    "setuid_program": "the user has another number",
}
# With the other tests run these; `make test-docker` has all.
FEW = ("bpf", "fork_bomb", "memory_children", "mount", "odd_names", "path_socket", "ptrace", "signal_init")
ALL = bool(os.environ.get("SANDBOX_DOCKER_ALL"))


class Attacked:
    """The program, all of whose runs are an engine's."""

    def __init__(self, program, engine):
        self.program, self.env = program, {**engine.env, "DOCKER_IMAGE": "sandbox-run/test"}

    def __getattr__(self, name):
        return getattr(self.program, name)

    def run(self, *words, env=None, **more):
        return self.program.run("--backend", "docker", *words, env={**self.env, **(env or {})}, **more)


@pytest.fixture(scope="module")
def attacked(engine):
    if engine.name == "podman":
        pytest.skip("Docker and Podman start the same runc")
    program = make_program("root")
    yield Attacked(program, engine)
    remove_program(program)
    wait_until(lambda: not engine.containers() and not engine.volumes(), 60, "nothing is left")


@pytest.fixture(scope="module")
def attacked_world(attacked):
    made = World(attacked.program)
    yield made
    made.close()


@pytest.mark.parametrize("name", [name for name in names() if name not in ELSEWHERE and (ALL or name in FEW)])
def test_attack_is_contained(attacked, attacked_world, name):
    case = Case(name)
    if not case.applies("root"):
        pytest.skip("not for this user or machine")
    outcome, faults = case.run(attacked, attacked_world)
    faults += attacked_world.harm(outcome.stdout + outcome.stderr)
    assert not faults, f"{faults}\n{outcome!r}"


def test_what_is_left_out_is_there():
    assert set(ELSEWHERE) | set(FEW) <= set(names())
