"""The official clients against `sandbox mcp`: two of TypeScript, one of Python, and the Inspector.

`tools/bootstrap clients` installs them; where that was not possible the tests are skipped.
"""

import json
import shutil
import subprocess

import pytest

from helpers.program import HARD_TIMEOUT, REPOSITORY, reachable_by_all

CLIENTS = REPOSITORY / ".cache/mcp-clients"
SCRIPTS = REPOSITORY / "tests/clients"

pytestmark = pytest.mark.skipif(not (CLIENTS / ".complete").exists(), reason="tools/bootstrap clients was not possible")


def run_client(sandbox, *words):
    """Runs a client as the fixture's user and returns what it printed."""
    if sandbox.changes_user and not reachable_by_all(CLIENTS / "python/bin/pip"):
        pytest.skip("the ordinary user cannot reach the clients here")
    identity = {"user": sandbox.uid, "group": sandbox.uid, "extra_groups": []} if sandbox.changes_user else {}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=sandbox.environment(),
                          cwd=sandbox.home, timeout=HARD_TIMEOUT * 2, check=False, **identity)
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-1500:])
    return json.loads(done.stdout)


def check(told):
    assert len(told["tools"]) == 14 and "run_code" in told["tools"]
    assert told["ran"] == "partial\n42\n" and told["error"] and told["after"] == "here\n"
    assert told["resources"] == ["sandbox://session/s/f.txt"] and told["text"] == "hi"
    assert "no_such_tool" in told["unknown"]
    assert "".join(told["progress"]) in "partial\n42\n"


@pytest.mark.parametrize("mode,version", [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_python_client(sandbox, no_leftovers, mode, version):
    told = run_client(sandbox, CLIENTS / "python/bin/python", SCRIPTS / "python_client.py", mode, sandbox.path)
    assert told["version"] == version
    check(told)


@pytest.mark.parametrize("which", ["old", "new"])
def test_the_typescript_clients(sandbox, no_leftovers, which):
    told = run_client(sandbox, shutil.which("node"), SCRIPTS / "typescript_client.mjs", CLIENTS, which, sandbox.path)
    assert told["cancelled"]
    check(told)


def test_the_inspector(sandbox, no_leftovers):
    inspector = CLIENTS / "node_modules/.bin/mcp-inspector"
    listed = run_client(sandbox, shutil.which("node"), inspector, "--cli", sandbox.path, "mcp", "--method", "tools/list")
    assert len(listed["tools"]) == 14
    ran = run_client(sandbox, shutil.which("node"), inspector, "--cli", sandbox.path, "mcp", "--method", "tools/call",
                     "--tool-name", "run_code", "--tool-arg", "language=bash", "--tool-arg", "code=echo hi")
    assert ran["structuredContent"]["stdout"] == "hi\n" and ran["isError"] is False
