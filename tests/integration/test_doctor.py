"""`sandbox doctor`: what this machine can enforce as this user, and it agrees with what runs then get."""

import ctypes
import json
import struct

import pytest

from helpers.program import wasm_parts


@pytest.fixture
def report(sandbox):
    outcome = sandbox.call("doctor", "--json")
    return json.loads(outcome.stdout)


def test_the_text_names_each_protection(sandbox, report):
    text = sandbox.call("doctor").stdout.decode()
    for protection in report["protections"]:
        assert protection["name"] in text


def test_the_exit_code_says_whether_the_default_policy_holds(sandbox, report):
    assert sandbox.call("doctor").exit_code == (0 if report["strict_run_possible"] else 1)


def test_the_default_policy_holds_here(report):
    assert report["strict_run_possible"] is True


def test_who_asks_is_told(sandbox, report):
    assert report["uid"] == sandbox.uid
    assert report["kernel"] and report["cgroup"]


def test_each_protection_says_by_what_or_how_to_mend(report):
    for protection in report["protections"]:
        assert isinstance(protection["available"], bool)
        assert protection["by"] if protection["available"] else protection["fix"], protection


def test_the_backends_are_told(report):
    available = {backend["name"]: backend["available"] for backend in report["backends"]}
    assert available["container"] and available["local"]
    assert "docker" in available
    assert available["wasm"] == (wasm_parts() is not None)


def test_network_modes_are_told_as_a_run_finds_them(sandbox, report):
    modes, = report["network_modes"]
    assert modes["name"] == "dns, allowlist"
    assert modes["available"] == (sandbox.run("--network", "dns", "-l", "shell", "-c", "true").exit_code == 0)
    assert modes["available"] or (modes["reason"] and modes["fix"])
    assert "dns, allowlist" in sandbox.call("doctor").stdout.decode()


def test_the_doctor_agrees_with_a_run(sandbox, report):
    ran = {p["name"]: p for p in sandbox.shell("true")["protections"]}
    for protection in report["protections"]:
        name = protection["name"]
        if name in ran:
            assert protection["available"] == (ran[name]["state"] == "enforced"), name
            if protection["available"]:
                assert protection["by"] == ran[name]["by"], name


def test_the_doctor_leaves_nothing(sandbox, no_leftovers):
    sandbox.call("doctor")


def test_the_doctor_takes_no_words(sandbox):
    outcome = sandbox.call("doctor", "please")
    assert outcome.exit_code == 125
    assert outcome.error.startswith("sandbox: ")


def test_a_filter_around_us_that_forbids_namespaces_is_told(sandbox):
    """As in a container: where no namespace can be made the doctor must say so and name a remedy."""
    if sandbox.is_root:
        pytest.skip("root is asked as an ordinary user below")
    outcome = sandbox.call("doctor", "--json", preexec_fn=forbid_namespaces)
    report = json.loads(outcome.stdout)
    container = next(backend for backend in report["backends"] if backend["name"] == "container")
    assert outcome.exit_code == 1 and report["strict_run_possible"] is False
    assert container["available"] is False and (container.get("fix") or container.get("reason"))
    assert report["protections_of"] == "local"
    told = {protection["name"]: protection for protection in report["protections"]}
    assert told["seccomp"]["available"] and told["no_new_privs"]["available"]
    assert {p["fix"] for p in report["protections"] if not p["available"]} == {container["fix"]}


@pytest.mark.parametrize("kind", ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"])
def test_a_limit_on_namespaces_is_the_one_thing_to_mend(sandbox, kind):
    if not sandbox.is_root:
        pytest.skip("the settings are those of a namespace that root makes")

    def allow_none():
        ctypes.CDLL(None).unshare(0x10000000)
        for name, text in (("self/uid_map", "0 0 1"), ("self/setgroups", "deny"), ("self/gid_map", "0 0 1"),
                           (f"sys/user/max_{kind}_namespaces", "0")):
            with open(f"/proc/{name}", "w") as setting:
                setting.write(text)

    outcome = sandbox.call("doctor", "--json", preexec_fn=allow_none)
    report = json.loads(outcome.stdout)
    container = next(backend for backend in report["backends"] if backend["name"] == "container")
    assert outcome.exit_code == 1 and not container["available"]
    assert "user.max_" in container["fix"], container


def test_a_run_where_namespaces_are_forbidden_is_refused_with_a_remedy(sandbox, no_leftovers):
    if sandbox.is_root:
        pytest.skip("needs an ordinary user")
    outcome = sandbox.run("--json", "-l", "shell", "-c", "echo ran", preexec_fn=forbid_namespaces)
    assert outcome.exit_code == 125
    assert outcome.error.startswith("sandbox: ") and "hint: " in outcome.error, outcome
    assert b"ran\\n" not in outcome.stdout


def test_a_fallback_is_taken_where_namespaces_are_forbidden(sandbox, no_leftovers):
    if sandbox.is_root:
        pytest.skip("needs an ordinary user")
    outcome = sandbox.run("--json", "-l", "shell", "--backend", "container", "--fallback", "local", "--enforcement",
                          "best-effort", "-c", "echo ran", preexec_fn=forbid_namespaces)
    assert (outcome.json["backend"], outcome.json["stdout"]) == ("local", "ran\n"), outcome


def forbid_namespaces():
    """Landlock and seccomp stay possible; clone and unshare with namespace flags do not."""
    def instruction(code, jt, jf, k):
        return struct.pack("HBBI", code, jt, jf, k)

    flags = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
    program = b"".join([
        instruction(0x20, 0, 0, 0),            # the call's number
        instruction(0x15, 5, 0, 272),          # unshare
        instruction(0x15, 2, 0, 56),           # clone
        instruction(0x15, 4, 0, 435),          # clone3: does not exist
        instruction(0x06, 0, 0, 0x7fff0000),   # allow the rest
        instruction(0x20, 0, 0, 16),           # clone's flags
        instruction(0x45, 0, 2, flags),
        instruction(0x06, 0, 0, 0x00050001),   # EPERM
        instruction(0x06, 0, 0, 0x00050000 | 38),
        instruction(0x06, 0, 0, 0x7fff0000),
    ])
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, head) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
