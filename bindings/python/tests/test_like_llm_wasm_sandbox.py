"""What the documentation of llm-wasm-sandbox shows its users, with the same names and calls: it runs here too."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import ExecutionPolicy, RuntimeType, SandboxExecutionError, SandboxLogger, create_sandbox, load_policy


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_first_sandbox():
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON)
    result = sandbox.execute("""
print("contained")
""")
    assert result.stdout == "contained\n"
    assert result.success is True
    assert f"{result.fuel_consumed:,}".replace(",", "").isdigit()


def test_a_policy_of_ones_own():
    policy = ExecutionPolicy(fuel_budget=1_000_000_000, memory_bytes=64 * 1024 * 1024, stdout_max_bytes=1_000_000,
                             env={"API_KEY": "secret"})
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON, policy=policy)
    try:
        result = sandbox.execute("import json, os; print(json.dumps({'key': os.environ['API_KEY']}))")
    except SandboxExecutionError as refused:
        # A budget of one's own is a demand: it is counted, or nothing runs, and the reason is told.
        assert "'wasm' is not built" in str(refused)
        return
    assert result.stdout == '{"key": "secret"}\n'
    assert 0 < result.fuel_consumed <= 1_000_000_000
    assert result.success
    assert result.duration_seconds > 0


def test_the_budget_by_default_is_no_demand():
    result = create_sandbox(policy=ExecutionPolicy()).execute("print(1)")
    assert (result.status, result.stdout) == ("ok", "1\n")


def test_javascript():
    sandbox = create_sandbox(runtime=RuntimeType.JAVASCRIPT)
    result = sandbox.execute("""
const data = { value: 42 };
console.log(JSON.stringify(data));
""")
    assert result.stdout == '{"value":42}\n'
    assert result.success
    assert f"{result.fuel_consumed:,}"


def test_javascript_with_a_policy():
    policy = ExecutionPolicy(memory_bytes=128 * 1024 * 1024, env={"NODE_ENV": "sandbox"})
    sandbox = create_sandbox(runtime=RuntimeType.JAVASCRIPT, policy=policy)
    result = sandbox.execute("const f = n => n <= 1 ? 1 : n * f(n - 1);\n"
                             "console.log(`${process.env.NODE_ENV} ${f(5)}`);")
    assert result.stdout == "sandbox 120\n", result


def test_every_field_of_a_policy():
    policy = ExecutionPolicy(memory_bytes=128_000_000, stdout_max_bytes=2_000_000, stderr_max_bytes=1_000_000,
                             mount_host_dir="workspace", guest_mount_path="/app", env={"CUSTOM_VAR": "value"},
                             argv=["python", "-I", "/app/user_code.py", "-X", "utf8"])
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON, policy=policy)
    assert sandbox.execute("open('/app/made', 'w').write('x')").success
    assert Path("workspace/made").read_text() == "x"
    assert ExecutionPolicy(mount_data_dir="datasets").guest_data_path == "/data"


def test_a_policy_from_a_file():
    Path("config").mkdir()
    Path("config/policy.toml").write_text('memory_bytes = 100000000\n[env]\nA = "b"\n')
    policy = load_policy(Path("config/policy.toml"))
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON, policy=policy)
    assert sandbox.execute("import os; print(os.environ['A'])").stdout == "b\n"


def test_packages_that_lie_in_the_workspace():
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON)
    sandbox.write_file("site-packages/vendored.py", "__version__ = '1.2'")
    result = sandbox.execute("""
import sys
sys.path.insert(0, '/app/site-packages')
import vendored
print(vendored.__version__)
""")
    assert result.stdout == "1.2\n"


def feedback(code):
    """A loop of an agent's, as it is shown there."""
    policy = ExecutionPolicy(memory_bytes=64 * 1024 * 1024, stdout_max_bytes=100_000)
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON, policy=policy)
    result = sandbox.execute(code)
    if not result.success:
        return {"status": "error", "feedback": result.stderr}
    if result.fuel_consumed > 400_000_000:
        return {"status": "warning", "fuel_used": result.fuel_consumed}
    return {"status": "success", "output": result.stdout,
            "metrics": {"fuel": result.fuel_consumed, "duration": result.duration_seconds, "pages": result.mem_pages}}


def test_the_loop_of_an_agent():
    good = feedback("a, b = 0, 1\nfor _ in range(10): a, b = b, a + b\nprint(a)")
    assert (good["status"], good["output"]) == ("success", "55\n")
    assert good["metrics"]["pages"] > 0
    assert "NameError" in feedback("undefined")["feedback"]


def test_sessions_of_several_turns():
    sandbox = create_sandbox(runtime=RuntimeType.PYTHON)
    session_id = sandbox.session_id
    sandbox.execute("""
import json
with open('/app/data.json', 'w') as f:
    json.dump({"users": ["a", "b"]}, f)
""")
    sandbox = create_sandbox(session_id=session_id, runtime=RuntimeType.PYTHON)
    result = sandbox.execute("""
import json
with open('/app/data.json') as f:
    data = json.load(f)
data['users'].append('c')
print(f"now: {data}")
""")
    assert result.stdout == "now: {'users': ['a', 'b', 'c']}\n"


def test_in_a_process_of_its_own():
    script = ("from sandbox import create_sandbox, RuntimeType\nsandbox = create_sandbox(runtime=RuntimeType.PYTHON)\n"
              "result = sandbox.execute('print(42)')\nprint(result.stdout)")
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("42\n\n", "")


def test_what_is_reported_of_output_that_was_cut_and_programs_that_were_ended():
    policy = ExecutionPolicy(stdout_max_bytes=10, timeout_seconds=1)
    sandbox = create_sandbox(policy=policy, logger=SandboxLogger())
    assert sandbox.execute("print('x' * 100)").metadata["stdout_truncated"] is True
    ended = sandbox.execute("while True: pass")
    assert ended.metadata["trap_reason"] in ("timeout", "cpu_limit")
    assert ended.exit_code != 0
