"""Who decides: policies by name, several of them, what explains them, and seals that cannot be widened."""

import json

import pytest

PROFILES = ["agent", "data", "default", "judge", "strict", "trusted"]


def show(sandbox, *words, **options):
    outcome = sandbox.call("policy", "show", "--json", *words, **options)
    assert outcome.exit_code == 0, outcome
    return json.loads(outcome.stdout)


def explain(sandbox, *words, **options):
    outcome = sandbox.call("policy", "show", "--explain", "--json", *words, **options)
    assert outcome.exit_code == 0, outcome
    return {row["key"]: row for row in json.loads(outcome.stdout)}


# ---- profiles ----

def test_the_shipped_policies_are_listed(sandbox):
    rows = json.loads(sandbox.call("policy", "list", "--json").stdout)
    assert [row["name"] for row in rows] == PROFILES
    text = sandbox.call("policy", "list").stdout.decode()
    assert text.splitlines()[0].split() == ["NAME", "WHAT"]
    assert all(row["what"] in text for row in rows)


@pytest.mark.parametrize("name", PROFILES)
def test_a_shipped_policy_is_shown_by_name_and_by_option(sandbox, name):
    by_name = sandbox.call("policy", "show", name)
    assert by_name.exit_code == 0 and by_name.stdout == sandbox.call("policy", "show", "--policy", name).stdout


def test_strict_blocks_and_gives_little(sandbox):
    shown = show(sandbox, "strict")
    assert (shown["analysis"]["mode"], shown["network"]["mode"], shown["backend"]) == ("block", "none", "container")
    assert shown["limits"]["memory"] == 128 << 20 and "subprocess" in shown["analysis"]["python"]["forbidden_imports"]


@pytest.mark.parametrize("name", ["default", "judge", "data", "agent", "trusted"])
def test_code_runs_under_a_shipped_policy(sandbox, name):
    result = sandbox.shell("echo hello", "--policy", name)
    assert (result["status"], result["stdout"]) == ("ok", "hello\n"), result
    assert result["limits"]["timeout"] == show(sandbox, name, "-l", "shell")["limits"]["timeout"]


def test_the_environment_may_name_a_shipped_policy(sandbox):
    assert show(sandbox, env={"SANDBOX_POLICY": "judge"})["limits"]["cpu_time"] == 2.0


def test_a_name_is_a_policy_and_a_path_is_a_file(sandbox, place):
    sandbox.make_file(place / "judge", "version: 1\nlimits: { timeout: 77s }\n")
    assert show(sandbox, "judge", cwd=place)["limits"]["timeout"] == 10.0
    assert show(sandbox, "./judge", cwd=place)["limits"]["timeout"] == 77.0


def test_a_name_that_is_none_points_to_the_list(sandbox, place):
    outcome = sandbox.run("-l", "shell", "--policy", "strickt", "-c", "echo ran", cwd=place)
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert outcome.error.splitlines() == [
        "sandbox: open policy 'strickt': No such file or directory",
        "hint: 'sandbox policy list' names the policies that need no file"]


def test_shipped_policies_are_checked_by_name(sandbox):
    outcome = sandbox.call("policy", "check", "default", "judge", "data", "agent", "trusted")
    assert outcome.exit_code == 0 and outcome.stdout.count(b": ok\n") == 5, outcome


def test_a_later_policy_is_laid_over_an_earlier_one(sandbox, place):
    path = str(sandbox.make_file(place / "mine.toml", "limits.timeout = '7s'\n"
                                 "analysis.python.forbidden_imports = { add = ['pickle'] }\n"))
    shown = show(sandbox, "--policy", "strict", "--policy", path)
    assert (shown["limits"]["timeout"], shown["limits"]["memory"]) == (7.0, 128 << 20)
    assert {"os", "pickle"} <= set(shown["analysis"]["python"]["forbidden_imports"])
    reverse = show(sandbox, "--policy", path, "--policy", "strict")
    assert reverse["limits"]["timeout"] == 5.0 and "pickle" not in reverse["analysis"]["python"]["forbidden_imports"]


def test_too_many_policies_are_refused(sandbox):
    outcome = sandbox.call("policy", "show", *["--policy", "default"] * 17)
    assert (outcome.exit_code, outcome.error) == (125, "sandbox: more than 16 policies\nhint: 'sandbox policy --help' says how it is used\n")


@pytest.mark.parametrize("words, error", [
    (["list", "x"], "policy list: takes '--json' and nothing else"),
    (["list", "--explain"], "policy list: takes '--json' and nothing else"),
    (["show", "strict", "judge"], "policy show: unexpected word 'judge'"),
    (["show", "strict", "--policy", "judge"], "policy show: a name does not go with '--policy' or '--sealed'"),
    (["show", "--", "main.py"], "policy show: after '--' stand options of run, not 'main.py'"),
    (["show", "--", "--timeout", "soon"], "option '--timeout': 'soon'"),
    (["show", "--", "--frob"], "--frob"),
    (["schema", "--json"], "policy schema: takes neither words nor options"),
])
def test_wrong_words_are_refused(sandbox, words, error):
    outcome = sandbox.call("policy", *words)
    assert outcome.exit_code == 125 and outcome.stdout == b"", outcome
    assert outcome.error.splitlines()[0].startswith("sandbox: ") and error in outcome.error, outcome


# ---- the environment beats blocks for languages ----

@pytest.mark.parametrize("name, text", [
    ("p.yaml", "languages: { shell: { limits: { timeout: 7s, memory: 70M } } }\n"),
    ("p.toml", "[languages.shell.limits]\ntimeout = '7s'\nmemory = '70M'\n")])
def test_a_later_layer_beats_the_block_of_an_earlier_one(sandbox, place, name, text):
    path = str(sandbox.make_file(place / name, text))
    limits = show(sandbox, "--policy", path, "-l", "shell", env={"SANDBOX_TIMEOUT_SEC": "6"})["limits"]
    assert (limits["timeout"], limits["memory"]) == (6.0, 70 << 20)
    limits = show(sandbox, "--policy", path, "-l", "shell", "--", "-m", "64")["limits"]
    assert (limits["timeout"], limits["memory"]) == (7.0, 64 << 20)


# ---- explanations ----

def test_each_value_is_explained(sandbox, place):
    path = str(sandbox.make_file(place / "p.toml", "version = 1\n[limits]\nprocesses = 7\n"
                                 "[languages.python.limits]\ndisk = '5M'\n"))
    rows = explain(sandbox, "--policy", "judge", "--policy", path, "-l", "python", "--", "--timeout", "3s", "-e", "A=b",
                   env={"SANDBOX_MEMORY_MB": "64"})

    def origin(key):
        row = rows[key]
        return row["value"], row["layer"], row["source"], row["line"], row["language"]

    assert origin("limits.processes") == (7, "file", path, 3, None)
    assert origin("limits.disk") == (5 << 20, "file", path, 5, "python")
    assert origin("limits.cpu_time")[:3] == (5.0, "profile", "judge") and rows["limits.cpu_time"]["language"] == "python"
    assert origin("limits.memory") == (64 << 20, "environment", "SANDBOX_MEMORY_MB", None, None)
    assert origin("limits.timeout") == (3.0, "request", None, None, None)
    assert origin("env.A") == ("b", "request", None, None, None)
    assert origin("limits.fuel") == (5000000000, "default", None, None, None)


def test_an_explanation_holds_every_value_that_is_shown(sandbox):
    rows, shown = explain(sandbox, "strict"), show(sandbox, "strict")
    assert rows["limits.timeout"]["value"] == shown["limits"]["timeout"]
    for key, section in shown.items():
        words = [key] if not isinstance(section, dict) else [f"{key}.{name}" for name in section]
        for word in words:
            assert key == "version" or any(row == word or row.startswith(word + ".") for row in rows), word


def test_the_explanation_for_people_names_flags_files_and_variables(sandbox, place):
    path = str(sandbox.make_file(place / "p.yaml", "version: 1\nlimits:\n  processes: 7\n"))
    outcome = sandbox.call("policy", "show", "--explain", "--policy", path, "--sealed", "--", "--output-limit", "1K",
                           "--volume", "/tmp:/data", env={"SANDBOX_TIMEOUT_SEC": "5"}, )
    assert outcome.exit_code == 125, outcome  # A mount is more than the sealed policy has.
    outcome = sandbox.call("policy", "show", "--explain", "--policy", path, "--sealed", "--", "--output-limit", "1K",
                           env={"SANDBOX_TIMEOUT_SEC": "5"})
    rows = {line.split()[0]: line.split(None, 1)[1] for line in outcome.stdout.decode().splitlines()}
    assert rows["KEY"].split() == ["FROM", "VALUE"]
    assert rows["limits.processes"].startswith(f"{path}:3 ")
    assert rows["limits.timeout"].startswith("environment SANDBOX_TIMEOUT_SEC ")
    assert rows["limits.stdout"].startswith("flag --output-limit ")
    assert rows["limits.stderr"].startswith("flag --output-limit ")
    assert rows["sealed"].startswith("flag --sealed ")
    assert rows["limits.fuel"].startswith("default ")


# ---- seals ----

@pytest.fixture
def sealed(sandbox, place):
    return str(sandbox.make_file(place / "ops.yaml", "sealed: true\nlimits: { timeout: 10s, memory: 64M }\n"))


WIDENING = [
    (["--timeout", "11s"], "limits.timeout: '11s' is above the ceiling '10s'"),
    (["--cpu-time", "31s"], "limits.cpu_time: '31s' is above the ceiling '30s'"),
    (["--memory", "65"], "limits.memory: '65 MiB' is above the ceiling '64 MiB'"),
    (["--cpus", "2"], "limits.cpus: '2' is above the ceiling '1'"),
    (["--processes", "65"], "limits.processes: '65' is above the ceiling '64'"),
    (["--disk", "101M"], "limits.disk: '101 MiB' is above the ceiling '100 MiB'"),
    (["--open-files", "257"], "limits.open_files: '257' is above the ceiling '256'"),
    (["--output-limit", "2M"], "limits.stdout: '2 MiB' is above the ceiling '1 MiB'"),
    (["--network", "host"], "network.mode: 'host' is wider than the ceiling 'none'"),
    (["--network", "localhost"], "network.mode: 'localhost' is wider than the ceiling 'none'"),
    (["--allow", "a.org"], "network.mode: 'allowlist' is wider than the ceiling 'none'"),
    (["--allow-dns"], "network.mode: 'dns' is wider than the ceiling 'none'"),
    (["--volume", "/tmp:/data"], "filesystem.mounts: '/data' is not among the mounts of the ceiling"),
    (["--workspace", "/tmp"], "filesystem.workspace: '/tmp' is not the ceiling, which has none"),
    (["-e", "A=b"], "env: 'A' is not among the variables of the ceiling"),
    (["-e", "LC_ALL=C"], "env: 'LC_ALL' has another value than in the ceiling"),
    (["--backend", "local"], "backend: 'local' is not among the backends of the ceiling"),
    (["--fallback", "local"], "fallback: 'local' is not the ceiling 'none'"),
    (["--enforcement", "best-effort"], "enforcement: 'best-effort' is wider than the ceiling 'strict'"),
]


@pytest.mark.parametrize("flags, error", WIDENING, ids=[" ".join(row[0]) for row in WIDENING])
def test_a_flag_cannot_widen_a_sealed_policy(sandbox, sealed, flags, error):
    outcome = sandbox.run("-l", "shell", "--policy", sealed, *flags, "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert outcome.error.splitlines() == [
        f"sandbox: {error}", f"hint: the policy is sealed by {sealed}: it can only be tightened"]


BESIDE_THE_POLICY = [
    (["--trusted"], "trusted: static analysis cannot be left out"),
    (["--no-record"], "no-record: the run cannot go without its record"),
    (["--deps", "/nowhere/requirements.txt"],
     "deps: dependencies come over the network, which the ceiling does not allow"),
    (["--registry", "packages.example.org"], "registry: where dependencies come from cannot be chosen"),
]


@pytest.mark.parametrize("flags, error", BESIDE_THE_POLICY, ids=[row[0][0] for row in BESIDE_THE_POLICY])
@pytest.mark.parametrize("seal", [["--policy", "strict", "--sealed"], None], ids=["option", "file"])
def test_an_option_beside_the_policy_cannot_get_around_a_seal(sandbox, sealed, seal, flags, error):
    outcome = sandbox.run(*(seal or ["--policy", sealed]), *flags, "-l", "python", "-c", "import subprocess; print(1)")
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert outcome.error.splitlines() == [
        f"sandbox: {error}", "hint: the policy is sealed: it can only be tightened"]


@pytest.mark.parametrize("flags, text", [
    (["--trusted"], "sealed: true\nanalysis: off\n"), (["--no-record"], "sealed: true\nrecords: off\n")],
    ids=["--trusted", "--no-record"])
def test_an_option_that_widens_nothing_is_taken_above_a_seal(sandbox, place, flags, text):
    policy = sandbox.make_file(place / "open.yaml", text)
    outcome = sandbox.run("--policy", str(policy), *flags, "-l", "shell", "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (0, b"ran\n"), outcome


@pytest.mark.parametrize("flags", [
    ["--timeout", "5s"], ["--memory", "32"], ["--processes", "8"], ["--output-limit", "1K"], ["--network", "none"],
    ["--backend", "container"], ["--enforcement", "strict"], ["-e", "LC_ALL=C.UTF-8"]], ids=" ".join)
def test_a_flag_can_tighten_a_sealed_policy(sandbox, sealed, flags):
    outcome = sandbox.run("-l", "shell", "--policy", sealed, *flags, "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (0, b"ran\n"), outcome


@pytest.mark.parametrize("env, error", [
    ({"SANDBOX_TIMEOUT_SEC": "60"}, "limits.timeout: '60s' is above the ceiling '10s'"),
    ({"SANDBOX_MEMORY_MB": "65"}, "limits.memory: '65 MiB' is above the ceiling '64 MiB'"),
    ({"SANDBOX_TYPE": "local"}, "backend: 'local' is not among the backends of the ceiling"),
    ({"SANDBOX_STORE_CODE": "never"}, "records.store_code: 'never' is not the ceiling 'on_error'")])
def test_the_environment_cannot_widen_a_sealed_policy(sandbox, sealed, env, error):
    outcome = sandbox.run("-l", "shell", "--policy", sealed, "-c", "echo ran", env=env)
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert outcome.error.splitlines()[0] == f"sandbox: environment variable {next(iter(env))}: {error}"


def test_a_later_policy_cannot_widen_a_sealed_one(sandbox, place, sealed):
    path = str(sandbox.make_file(place / "mine.toml", "version = 1\n\n[limits]\ntimeout = '1m'\n"))
    outcome = sandbox.run("-l", "shell", "--policy", sealed, "--policy", path, "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert outcome.error.splitlines()[0] == f"sandbox: {path}:4:1: limits.timeout: '60s' is above the ceiling '10s'"


def test_a_seal_cannot_be_broken(sandbox, place, sealed):
    path = str(sandbox.make_file(place / "open.yaml", "sealed: false\n"))
    outcome = sandbox.run("-l", "shell", "--policy", sealed, "--policy", path, "-c", "echo ran")
    assert outcome.exit_code == 125 and "sealed: 'false' is weaker than the ceiling 'true'" in outcome.error


def test_the_option_seals_what_stands_before_it(sandbox, place):
    path = str(sandbox.make_file(place / "mine.yaml", "limits: { timeout: 1m }\n"))
    judge = ["-l", "shell", "-c", "echo ran", "--policy", "judge"]
    assert sandbox.run(*judge, "--policy", path, "--sealed").exit_code == 0
    outcome = sandbox.run(*judge, "--sealed", "--policy", path)
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert "mine.yaml:1:11: limits.timeout: '60s' is above the ceiling '10s'" in outcome.error
    # Other options have no place among the policies: they are held to the seal wherever they stand.
    assert sandbox.run("--timeout", "1m", *judge, "--sealed").exit_code == 125


def test_the_option_alone_seals_the_defaults_against_the_environment_too(sandbox, place):
    path = str(sandbox.make_file(place / "wide.yaml", "limits: { timeout: 1m }\n"))
    plain = ["-l", "shell", "-c", "echo ran", "--sealed"]
    assert sandbox.run(*plain).exit_code == 0
    outcome = sandbox.run(*plain, env={"SANDBOX_POLICY": path})
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert "limits.timeout: '60s' is above the ceiling '30s'" in outcome.error


def test_what_a_sealed_policy_shows_is_sealed(sandbox, place, sealed):
    path = str(sandbox.make_file(place / "shown.yaml", sandbox.call("policy", "show", "--policy", sealed).stdout))
    assert sandbox.run("-l", "shell", "-c", "echo ran", "--policy", path, "-t", "11s").exit_code == 125
