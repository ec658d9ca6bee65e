import copy
import json
import pickle

import pytest

from sandbox import ExecutionPolicy, PolicyValidationError, ReadOnlyMount, RuntimeType, SandboxResult
from sandbox._native import shared_engine

RAW = {"success": True, "status": "ok", "stdout": "aGk=", "stderr": "", "encoding": "base64", "exit_code": 0,
       "execution_time": 0.5, "memory_used": 7}


def test_the_defaults_are_the_promised_ones():
    policy = ExecutionPolicy()
    assert (policy.fuel_budget, policy.memory_bytes) == (5_000_000_000, 128_000_000)
    assert (policy.stdout_max_bytes, policy.stderr_max_bytes) == (2_000_000, 1_000_000)
    assert (policy.guest_mount_path, policy.guest_data_path, policy.mount_host_dir) == ("/app", None, None)
    assert policy.network == "none"
    assert policy.enforcement == "strict"


def test_a_data_directory_gets_a_place():
    assert ExecutionPolicy(mount_data_dir="/srv").guest_data_path == "/data"
    assert ExecutionPolicy(mount_data_dir="/srv", guest_data_path="/in").guest_data_path == "/in"


@pytest.mark.parametrize("field", ["fuel_budget", "memory_bytes", "stdout_max_bytes", "stderr_max_bytes",
                                   "timeout_seconds", "cpu_time_seconds", "cpus", "processes", "disk_bytes",
                                   "open_files"])
@pytest.mark.parametrize("value", [0, -1, "many"])
def test_a_bad_number_names_its_field(field, value):
    with pytest.raises(PolicyValidationError, match=field) as caught:
        ExecutionPolicy(**{field: value})
    assert caught.value.errors[0]["loc"] == (field,)


@pytest.mark.parametrize(("field", "value"), [("network", "all"), ("backend", "vm"), ("analysis", "on"),
                                              ("enforcement", "none"), ("guest_mount_path", "app"),
                                              ("guest_mount_path", "/a\0b"), ("env", {"A": 1}), ("argv", "x"),
                                              ("additional_readonly_mounts", [{"source": "/a", "target": "b"}]),
                                              ("env", {"A": "x\0y"}), ("argv", ["a\0b"]), ("mount_host_dir", "/\0")])
def test_a_bad_value_names_its_field(field, value):
    with pytest.raises(PolicyValidationError, match=field):
        ExecutionPolicy(**{field: value})


def test_an_unknown_field_is_refused():
    with pytest.raises(PolicyValidationError, match="memory_byte: Extra inputs"):
        ExecutionPolicy(memory_byte=1)


def test_every_way_of_making_one_has_the_same_error():
    policy = ExecutionPolicy()
    for attempt in (lambda: ExecutionPolicy.model_validate({"cpus": 0}),
                    lambda: ExecutionPolicy.model_validate_json('{"cpus": 0}'),
                    lambda: setattr(policy, "cpus", 0)):
        with pytest.raises(PolicyValidationError, match="cpus"):
            attempt()


def test_a_policy_survives_json():
    policy = ExecutionPolicy(env={"A": "ü"}, argv=["x"], mount_data_dir="/srv", network="localhost",
                             additional_readonly_mounts=[ReadOnlyMount(source="/usr", target="/u")])
    assert ExecutionPolicy.model_validate_json(policy.model_dump_json()) == policy


def test_fields_reach_the_library():
    policy = ExecutionPolicy(forbidden_imports=["os"], network_allow=["example.org"], record=False, backend="wasm",
                             preserve_logs=True)
    native = json.loads(json.dumps(policy.to_native()))
    assert native["limits"]["fuel"] == 5_000_000_000
    assert native["analysis"]["python"] == {"forbidden_imports": ["os"]}
    assert native["network"]["allow"] == ["example.org"]
    assert native["records"] == {"mode": "off", "store_code": "always"}


def test_a_budget_that_was_set_reaches_the_library():
    """It chooses the backend there; the one that everybody has chooses nothing."""
    assert "fuel" not in ExecutionPolicy().to_native()["limits"]
    assert ExecutionPolicy().to_native()["network"] == {"mode": "none"}
    network = {"deny": ["old.example.org"], "dns": True, "connections": 4, "bytes": 5_000, "rate": 1_000}
    given = {f"network_{name}": value for name, value in network.items()}
    assert ExecutionPolicy(network="allowlist", **given).to_native()["network"] == {"mode": "allowlist", **network}
    assert "fuel" not in ExecutionPolicy(fuel_budget=None, backend="wasm").to_native()["limits"]
    assert ExecutionPolicy(fuel_budget=7).to_native()["limits"]["fuel"] == 7


def test_runtimes_are_the_librarys_languages():
    no_text = {"binary", "wasm"}
    known = {language["name"] for language in shared_engine().languages()} - no_text
    assert {runtime.value for runtime in RuntimeType} == known
    assert list(RuntimeType)[:2] == [RuntimeType.PYTHON, RuntimeType.JAVASCRIPT]
    assert str(RuntimeType.CPP) == "c++"


def test_a_result_from_the_library():
    result = SandboxResult.from_native(RAW)
    assert (result.stdout, result.duration_seconds, result.memory_used_bytes) == ("hi", 0.5, 7)
    assert result.metadata["trap_reason"] is None
    assert SandboxResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(("status", "reason"), [("timeout", "timeout"), ("memory_limit", "memory_limit"),
                                                ("failed", None), ("refused", None), ("blocked", "blocked")])
def test_the_reason_of_an_end_by_the_sandbox(status, reason):
    raw = {**RAW, "success": False, "status": status}
    assert SandboxResult.from_native(raw).metadata["trap_reason"] == reason


def test_a_result_is_whole_however_it_is_looked_at(python):
    """What few look at is taken from the library only then: nobody must notice."""
    def run():
        return python.execute("open('made', 'w'); print('hi')")

    assert run().files_created == ["made"]
    assert run().model_dump()["files_modified"] == ["made"]
    assert run().files_modified == ["made"]
    assert json.loads(run().model_dump_json())["metadata"]["backend"] == run().metadata["backend"]
    assert "files_modified=['made']" in repr(run())
    assert dict(run())["raw"]["stdout"] == "hi\n"
    result = run()
    assert pickle.loads(pickle.dumps(result)).raw == result.raw
    assert copy.copy(run()).fuel_consumed == 0
    assert copy.deepcopy(run()).metadata["runtime"] == "python"
    assert run().model_copy().raw["status"] == "ok"
    first = run()
    assert first == SandboxResult.from_native(first.raw, python.workspace_path)
    with pytest.raises(AttributeError, match="no_such_field"):
        _ = run().no_such_field
    assert SandboxResult.model_validate_json(result.model_dump_json()) == result
