"""Every field of a policy by every way it can be given: YAML, TOML, environment, flag; shown and read again."""

import json
import os
import pathlib
import subprocess
import sys
import tomllib

import jsonschema
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILES = ["agent", "data", "default", "judge", "strict", "trusted"]

# key, in YAML, in TOML, as JSON shows it, environment, flags
FIELDS = [
    ("version", "version: 1", "version = 1", 1, {}, []),
    ("backend", "backend: local", "backend = 'local'", "local", {"SANDBOX_TYPE": "local"}, ["--backend", "local"]),
    ("backend", "backend: [container, local]", "backend = ['container', 'local']", ["container", "local"],
     {"SANDBOX_TYPE": "container,local"}, ["--backend", "container,local"]),
    ("fallback", "fallback: local", "fallback = 'local'", "local", {}, ["--fallback", "local"]),
    ("enforcement", "enforcement: best-effort", "enforcement = 'best-effort'", "best-effort", {},
     ["--enforcement", "best-effort"]),
    ("sealed", "sealed: true", "sealed = true", True, {}, ["--sealed"]),
    ("limits.timeout", "limits: { timeout: 1500ms }", "limits.timeout = '1500ms'", 1.5,
     {"SANDBOX_TIMEOUT_SEC": "1.5"}, ["--timeout", "1.5"]),
    ("limits.timeout", "limits: { timeout: 2 }", "limits.timeout = 2", 2.0, {"SANDBOX_TIMEOUT_SEC": "2"}, ["-t", "2s"]),
    ("limits.cpu_time", "limits: { cpu_time: 3s }", "limits.cpu_time = 3.0", 3.0, {}, ["--cpu-time", "3s"]),
    ("limits.memory", "limits: { memory: 77M }", "limits.memory = '77M'", 77 << 20, {"SANDBOX_MEMORY_MB": "77"},
     ["--memory", "77"]),
    ("limits.memory", "limits: { memory: 2000000 }", "limits.memory = 2_000_000", 2000000, {}, ["-m", "2000000B"]),
    ("limits.cpus", "limits: { cpus: 0.5 }", "limits.cpus = 0.5", 0.5, {}, ["--cpus", "0.5"]),
    ("limits.processes", "limits: { processes: 7 }", "limits.processes = 7", 7, {}, ["--processes", "7"]),
    ("limits.disk", "limits: { disk: 5M }", "limits.disk = '5M'", 5 << 20, {}, ["--disk", "5"]),
    ("limits.open_files", "limits: { open_files: 33 }", "limits.open_files = 0x21", 33, {}, ["--open-files", "33"]),
    ("limits.stdout", "limits: { stdout: 2K }", "limits.stdout = '2K'", 2048, {"SANDBOX_MAX_OUTPUT_KB": "2"},
     ["--output-limit", "2K"]),
    ("limits.stderr", "limits: { stderr: 2K }", "limits.stderr = 2048", 2048, {"SANDBOX_MAX_OUTPUT_KB": "2"},
     ["--output-limit", "2048"]),
    ("limits.fuel", "limits: { fuel: 99 }", "limits.fuel = 99", 99, {}, None),
    ("network.mode", "network: { mode: localhost }", "network.mode = 'localhost'", "localhost", {},
     ["--network", "localhost"]),
    ("network.dns", "network: { mode: allowlist, dns: true }", "network = { mode = 'allowlist', dns = true }", True, {},
     ["--network", "allowlist", "--allow-dns"]),
    ("network.allow", "network: { allow: [a.org, '10.0.0.0/8:80'] }", "network.allow = ['a.org', '10.0.0.0/8:80']",
     ["a.org", "10.0.0.0/8:80"], {}, ["--allow", "a.org", "--allow", "10.0.0.0/8:80"]),
    ("network.deny", "network: { deny: [b.org, '*.c.org:80'] }", "network.deny = ['b.org', '*.c.org:80']",
     ["b.org", "*.c.org:80"], {}, ["--deny", "b.org", "--deny", "*.c.org:80"]),
    ("network.connections", "network: { connections: 9 }", "network.connections = 9", 9, {}, None),
    ("network.bytes", "network: { bytes: 5M }", "network.bytes = '5M'", 5 << 20, {}, None),
    ("network.rate", "network: { rate: 64K }", "network.rate = 65536", 65536, {}, None),
    ("filesystem.workspace", "filesystem: { workspace: /w }", "filesystem.workspace = '/w'", "/w", {},
     ["--workspace", "/w"]),
    ("filesystem.mounts", "filesystem: { mounts: [ { source: /a, target: /b, mode: rw }, { source: /c, target: /d } ] }",
     "[[filesystem.mounts]]\nsource = '/a'\ntarget = '/b'\nmode = 'rw'\n[[filesystem.mounts]]\nsource = '/c'\ntarget = '/d'",
     [{"source": "/a", "target": "/b", "mode": "rw"}, {"source": "/c", "target": "/d", "mode": "ro"}], {},
     ["--volume", "/a:/b:rw", "--volume", "/c:/d"]),
    ("env", "env: { A: '1', B: \"\\u00e9 \\\"x\\\" \\\\\" }", "[env]\nA = 1\nB = 'é \"x\" \\'",
     {"LC_ALL": "C.UTF-8", "A": "1", "B": 'é "x" \\'}, {}, ["-e", "A=1", "-e", 'B=é "x" \\']),
    ("analysis.mode", "analysis: { mode: block }", "analysis.mode = 'block'", "block",
     {"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"}, None),
    ("analysis.mode", "analysis: { mode: off }", "analysis.mode = 'off'", "off", {}, None),
    ("analysis.python", "analysis: { python: { forbidden_imports: [os], forbidden_functions: [eval], forbidden_patterns: "
     "['x(\"'], forbidden_commands: [] } }",
     "[analysis.python]\nforbidden_imports = ['os']\nforbidden_functions = ['eval']\nforbidden_patterns = ['x(\"']\n"
     "forbidden_commands = []",
     {"forbidden_imports": ["os"], "forbidden_functions": ["eval"], "forbidden_patterns": ['x("'],
      "forbidden_commands": []}, {}, None),
    ("analysis.shell", "analysis: { shell: { forbidden_commands: { add: [rm] } } }",
     "analysis.shell.forbidden_commands.add = ['rm']", {"forbidden_commands": ["rm"]}, {}, None),
    ("preload", "preload: [numpy, xml.dom]", "preload = ['numpy', 'xml.dom']", ["numpy", "xml.dom"], {}, None),
    ("analysis.python", "analysis: { python: { forbidden_rules: [python.eval] } }",
     "analysis.python.forbidden_rules = ['python.eval']", {"forbidden_rules": ["python.eval"]}, {}, None),
    ("analysis.rules", "analysis: { rules: [/etc/rules, /own] }", "analysis.rules = ['/etc/rules', '/own']",
     ["/etc/rules", "/own"], {}, None),
    ("analysis.rules", "analysis: { rules: { add: [/etc/rules] } }", "analysis.rules.add = ['/etc/rules']",
     ["/etc/rules"], {}, None),
    ("records.store_code", "records: { store_code: always }", "records.store_code = 'always'", "always",
     {"SANDBOX_STORE_CODE": "true"}, None),
    ("records.store_code", "records: { store_code: never }", "records.store_code = 'never'", "never",
     {"SANDBOX_STORE_CODE": "never"}, None),
    ("records.mode", "records: { mode: off }", "records.mode = 'off'", "off", {}, None),
    ("records.mode", "records: 'off'", "records = 'off'", "off", {}, None),
    ("analysis.mode", "analysis: block", "analysis = 'block'", "block", {}, None),
    ("network.mode", "network: localhost", "network = 'localhost'", "localhost", {}, None),
    ("monitoring.interval", "monitoring: { interval: 50ms }", "monitoring.interval = '50ms'", 0.05, {}, None),
    *((f"monitoring.warn_{name}", f"monitoring: {{ warn_{name}: 70 }}", f"monitoring.warn_{name} = 70", 70, {}, None)
      for name in ("timeout", "cpu_time", "memory", "processes", "disk")),
]
IDS = [f"{index}-{field[0]}" for index, field in enumerate(FIELDS)]


def show(sandbox, *words, env=None):
    outcome = sandbox.call("policy", "show", "--json", *words, env=env)
    assert outcome.exit_code == 0, outcome
    return json.loads(outcome.stdout)


def at(shown, key):
    for word in key.split("."):
        shown = shown[word]
    return shown


def check_shown_again(sandbox, place, words, env=None):
    """What is shown, as YAML, means the same when it is read, and is shown the same."""
    first = sandbox.call("policy", "show", *words, env=env)
    path = sandbox.make_file(place / "again.yaml", first.stdout)
    again = sandbox.call("policy", "show", "--policy", str(path))
    assert first.exit_code == 0 and again.stdout == first.stdout, again


@pytest.mark.parametrize("key, yaml_text, toml_text, expected, env, flags", FIELDS, ids=IDS)
def test_a_field_from_a_yaml_file(sandbox, place, key, yaml_text, toml_text, expected, env, flags):
    path = str(sandbox.make_file(place / "p.yaml", yaml_text + "\n"))
    assert at(show(sandbox, "--policy", path), key) == expected
    check_shown_again(sandbox, place, ["--policy", path])


@pytest.mark.parametrize("key, yaml_text, toml_text, expected, env, flags", FIELDS, ids=IDS)
def test_a_field_from_a_toml_file(sandbox, place, key, yaml_text, toml_text, expected, env, flags):
    path = str(sandbox.make_file(place / "p.toml", toml_text + "\n"))
    assert at(show(sandbox, "--policy", path), key) == expected
    check_shown_again(sandbox, place, ["--policy", path])


@pytest.mark.parametrize("key, env, expected", [(field[0], field[4], field[3]) for field in FIELDS if field[4]])
def test_a_field_from_the_environment(sandbox, place, key, env, expected):
    assert at(show(sandbox, env=env), key) == expected
    check_shown_again(sandbox, place, [], env=env)


@pytest.mark.parametrize("key, flags, expected", [(field[0], field[5], field[3]) for field in FIELDS if field[5]])
def test_a_field_from_flags(sandbox, place, key, flags, expected):
    assert at(show(sandbox, "--", *flags), key) == expected
    check_shown_again(sandbox, place, ["--", *flags])


def test_no_field_is_left_out(sandbox):
    """Every key of the schema has its row above."""
    tested = {field[0] for field in FIELDS}

    def leaves(schema, prefix=""):
        for name, inner in schema["properties"].items():
            if "properties" in inner and "description" not in inner:
                yield from leaves(inner, f"{prefix}{name}.")
            else:
                yield prefix + name

    keys = set(leaves(json.loads(sandbox.call("policy", "schema").stdout)))
    rules = {key for key in keys if key.startswith("analysis.") and key != "analysis.mode"}
    assert keys - rules - {"languages"} <= tested
    assert tested & rules


# ---- TOML ----

@pytest.mark.parametrize("text, line, column, what", [
    ("netwrok = 1\n", 1, 1, "unknown key 'netwrok'"),
    ("version = 1\n[limits]\nmemroy = '1G'\n", 3, 1, "unknown key 'limits.memroy'"),
    ("version = 1\nlimits.timeout = 'soon'\n", 2, 18, "limits.timeout: 'soon'"),
    ("version = 1\nlimits.timeout = -1\n", 2, 18, "'-1'"),
    ("version = 1\nlimits.timeout = 0\n", 2, 18, "limits.timeout: must be between"),
    ("version = 1\nlimits.memory = 1e300\n", 2, 17, "1e+300"),
    ("version = 1\nlimits.memory = nan\n", 2, 17, "nan"),
    ("version = 1\nlimits.memory = inf\n", 2, 17, "inf"),
    ("version = 1\nlimits.processes = 1.5\n", 2, 20, "'1.5' is not a whole number"),
    ("version = 1\nlimits.processes = [1]\n", 2, 20, "limits.processes: must be a whole number, not a list"),
    ("version = 1\nlimits.processes = true\n", 2, 20, "true"),
    ("version = 1\nlimits.processes = 1979-05-27\n", 2, 20, "a date or time has no place in a policy"),
    ("version = 1\nlimits = 5\n", 2, 10, "limits: must be a mapping, not a single value"),
    ("version = 1\nlimits = []\n", 2, 10, "limits: must be a mapping, not a list"),
    ("version = 2\n", 1, 11, "version: must be 1, not '2'"),
    ("version = 1\nbackend = 'vm'\n", 2, 11, "backend: unknown value 'vm'"),
    ("version = 1\nbackend = []\n", 2, 11, "backend: the list is empty"),
    ("version = 1\nversion = 1\n", 2, None, "not TOML: "),
    ("version = 1\n[limits]\n[limits]\n", 3, None, "not TOML: "),
    ("version = 1\n[env]\nA = ['x']\n", 3, 5, "env.A: must be a text, not a list"),
    ("version = 1\n[env]\n'1' = 'x'\n", 3, 1, "env: bad variable name '1'"),
    ("version = 1\n[env]\nA = \"x\\u0000\"\n", 3, 5, "the text holds a NUL byte"),
    ("version = 1\n[[filesystem.mounts]]\nsource = '/tmp'\n", 2, 1, "a mount needs source and target"),
    ("version = 1\n[languages.python.limits]\nmemory = 'x'\n", 3, 10, "languages.python.limits.memory: 'x'"),
    ("version = 1\n[languages.python]\nbackend = 'local'\n", 3, 1, "unknown key 'languages.python.backend'"),
    ("version = 1\n[languages.python]\n[languages.Python]\n", 3, 12, "the key 'languages.Python' stands twice"),
    ("version = 1\nnetwork = { mode = 'none', allow = ['a.org'] }\n", 2, 11, "network: mode is 'none', but allow"),
    ("version = \n", 1, 11, "not TOML: "),
    ("just text\n", 1, 6, "not TOML: "),
    ("version = 1\nx = 'open\n", 2, None, "not TOML: "),
    ("version = 1\n[\n", 2, 2, "not TOML: error while parsing key: expected"),
    ("version = 1\n[é]\n", 2, 2, "not TOML: error while parsing key: expected"),
    ("version = 1\nx\ufefb = 1\n", 2, 2, "not TOML: "),
    ("version = 1\nbackend = [}\n", 2, 12, "not TOML: "),
    ("", 1, 1, "the policy is empty"), ("# nothing\n", 1, 1, "the policy is empty"),
], ids=range(36))
def test_a_bad_toml_file_is_refused_with_its_place(sandbox, place, text, line, column, what):
    path = str(sandbox.make_file(place / "bad.toml", text))
    outcome = sandbox.call("policy", "check", path)
    first = outcome.error.splitlines()[0]
    assert outcome.exit_code == 125 and outcome.stdout == b"", outcome
    assert first.startswith(f"sandbox: {path}:{line}:{column or ''}") and what in first, outcome
    ran = sandbox.run("-l", "shell", "--policy", path, "-c", "echo ran")
    assert (ran.exit_code, ran.stdout) == (125, b""), ran


@pytest.mark.parametrize("data", [
    b"a = " + b"[" * 100_000, b"a = " + b"{a=" * 100_000, b"a." * 200_000 + b"a = 1\n", b"[a" + b".a" * 100_000 + b"]\n",
    b"\xef\xbb\xbfversion = 1\n", b"version = \xff\n", b"version = 1\0\n", b"#" * (100 << 20), b"x" * 100_000 + b" = 1\n",
    b"version = \x1b[31m\n", b"a=1\n" * 200_000, "version = 1".encode("utf-16"),
    b"".join(b"[languages.l%d]\n" % i for i in range(50_000))],
    ids=["lists", "tables", "dots", "header", "bom", "invalid", "nul", "huge", "long-key", "control", "repeated", "utf16", "many"])
def test_hostile_toml_is_refused(sandbox, place, data):
    path = str(sandbox.make_file(place / "hostile.toml", data))
    outcome = sandbox.call("policy", "check", path, timeout=30)
    assert outcome.exit_code == 125 and outcome.error.startswith("sandbox: "), outcome
    assert len(outcome.stderr) < 4096 and b"\x1b" not in outcome.stderr


def test_a_toml_policy_holds_for_a_run_and_its_language_blocks(sandbox, place):
    path = str(sandbox.make_file(place / "p.toml", "version = 1\n[limits]\ntimeout = '9s'\nprocesses = 9\n"
                                 "[languages.shell.limits]\ntimeout = '8s'\n[env]\nGREETING = 'hello'\n"))
    result = sandbox.shell("echo $GREETING", "--policy", path)
    assert result["stdout"] == "hello\n"
    assert (result["limits"]["timeout"], result["limits"]["processes"]) == (8.0, 9)
    assert sandbox.python("pass", "--policy", path)["limits"]["timeout"] == 9.0


def test_paths_of_a_toml_file_count_from_its_folder(sandbox, place):
    (place / "data").mkdir()
    sandbox.make_file(place / "data" / "x", "here")
    path = str(sandbox.make_file(place / "p.toml", "[[filesystem.mounts]]\nsource = 'data'\ntarget = '/data'\n"))
    assert sandbox.shell("cat /data/x", "--policy", path)["stdout"] == "here"


def test_without_its_program_toml_is_refused_and_yaml_is_not(sandbox, place):
    toml = str(sandbox.make_file(place / "p.toml", "version = 1\n"))
    outcome = sandbox.call("policy", "check", toml, env={"SANDBOX_TOML": "/nonexistent/sandbox-toml"})
    assert outcome.exit_code == 125, outcome
    assert outcome.error.splitlines() == [
        "sandbox: start '/nonexistent/sandbox-toml', which reads TOML: No such file or directory",
        "hint: install it beside the program, or write the policy as YAML"]
    fine = sandbox.call("policy", "check", str(sandbox.make_file(place / "p.yaml", "version: 1\n")),
                        env={"SANDBOX_TOML": "/nonexistent/sandbox-toml"})
    assert fine.exit_code == 0, fine


def test_an_answer_that_is_none_is_refused(sandbox, place):
    toml = str(sandbox.make_file(place / "p.toml", "version = 1\n"))
    outcome = sandbox.call("policy", "check", toml, env={"SANDBOX_TOML": "/bin/true"})
    assert (outcome.exit_code, outcome.error) == (125, f"sandbox: {toml}:1:1: sandbox-toml gave no proper answer\n")


def test_toml_is_read_with_standard_streams_closed(sandbox, place):
    toml = str(sandbox.make_file(place / "p.toml", "limits.timeout = '6s'\n"))
    outcome = sandbox.call("policy", "show", "--policy", toml, preexec_fn=lambda: (os.close(0), os.close(2)))
    assert outcome.exit_code == 0 and b"timeout: 6s" in outcome.stdout, outcome


# ---- the schema ----

@pytest.fixture
def schema(sandbox):
    loaded = json.loads(sandbox.call("policy", "schema").stdout)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def test_the_schema_names_its_draft(schema):
    assert schema.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", PROFILES)
def test_the_schema_accepts_the_shipped_policies(schema, name):
    schema.validate(yaml.safe_load((ROOT / f"policies/{name}.yaml").read_text().replace("mode: off", "mode: 'off'")))


@pytest.mark.parametrize("name", PROFILES)
def test_the_schema_accepts_what_is_shown(sandbox, schema, name):
    schema.validate(show(sandbox, name))


@pytest.mark.parametrize("field", FIELDS, ids=IDS)
def test_the_schema_accepts_every_field(schema, field):
    schema.validate(tomllib.loads(field[2]))
    if "mode: off" not in field[1]:
        schema.validate(yaml.safe_load(field[1]))


@pytest.mark.parametrize("text", [
    "{netwrok: {}}", "{version: 2}", "{limits: {memroy: 1G}}", "{limits: {timeout: soon}}", "{limits: {timeout: -1}}",
    "{limits: {timeout: 0}}", "{limits: {processes: 1.5}}", "{limits: {processes: null}}", "{limits: {processes: [1]}}",
    "{limits: []}", "{limits: {processes: 32769}}", "{backend: vm}", "{backend: [vm]}", "{backend: []}",
    "{backend: [auto, local]}", "{backend: [local, local]}", "{enforcement: maybe}", "{sealed: 'yes'}",
    "{network: {mode: some}}", "{network: {dns: 1}}", "{network: {allow: a.org}}", "{network: {allow: {}}}",
    "{network: {allow: {ad: []}}}", "{network: {mode: none, allow: [a.org]}}",
    "{network: {mode: host, allow: {add: [a.org]}}}", "{network: {mode: none, dns: true}}", "{network: {mode: dns, dns: false}}",
    "{languages: {python: {network: {mode: none, dns: true}}}}", "{network: {allow: ['']}}", "{env: {A: [x]}}", "{env: {1A: x}}", "{env: []}",
    "{filesystem: {mounts: [{source: /tmp}]}}", "{filesystem: {mounts: [{source: /tmp, target: data}]}}",
    "{filesystem: {mounts: [{source: /tmp, target: /data, mode: wo}]}}", "{filesystem: {workspace: ''}}",
    "{analysis: {mode: maybe}}", "{analysis: {cobol: {}}}", "{analysis: {python: {forbidden: []}}}",
    "{analysis: {python: {forbidden_imports: os}}}", "{analysis: {python: {forbidden_imports: ['']}}}",
    "{records: {store_code: sometimes}}", "{languages: {python: {backend: local}}}", "{languages: {python: []}}",
    "{languages: {'a b': {}}}", "[]", "text", "{records: never}", "{limits: none}", "{analysis: {rules: here}}",
    "{analysis: {rules: ['']}}", "{languages: {python: {records: 'off'}}}"])
def test_the_schema_and_the_program_refuse_the_same(sandbox, place, schema, text):
    assert list(schema.iter_errors(yaml.safe_load(text)))
    path = str(sandbox.make_file(place / "bad.yaml", text))
    assert sandbox.call("policy", "check", path).exit_code == 125


@pytest.mark.parametrize("text", [
    "{network: {mode: none, allow: []}}", "{network: {mode: none, dns: false}}", "{network: {mode: dns, dns: true}}",
    "{network: {mode: allowlist, dns: true, allow: [a.org]}}", "{network: {allow: {add: []}}}", "{network: {dns: true}}",
    "{records: 'on'}", "{languages: {python: {network: none}}}"])
def test_the_schema_and_the_program_accept_the_same(sandbox, place, schema, text):
    schema.validate(yaml.safe_load(text))
    assert sandbox.call("policy", "show", str(sandbox.make_file(place / "good.yaml", text))).exit_code == 0


# ---- documents ----

def test_the_tables_of_the_documentation_are_fresh(sandbox):
    run = subprocess.run([sys.executable, str(ROOT / "tools/policy-tables"), "--check", str(sandbox.path)],
                         capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stderr) == (0, "")
