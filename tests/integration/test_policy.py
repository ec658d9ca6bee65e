"""Policy: layers in their order, errors with file, line and column, and nothing run on a mistake."""

import json
import os

import pytest

BAD = [
    ("netwrok: { mode: none }\n", 1, 1, "netwrok"),
    ("version: 1\nlimits:\n  memroy: 1G\n", 3, 3, "memroy"),
    ("version: 1\nlimits: { timeout: soon }\n", 2, 20, "soon"),
    ("version: 1\nlimits: { timeout: -1 }\n", 2, 20, "-1"),
    ("version: 1\nlimits: { timeout: 0 }\n", 2, 20, "0"),
    ("version: 1\nlimits: { memory: 1e400 }\n", 2, 19, "1e400"),
    ("version: 1\nlimits: { memory: .nan }\n", 2, 19, "nan"),
    ("version: 1\nlimits: { processes: 1.5 }\n", 2, 22, "1.5"),
    ("version: 1\nlimits: { processes: null }\n", 2, 22, ""),
    ("version: 1\nlimits: { processes: [1] }\n", 2, 22, ""),
    ("version: 1\nlimits: { processes: 18446744073709551616 }\n", 2, 22, ""),
    ("version: 1\nlimits: []\n", 2, 9, ""),
    ("version: 2\n", 1, 10, "2"),
    ("version: one\n", 1, 10, ""),
    ("version: 1\nbackend: vm\n", 2, 10, "vm"),
    ("version: 1\nenforcement: maybe\n", 2, 14, "maybe"),
    ("version: 1\nversion: 1\n", 2, 1, "version"),
    ("version: 1\nlimits: { timeout: 1s, timeout: 2s }\n", 2, 24, "timeout"),
    ("version: 1\nnetwork: { mode: some }\n", 2, 18, "some"),
    ("version: 1\nenv: { A: [x] }\n", 2, 11, ""),
    ("version: 1\nfilesystem: { mounts: [ { source: /tmp } ] }\n", 2, 25, ""),
    ("version: 1\nfilesystem: { mounts: [ { source: /tmp, target: data } ] }\n", 2, None, "data"),
    ("version: 1\nlanguages: { python: { limits: { memory: x } } }\n", 2, 42, "x"),
    ("version: 1\nlimits: *missing\n", 2, None, ""),
    ("version: 1\nenv: &a { B: *a }\n", 2, None, ""),
    ("version: 1\n---\nversion: 1\n", None, None, ""),
    ("just text\n", 1, 1, ""),
    ("version: 1\n\tlimits: x\n", 2, None, ""),
    ("version: 1\nlimits: { timeout: 1s\n", None, None, ""),
]


def policy_file(sandbox, place, text, name="policy.yaml", mode=0o644):
    return str(sandbox.make_file(place / name, text, mode))


@pytest.mark.parametrize("text, line, column, word", BAD, ids=range(len(BAD)))
def test_a_bad_file_is_refused_with_its_place(sandbox, place, text, line, column, word):
    path = policy_file(sandbox, place, text)
    outcome = sandbox.call("policy", "check", path)
    assert outcome.exit_code == 125, outcome
    first = outcome.error.splitlines()[0]
    assert first.startswith("sandbox: ") and "policy.yaml" in first and word in first, outcome
    if line and column:
        assert f":{line}:{column}" in first, outcome
    elif line:
        assert f":{line}:" in first, outcome


@pytest.mark.parametrize("text", [text for text, *_ in BAD[:6]], ids=range(6))
def test_a_run_with_a_bad_file_runs_nothing(sandbox, place, text):
    path = policy_file(sandbox, place, text)
    outcome = sandbox.run("-l", "shell", "--policy", path, "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"")


@pytest.mark.parametrize("name, data", [
    ("deep", b"a: " * 3 + b"[" * 10_000), ("bom", b"\xef\xbb\xbfversion: x\n"), ("invalid", b"version: \xff\xfe\n"),
    ("nul", b"version: 1\0\n"), ("utf16", "version: x".encode("utf-16")), ("bomb", b"a: &a [x,x]\nb: [*a,*a,*a]\n"),
    ("huge", b"#" * (100 << 20)), ("long key", b"x" * 100_000 + b": 1\n"), ("control", b"version: \x1b[31m\n")],
    ids=lambda value: value if isinstance(value, str) else "")
def test_hostile_files_are_refused_quickly(sandbox, place, name, data):
    path = policy_file(sandbox, place, data)
    outcome = sandbox.call("policy", "check", path, timeout=5)
    assert outcome.exit_code == 125, outcome
    assert len(outcome.stderr) < 4096 and b"\x1b" not in outcome.stderr


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "device"])
def test_what_is_no_file_is_refused(sandbox, place, kind):
    path = place / kind
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    outcome = sandbox.call("policy", "check", "/dev/zero" if kind == "device" else str(path), timeout=5)
    assert outcome.exit_code == 125
    assert outcome.error.startswith("sandbox: ")


def test_a_file_that_everybody_may_write_is_refused(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\n", mode=0o666)
    outcome = sandbox.run("-l", "shell", "--policy", path, "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome


def test_a_file_of_another_user_is_refused(sandbox, place):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    path = policy_file(sandbox, place, "version: 1\n")
    os.chown(path, 65534, 65534)
    outcome = sandbox.run("-l", "shell", "--policy", path, "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome


def test_a_good_file_is_good(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlimits: { timeout: 5s, memory: 256M }\nenv: { A: b }\n")
    outcome = sandbox.call("policy", "check", path)
    assert outcome.exit_code == 0 and outcome.stdout.endswith(b": ok\n")


def test_the_limits_of_a_file_hold(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlimits: { timeout: 300ms }\n")
    assert sandbox.shell("sleep 30", "--policy", path)["status"] == "timeout"


def test_an_option_beats_the_environment_and_that_the_file(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlimits: { timeout: 11s, memory: 111M, processes: 11 }\n")
    env = {"SANDBOX_TIMEOUT_SEC": "12", "SANDBOX_MEMORY_MB": "112"}
    limits = sandbox.shell("true", "--policy", path, "-t", "13s", env=env)["limits"]
    assert (limits["timeout"], limits["memory"], limits["processes"]) == (13.0, 112 << 20, 11)


def test_a_languages_block_beats_the_general_one(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlimits: { timeout: 5s }\n"
                                       "languages: { shell: { limits: { timeout: 7s } } }\n")
    assert sandbox.shell("true", "--policy", path)["limits"]["timeout"] == 7.0
    assert sandbox.python("pass", "--policy", path)["limits"]["timeout"] == 5.0


def test_the_file_may_be_named_by_the_environment(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlimits: { timeout: 9s }\n")
    assert sandbox.shell("true", env={"SANDBOX_POLICY": path})["limits"]["timeout"] == 9.0


def test_the_cap_of_output_comes_from_the_environment(sandbox):
    limits = sandbox.shell("true", env={"SANDBOX_MAX_OUTPUT_KB": "3"})["limits"]
    assert limits["stdout"] == 3072 and limits["stderr"] == 3072


def test_the_backend_comes_from_the_environment(sandbox):
    result = sandbox.shell("true", "--enforcement", "best-effort", env={"SANDBOX_TYPE": "local"})
    assert result["backend"] == "local"


def test_variables_of_a_file_are_set(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nenv: { GREETING: hello, OTHER: '1' }\n")
    result = sandbox.shell("echo $GREETING $OTHER", "--policy", path, "-e", "OTHER=2")
    assert result["stdout"] == "hello 2\n"


def test_mounts_of_a_file_are_made(sandbox, place):
    sandbox.make_file(place / "data", "mounted")
    path = policy_file(sandbox, place, f"version: 1\nfilesystem: {{ mounts: [ {{ source: {place}, target: /data, mode: ro }} ] }}\n")
    assert sandbox.shell("cat /data/data", "--policy", path)["stdout"] == "mounted"


def test_the_example_of_the_contract_is_accepted(sandbox, place):
    text = ("version: 1\nbackend: auto\nfallback: none\nenforcement: strict\n"
            "limits: { timeout: 30s, cpu_time: 30s, memory: 512M, cpus: 1.0, processes: 64, disk: 100M, "
            "open_files: 256,\n            stdout: 1M, stderr: 1M, fuel: 5000000000 }\n"
            "network:  { mode: none, dns: false, allow: [] }\nfilesystem: { workspace: null, mounts: [] }\n"
            "env: { LC_ALL: C.UTF-8 }\nanalysis: { mode: warn }\nrecords: { store_code: on_error }\n"
            "languages:\n  shell: { limits: { memory: 128M, timeout: 10s } }\n")
    path = policy_file(sandbox, place, text)
    outcome = sandbox.call("policy", "check", path)
    assert outcome.exit_code == 0, outcome


def test_show_tells_the_effective_policy(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlimits: { timeout: 7s }\n")
    shown = json.loads(sandbox.call("policy", "show", "--json", "--policy", path).stdout)
    assert shown["limits"]["timeout"] in ("7s", 7, 7.0)
    assert shown["network"]["mode"] == "none"


def test_what_show_prints_can_be_loaded_again(sandbox, place):
    first = sandbox.call("policy", "show", env={"SANDBOX_TIMEOUT_SEC": "17"})
    path = policy_file(sandbox, place, first.stdout)
    second = sandbox.call("policy", "show", "--policy", path)
    assert first.stdout == second.stdout, second


def test_show_tells_a_languages_block(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nlanguages: { shell: { limits: { processes: 9 } } }\n")
    shown = json.loads(sandbox.call("policy", "show", "--json", "--policy", path, "--lang", "shell").stdout)
    assert shown["limits"]["processes"] == 9


def test_the_schema_is_json_and_knows_the_limits(sandbox):
    schema = json.loads(sandbox.call("policy", "schema").stdout)
    assert {"timeout", "memory", "processes"} <= set(schema["properties"]["limits"]["properties"])
    assert schema.get("additionalProperties") is False


def test_enforcement_may_be_best_effort(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nbackend: local\nenforcement: best-effort\n")
    result = sandbox.shell("echo hi", "--policy", path)
    assert (result["backend"], result["stdout"]) == ("local", "hi\n")


def test_backends_may_be_a_list_in_order(sandbox, place):
    path = policy_file(sandbox, place, "version: 1\nbackend: [container, local]\n")
    assert sandbox.shell("true", "--policy", path)["backend"] == "container"


@pytest.mark.parametrize("words", [[], ["frob"], ["check"], ["schema", "x"], ["show", "x"]])
def test_bad_words_are_refused(sandbox, words):
    outcome = sandbox.call("policy", *words)
    assert outcome.exit_code == 125
    assert outcome.error.startswith("sandbox: ")
