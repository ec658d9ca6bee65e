"""The docker backend on Podman of an ordinary user's. What such an engine cannot limit is refused. See docs/DOCKER.md."""


import pytest

from helpers.program import make_program, remove_program
from test_docker import ALL, BACKEND, LIMITS, SAME, by_name, is_left_empty, kill_at_moments

LESS = ("--enforcement", "best-effort")
BY_GROUP = {"memory", "cpus", "processes"}
only_all = pytest.mark.skipif(not ALL, reason="make test-docker runs it")


@pytest.fixture(scope="module", params=["root", "user"])
def program(request):
    made = make_program(request.param)
    yield made
    remove_program(made)


@pytest.fixture(scope="module")
def limits_nothing(rootless):
    if rootless.call("GET", "/v1.41/info")["CgroupVersion"] != "1":
        pytest.skip("control groups of version 2 can be given to an ordinary user")


def test_limits_that_it_cannot_hold_are_refused_with_the_remedy(rootless, root, limits_nothing, no_leftovers):
    outcome = root.run(*BACKEND, "-l", "python", "-c", "print(1)", env=rootless.env)
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    what, remedy = outcome.error.splitlines()
    asked = "sandbox: docker: the engine does not give what the policy asks for: "
    assert what.startswith(asked) and BY_GROUP <= set(what.removeprefix(asked).split(", ")), outcome
    for word in ("hint: ", "version 2", "one of root's", "'--backend container'", "'--enforcement best-effort'"):
        assert word in remedy
    is_left_empty(rootless)


def test_a_fallback_takes_what_it_refuses(rootless, root, limits_nothing):
    result = root.run_json(*BACKEND, "--fallback", "container", "-l", "python", "-c", "print(1)", env=rootless.env)
    assert (result["status"], result["backend"], result["stdout"]) == ("ok", "container", "1\n"), result
    assert "the engine does not give" in result["fallback"]


def test_runs_for_its_user_and_for_root_who_accept_less(rootless, program, limits_nothing, no_leftovers):
    """The figures are the program's own, though the only control group to be seen is the machine's."""
    code = "print(open('/proc/self/uid_map').read().split()); open('made.txt', 'w').write('x')"
    result = program.run_json(*BACKEND, *LESS, "-l", "python", "-c", code, env=rootless.env)
    assert (result["status"], result["files"]["created"], result["backend"]) == ("ok", ["made.txt"], "docker"), result
    assert result["stdout"].split()[-1] != "'4294967295']"
    states = {name: one["state"] for name, one in by_name(result).items()}
    assert {name for name in BY_GROUP if states[name] == "missing"} == BY_GROUP, states
    assert {name for name in ("user_namespace", "network", "filesystem", "identity", "capabilities", "no_new_privs", "seccomp", "disk",
                              "timeout", "cpu_time", "output") if states[name] != "enforced"} == set(), states
    assert 0 < result["memory_used"] < 64 << 20 and 0 < result["cpu_time"] < 20, result
    is_left_empty(rootless)


@only_all
@pytest.mark.parametrize("status", [name for name in LIMITS if name not in ("memory_limit", "process_limit")])
def test_ends_as_in_the_container(rootless, root, status):
    code, words = LIMITS[status]
    words = [*LESS, *words, "--stdin", "-", "-l", "python", "-c", code, "--", "one", "two"]
    results = [root.run_json("--backend", backend, *words, env=rootless.env, input=b"given") for backend in ("docker", "container")]
    assert results[0]["status"] == status, results[0]
    for key in ("status", "success", "exit_code", "message", "stdout_truncated", "_exit"):
        assert results[0][key] == results[1][key], (key, results[0])
    is_left_empty(rootless)


@only_all
@pytest.mark.parametrize("language", SAME)
def test_a_language_does_what_it_does_in_the_container(rootless, root, language):
    words = [*LESS, "-l", language, "-c", SAME[language], "--", "one"]
    results = [root.run_json("--backend", backend, *words, env=rootless.env) for backend in ("docker", "container")]
    for key in ("status", "exit_code", "stdout", "stderr", "message", "files"):
        assert results[0][key] == results[1][key], (key, results[0])


@only_all
def test_killed_at_any_moment_no_container_stays(rootless, root):
    kill_at_moments(root, rootless, 5, *LESS)


@only_all
def test_images_are_built_and_used(rootless, root):
    built = root.call("images", "build", "--base", "sandbox-run/test:latest", "--no-packages", "shell", env=rootless.env, timeout=180)
    assert built.exit_code == 0, built
    env = {**rootless.env, "DOCKER_IMAGE": built.stdout.decode().strip()}
    assert root.run_json(*BACKEND, *LESS, "-l", "shell", "-c", "echo hello", env=env)["stdout"] == "hello\n"
