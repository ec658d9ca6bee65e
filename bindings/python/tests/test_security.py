import pytest

from sandbox import ExecutionPolicy, create_sandbox

HOST_FILE = "open('/etc/shadow').read()"


@pytest.mark.parametrize(("policy", "code", "status"), [
    ({"timeout_seconds": 0.5}, "import time; time.sleep(30)", "timeout"),
    ({"cpu_time_seconds": 0.3}, "while True: pass", "cpu_limit"),
    ({"memory_bytes": 64_000_000}, "x = bytearray(500_000_000)", "memory_limit"),
    ({"analysis": "block", "forbidden_imports": ["subprocess"]}, "import subprocess", "blocked"),
])
def test_a_limit_ends_it_and_is_named(policy, code, status):
    with create_sandbox(policy=ExecutionPolicy(**policy)) as sandbox:
        result = sandbox.execute(code)
    assert (result.success, result.status, result.metadata["trap_reason"]) == (False, status, status), result
    assert result.message


@pytest.mark.parametrize("code", [
    "open('/etc/shadow').read()", "open('/code/main.py', 'w')", "import os; os.listdir('/root')",
    "import socket; socket.create_connection(('127.0.0.1', 22))", "import os; os.setuid(0)",
    "import os; os.kill(1, 9); os.kill(-1, 9)", "open('/proc/sysrq-trigger', 'w')"])
def test_what_is_outside_stays_outside(python, code):
    result = python.execute(code)
    assert not result.success, result


def test_the_environment_is_not_the_callers(python, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    assert "SECRET_OF_THE_CALLER" not in python.execute("import os; print(dict(os.environ))").stdout


def test_executions_do_not_see_each_other(python):
    python.execute("import builtins; builtins.leak = 1; import os; os.environ['LEAK'] = '1'")
    result = python.execute("import builtins, os; print(hasattr(builtins, 'leak'), 'LEAK' in os.environ)")
    assert result.stdout == "False False\n"


def test_names_resolve_only_where_they_may(python):
    ask = "import socket\ntry: print(socket.gethostbyname('localhost.'))\nexcept OSError as e: print('no')"
    python.policy.network = "dns"
    result = python.execute(ask)
    assert result.status == "ok", result
    python.policy.network = "allowlist"
    python.policy.network_allow = ["example.org:443"]
    assert python.execute("import socket; socket.create_connection(('192.0.2.1', 80), 5)").status == "failed"
