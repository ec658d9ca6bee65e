import pathlib

import pytest

from sandbox import (
    BaseSandbox,
    Completed,
    ExecutionPolicy,
    JavaScriptSandbox,
    LanguageSandbox,
    Output,
    PythonSandbox,
    RuntimeType,
    SandboxExecutionError,
    Started,
    _native,
    create_sandbox,
)


def test_the_first_example():
    sb = create_sandbox(runtime=RuntimeType.PYTHON, policy=ExecutionPolicy(memory_bytes=128_000_000, timeout_seconds=5))
    r = sb.execute("print(6 * 7)")
    assert r.success
    assert r.stdout == "42\n"


def test_the_backend_wasm_runs_where_its_parts_travel_along_and_else_says_what_is_missing():
    helper = _native.helper_path()
    folder = pathlib.Path(helper).parent if helper is not None else pathlib.Path("/nowhere")
    assert helper is None or (folder / "sandbox-wasm").exists()
    with create_sandbox(backend="wasm", timeout_seconds=60) as sandbox:
        try:
            result = sandbox.execute("print(6 * 7)")
        except SandboxExecutionError as error:
            assert not (folder / "wasm").exists()
            assert "backend 'wasm' is not built" in str(error)
            assert "make wasm" in str(error)
            return
    assert (result.stdout, result.metadata["backend"]) == ("42\n", "wasm")
    assert result.fuel_consumed > 0


@pytest.mark.parametrize(("runtime", "kind", "code"), [
    (RuntimeType.PYTHON, PythonSandbox, "print('hi')"), ("javascript", JavaScriptSandbox, "console.log('hi')"),
    (RuntimeType.SHELL, LanguageSandbox, "echo hi")])
def test_the_right_class_runs_it(runtime, kind, code):
    with create_sandbox(runtime) as sandbox:
        assert type(sandbox) is kind
        assert sandbox.execute(code).stdout == "hi\n"


def test_an_unknown_runtime_lists_those_there_are():
    with pytest.raises(ValueError, match=r"unknown runtime 'cobol'; there are: awk, binary, c, "):
        create_sandbox("cobol")


def test_the_base_class_is_not_for_making():
    with pytest.raises(TypeError, match="abstract"):
        BaseSandbox()


def test_a_subclass_of_ones_own():
    class Upper(PythonSandbox):
        def execute(self, code, *args, **options):
            return super().execute(code.upper().replace("PRINT", "print"), *args, **options)

    with Upper() as sandbox:
        assert sandbox.execute("print('hi')").stdout == "HI\n"


def test_input_arguments_variables_and_files(python):
    python.policy.env = {"NAME": "ü\U0001F600"}
    python.policy.argv = ["first"]
    code = "import os, sys; print(sys.argv[1:], input(), os.environ['NAME'], open('in/data.txt').read())"
    result = python.execute(code, stdin="typed\n", args=["a b"], files={"in/data.txt": "data"})
    assert result.stdout == "['first', 'a b'] typed ü\U0001F600 data\n", result


def test_a_failure_is_a_result(python):
    result = python.execute("import sys; print('x', file=sys.stderr); sys.exit(3)")
    assert (result.success, result.exit_code, result.stderr, result.status) == (False, 3, "x\n", "failed")
    assert "line 1" in python.execute("print(").message


def test_bytes_that_are_no_text(python):
    assert python.execute("import sys; sys.stdout.buffer.write(b'a\\xff')").stdout == "a\ufffd"


def test_output_is_capped_and_marked():
    with create_sandbox(stdout_max_bytes=1000) as sandbox:
        result = sandbox.execute("print('x' * 5000)")
    assert len(result.stdout) == 1000
    assert result.metadata["stdout_truncated"]


def test_the_result_tells_what_held_it(python):
    protections = {item["name"]: item["state"] for item in python.execute("pass").metadata["protections"]}
    assert protections["seccomp"] == protections["memory"] == "enforced"


def test_a_changed_policy_holds_from_then_on(python):
    python.execute("pass")
    python.policy.timeout_seconds = 0.3
    assert python.execute("import time; time.sleep(20)").status == "timeout"


def test_events_come_as_they_happen(python):
    seen = []
    for event in python.stream("print('one', flush=True); input()", stdin="\n"):
        seen.append(event)
    assert isinstance(seen[0], Started)
    assert [event.text for event in seen if isinstance(event, Output)] == ["one\n"]
    assert isinstance(seen[-1], Completed)
    assert seen[-1].result.success


def test_a_stream_that_is_left_ends_the_program(python):
    for event in python.stream("import time\nwhile True:\n  print('tick', flush=True); time.sleep(0.01)"):
        if isinstance(event, Output):
            break
    assert python.execute("print(1)").success


def test_an_error_of_the_request_reaches_a_streams_reader(python):
    python.policy.backend = "docker"
    with pytest.raises(SandboxExecutionError, match="docker"):
        list(python.stream("print(1)"))


def test_code_is_checked_and_not_run(python):
    assert python.validate_code("open('never', 'w')")
    assert not python.validate_code("print(")
    assert python.list_files() == []
    python.policy.analysis = "block"
    python.policy.forbidden_imports = ["os"]
    assert not python.validate_code("import os")
    assert python.check_code("import os")["imports"][0]["name"] == "os"


def test_a_closed_sandbox_says_so(python):
    python.close()
    with pytest.raises(SandboxExecutionError, match="closed"):
        python.execute("print(1)")


def test_packages_beside_the_program(python):
    python.write_file("site-packages/own.py", "value = 42")
    assert python.execute("import own; print(own.value)").stdout == "42\n"


def test_further_directories(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "f").write_text("data")
    policy = ExecutionPolicy(mount_data_dir=str(tmp_path), guest_mount_path="/home/me",
                             additional_readonly_mounts=[{"source": str(tmp_path), "target": "/more"}])
    with create_sandbox(policy=policy) as sandbox:
        result = sandbox.execute("print(open('/data/f').read(), open('/more/f').read())\n"
                                 "open('/home/me/made', 'w')\n"
                                 "try: open('/data/g', 'w')\nexcept OSError as e: print(e.strerror)")
        assert result.stdout == "data data\nRead-only file system\n", result
        assert sandbox.list_files() == ["made"]


def test_fields_of_the_policy_as_keywords():
    with create_sandbox(env={"A": "1"}, argv=["x"], forbidden_imports=["os"], backend="container") as sandbox:
        assert (sandbox.policy.env, sandbox.policy.backend) == ({"A": "1"}, "container")
        assert sandbox.execute("import os; print(os.environ['A'])").stdout == "1\n"
