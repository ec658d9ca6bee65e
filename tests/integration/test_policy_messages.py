"""What is said to a person whose policy is wrong: every message, whole, with its place and its hint."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAVE_OUT = "leave the key out to keep what holds without it"
DESTINATION = ("write a name, *.name.org, an address or a CIDR, each with an optional :PORT or :PORT-PORT, or HOST:PORT/udp; "
               "international names as xn--...")
VARIABLE = "a name is letters, digits and '_', and does not begin with a digit"
MOUNT = "filesystem: { mounts: [ { source: %s, target: %s } ] }"

# text, place, message, hint
MESSAGES = [
    ("", "1:1", "the policy is empty", "'version: 1' alone is a policy that keeps all defaults"),
    ("\ufeffversion: 1", "1:1", "the policy begins with a byte order mark", "save the file as UTF-8 without BOM"),
    (b"version: 1\n# \xff", "2:3", "the policy is not valid UTF-8", None),
    (b"version: 1\n\0", "2:1", "the policy holds a NUL byte", None),
    ("env: { A: \"x\\0\" }", "1:11", "the text holds a NUL byte", None),
    ("#" * 1048577, None, "is larger than the maximum of 1 MiB", None),
    ("env: &a { B: c }", "1:6", "anchors are not allowed in a policy", None),
    ("env: *a", "1:6", "aliases are not allowed in a policy", None),
    ("version: !!int 1", "1:10", "tags are not allowed in a policy", None),
    ("%TAG ! x:\n---\nversion: 1", "1:1", "tags are not allowed in a policy", None),
    ("version: 1\n---\nversion: 1", "2:1", "a policy is one document, here begins a second", None),
    ("{ [a]: 1 }", "1:3", "a key must be a word, not a list", None),
    ("{ {}: 1 }", "1:3", "a key must be a word, not a mapping", None),
    ("{ ? " + "x" * 1025 + " : 1 }", "1:5", "the key is longer than 1024 bytes", None),
    ("[]", "1:1", "the policy: must be a mapping, not a list", None),
    ("limits:", "1:8", "limits: must be a mapping, not null", LEAVE_OUT),
    ("limits: { timeout: }", "1:20", "limits.timeout: must be a time such as 500ms, 2s or 1m, not null", LEAVE_OUT),
    ("limits: { memory: [] }", "1:19", "limits.memory: must be a size such as 512K, 64M or 1G, not a list", None),
    ("limits: { cpus: {} }", "1:17", "limits.cpus: must be a number such as 1 or 0.5, not a mapping", None),
    ("limits: { processes: {} }", "1:22", "limits.processes: must be a whole number, not a mapping", None),
    ("version: []", "1:10", "version: must be the number 1, not a list", None),
    ("enforcement: []", "1:14", "enforcement: must be one word, not a list", None),
    ("sealed: []", "1:9", "sealed: must be true or false, not a list", None),
    ("sealed: yes", "1:9", "sealed: must be true or false, not 'yes'", None),
    ("backend: {}", "1:10", "backend: must be a backend or a list of them, not a mapping", None),
    ("backend: [local, local]", "1:18", "backend: 'local' stands twice in the list", None),
    ("backend: [local, auto]", "1:18", "backend: 'auto' stands alone or not at all", None),
    ("backend: contaner", "1:10", "backend: unknown value 'contaner'", "did you mean 'container'?"),
    ("enforcement: x", "1:14", "enforcement: unknown value 'x'", "known here: strict, best-effort"),
    ("netwrok: {}", "1:1", "unknown key 'netwrok'", "did you mean 'network'?"),
    ("analysis: { lua: { forbidden_functions: [os.execute] } }", "1:13",
     "unknown key 'analysis.lua', and no language that static analysis can read",
     "known here: mode, rules, python, javascript, shell, typescript, c, cpp, go, rust, java"),
    ("limits: { x: 1 }", "1:11", "unknown key 'limits.x'",
     "known here: timeout, cpu_time, memory, cpus, processes, disk, open_files, stdout, stderr, fuel"),
    ("limits: { timeout: 1s, timeout: 2s }", "1:24", "the key 'limits.timeout' stands twice", None),
    ("limits: { timeout: 0 }", "1:20", "limits.timeout: must be between 0.001s and 86400s, not '0'",
     "0 does not mean endless; every limit has an end"),
    ("limits: { processes: 99999 }", "1:22", "limits.processes: must be between 1 and 32768, not '99999'", None),
    ("limits: { timeout: \"\u00e9\" }", "1:20", "limits.timeout: '\u00e9' is not a number", None),
    ("limits: { processes: 1.5 }", "1:22", "limits.processes: '1.5' is not a whole number", None),
    ("preload: [ 'a b' ]", "1:12", "preload: bad module name 'a b'", "a name as after 'import': preload: [numpy, matplotlib.pyplot]"),
    ("filesystem: { workspace: '' }", "1:26", "filesystem.workspace: the path is empty", None),
    ("filesystem: { workspace: " + "x" * 4096 + " }", "1:26", "filesystem.workspace: the path is longer than 4095 bytes", None),
    ("filesystem: { workspace: [] }", "1:26", "filesystem.workspace: must be a path or null, not a list", None),
    ("filesystem: { mounts: {} }", "1:23",
     "filesystem.mounts: must be a list of mappings with source, target and mode, not a mapping", None),
    ("filesystem: { mounts: [ x ] }", "1:25",
     "filesystem.mounts: must be a list of mappings with source, target and mode, not a single value", None),
    ("filesystem: { mounts: [ { source: [] } ] }", "1:35", "filesystem.mounts: must be texts in its mappings, not a list", None),
    ("filesystem: { mounts: [ { sorce: /a } ] }", "1:27", "unknown key 'filesystem.mounts.sorce'", "did you mean 'source'?"),
    ("filesystem: { mounts: [ { target: /a } ] }", "1:25", "filesystem.mounts: a mount needs source and target", None),
    (MOUNT % ("''", "/a"), "1:25", "filesystem.mounts: source: the path is empty", None),
    (MOUNT % ("/a", "''"), "1:25", "filesystem.mounts: target: the path is empty", None),
    (MOUNT % ("/a", "data"), "1:25", "filesystem.mounts: the target 'data' is not absolute", None),
    (MOUNT % ("/a", "/a/../b"), "1:25", "filesystem.mounts: the target must not hold '..'", None),
    (MOUNT % ("/a", "//."), "1:25", "filesystem.mounts: the target must not be '/'", None),
    (MOUNT % ("/a", "\"/a\\n\""), "1:25", "filesystem.mounts: the target '/a\\x0a' holds a control byte", None),
    (MOUNT % ("/a", "/proc/x"), "1:25", "filesystem.mounts: the target '/proc/x' belongs to the sandbox",
     "mount elsewhere, for example at /data"),
    (MOUNT % ("/a", "/b, mode: wo"), "1:25", "filesystem.mounts: the mode must be 'ro' or 'rw', not 'wo'", None),
    ("filesystem: { mounts: [ { source: a, target: /b }, { source: c, target: /b/ } ] }", "1:52",
     "filesystem.mounts: the target '/b' is mounted twice", "decide for one source and one mode"),
    ("filesystem: { mounts: [ " + ", ".join(f"{{ source: a, target: /m{i} }}" for i in range(65)) + " ] }", None,
     "filesystem.mounts: more than 64 mounts", None),
    ("env: []", "1:6", "env: must be a mapping of names to texts, not a list", None),
    ("env: { A: null }", "1:11", "env.A: must be a text, not null", LEAVE_OUT),
    ("env: { A: { b: c } }", "1:11", "env.A: must be a text, not a mapping", None),
    ("env: { A: [b] }", "1:11", "env.A: must be a text, not a list", None),
    ("env: { 1A: x }", "1:8", "env: bad variable name '1A'", VARIABLE),
    ("env: { A: x, A: y }", "1:14", "the key 'env.A' stands twice", None),
    ("env: { A: " + "x" * 140000 + " }", "1:8", "env: env.A is larger than 128 KiB", None),
    ("env: { " + ", ".join(f"A{i}: ''" for i in range(12001)) + " }", None, "env: more than 12000 environment variables", None),
    ("network: { mode: none, allow: [ a.org ] }", "1:10", "network: mode is 'none', but allow names destinations",
     "take one of the two out"),
    ("network: { mode: host, deny: [ a.org ] }", "1:10", "network: mode is 'host', but deny names destinations",
     "take one of the two out"),
    ("network: { deny: ['*'] }", "1:19", "network.deny: bad network destination '*'", DESTINATION),
    ("network: { connections: 0 }", "1:25", "network.connections: must be between 1 and 4096, not '0'",
     "0 does not mean endless; every limit has an end"),
    ("network: { mode: dns, dns: false }", "1:10", "network: mode is 'dns', but dns is false", "take one of the two out"),
    ("network: { mode: none, dns: true }", "1:10", "network: mode is 'none', but dns is true", "take one of the two out"),
    ("network: { allow: a.org }", "1:19", "network.allow: must be a list of destinations, not a single value", None),
    ("network: { allow: ['*'] }", "1:20", "network.allow: bad network destination '*'", DESTINATION),
    ("network: { allow: [" + "a.org," * 1025 + "] }", None, "network.allow: more than 1024 entries", None),
    ("analysis: { python: { forbidden_imports: [" + "x" * 1025 + "] } }", "1:43",
     "analysis.python.forbidden_imports: a rule is longer than 1024 bytes", None),
    ("analysis: { python: [] }", "1:21", "analysis.python: must be a mapping of rule lists, not a list", None),
    ("languages: []", "1:12", "languages: must be a mapping of language names, not a list", None),
    ("languages: { 'a b': {} }", "1:14", "bad language name 'a b'", None),
    ("languages: { python: {}, Python: {} }", "1:26", "the key 'languages.Python' stands twice", None),
    ("languages: { python: { limits: { memory: x } } }", "1:42", "languages.python.limits.memory: 'x' is not a number",
     "write a size as 512K, 64M or 1G (powers of 1024)"),
    ("languages: { python: { backend: local } }", "1:24", "unknown key 'languages.python.backend'", None),
    ("languages: { " + ", ".join(f"l{i}: {{}}" for i in range(65)) + " }", None, "more than 64 languages", None),
    ("languages: { cobol: {} }", "1:14", "unknown language 'cobol'", None),
    ("languages: { py: {} }", "1:14", "unknown language 'py'", "write 'python'"),
    ("env: { A: \"x", None, "not YAML: found unexpected end of stream", None),
]


@pytest.mark.parametrize("text, place_in_file, message, hint", MESSAGES, ids=range(len(MESSAGES)))
def test_a_mistake_is_told_in_a_line_with_its_place(sandbox, place, text, place_in_file, message, hint):
    path = sandbox.make_file(place / "p.yaml", text)
    outcome = sandbox.call("policy", "check", str(path))
    lines = outcome.error.splitlines()
    assert outcome.exit_code == 125 and outcome.stdout == b"", outcome
    assert len(lines) in (1, 2), outcome
    if place_in_file:
        assert lines[0] == f"sandbox: {path}:{place_in_file}: {message}", outcome
    else:
        assert lines[0].startswith("sandbox: ") and str(path) in lines[0] and message in lines[0], outcome
    if hint:
        assert lines[1:] == [f"hint: {hint}"], outcome


def test_rules_of_two_layers_that_cannot_hold_together_are_refused(sandbox, place):
    layers = [sandbox.make_file(place / f"{i}.yaml", text)
              for i, text in enumerate(["network: { deny: [a.org] }", "network: { allow: [203.0.113.0/24] }"])]
    outcome = sandbox.run("--policy", layers[0], "--policy", layers[1], "-l", "shell", "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert outcome.error.splitlines() == [
        "sandbox: network.deny has the name 'a.org' and network.allow the address '203.0.113.0/24', which a program may reach without the name",
        "hint: deny addresses instead of the name, allow names alone, or give the two different ports"]


@pytest.mark.parametrize("variable, value, message", [
    ("SANDBOX_TYPE", "vm", "unknown value 'vm'"),
    ("SANDBOX_TIMEOUT_SEC", "soon", "'soon' is not a number"),
    ("SANDBOX_TIMEOUT_SEC", "0", "must be between 0.001s and 86400s, not '0'"),
    ("SANDBOX_MEMORY_MB", "-1", "'-1' is not a number"),
    ("SANDBOX_MAX_OUTPUT_KB", "x", "'x' is not a number"),
    ("SANDBOX_BLOCK_DANGEROUS_IMPORTS", "perhaps", "must be true or false, not 'perhaps'"),
    ("SANDBOX_STORE_CODE", "perhaps", "unknown value 'perhaps'")])
def test_a_wrong_variable_is_named(sandbox, variable, value, message):
    outcome = sandbox.run("-l", "shell", "-c", "echo ran", env={variable: value})
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert outcome.error.splitlines()[0] == f"sandbox: environment variable {variable}: {message}"


@pytest.mark.parametrize("words, lines", [
    (["policy"], ["policy: nothing asked", "sandbox policy show, list, check FILE... or schema"]),
    (["policy", "frob"], ["policy: unknown word 'frob'", "sandbox policy show, list, check FILE... or schema"]),
    (["policy", "check"], ["policy check: no file given", "'sandbox policy --help' says how it is used"]),
    (["policy", "check", "--json", "x"], ["policy check: takes no option '--json'", "'sandbox policy --help' says how it is used"])])
def test_wrong_words_are_told(sandbox, words, lines):
    outcome = sandbox.call(*words)
    assert outcome.exit_code == 125
    assert outcome.error.splitlines() == [f"{head}: {line}" for head, line in zip(["sandbox", "hint"], lines)]


def test_layers_that_are_too_much_together_are_refused(sandbox, place):
    def two(text, other):
        paths = [str(sandbox.make_file(place / name, content)) for name, content in (("a.yaml", text), ("b.yaml", other))]
        outcome = sandbox.run("-l", "shell", "-c", "echo ran", "--policy", paths[0], "--policy", paths[1])
        assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
        return outcome.error.splitlines()[0]

    def mounts(letter):
        return "filesystem: { mounts: [ " + ", ".join(f"{{ source: /, target: /{letter}{i} }}" for i in range(40)) + " ] }"

    def variables(letter, count, size):
        return "env: { " + ", ".join(f"{letter}{i}: {'x' * size}" for i in range(count)) + " }"

    def denied(letter):
        return "network: { deny: [ " + ", ".join(f"{letter}{i}.org" for i in range(600)) + " ] }"

    assert two(denied("a"), denied("b")) == "sandbox: more than 1024 denied destinations in all layers together"
    assert two(mounts("a"), mounts("b")) == "sandbox: more than 64 mounts in all layers together"
    assert two(variables("A", 7000, 1), variables("B", 7000, 1)) == \
        "sandbox: more than 12000 environment variables in all layers together"
    assert two(variables("A", 6, 100000), variables("B", 6, 100000)) == \
        "sandbox: the environment is larger than 1024 KiB in all layers together"


# Nothing can bring these out: a bound behind another bound.
UNREACHED = {"nested more than %d deep"}


def test_no_message_is_forgotten():
    """Each message and hint of the policy's sources stands in some test."""
    tests = "".join(path.read_text() for folder in ("unit/policy", "unit/api", "integration")
                    for path in sorted((ROOT / "tests" / folder).iterdir()) if path.suffix in (".c", ".py"))
    tests = re.sub(r'"\s*\n\s*f?"', "", tests).replace("\\", "")
    forgotten = []
    for path in [*sorted((ROOT / "src/policy").glob("*.c")), ROOT / "src/api/policy_toml.c", ROOT / "src/cli/cmd_policy.c"]:
        source = re.sub(r'"\s*\n\s*"', "", path.read_text())
        calls = re.findall(r"\b(?:error_set|error_hint|reader_fail|fail_\w+)\s*\((.*?)\);", source, re.S)
        for literal in (text for call in calls for text in re.findall(r'"((?:[^"\\]|\\.)*)"', call)):
            parts = [part.strip(" ':,") for part in re.split(r"%[-.*0-9]*(?:zu|u|d|s)", literal)]
            longest = max(parts, key=len)
            if len(longest) > 5 and longest not in tests and literal not in UNREACHED:
                forgotten.append(f"{path.name}: {literal}")
    assert not forgotten
