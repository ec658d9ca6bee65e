"""The tools of `sandbox mcp`: runs, sessions, files, images, denials, and guests that mean no good."""

import base64
import json
import struct
import zlib

import jsonschema
import pytest

from helpers.mcp_client import Client, text_of

TOOLS = {"run_code", "run_python_code", "execute_code", "check_code", "list_languages", "create_session", "list_sessions",
         "reset_session", "destroy_session", "write_file", "read_file", "list_files", "get_limits", "history"}


@pytest.fixture
def client(sandbox, no_leftovers):
    with Client(sandbox) as made:
        yield made


def png():
    """The smallest picture that is one."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def test_every_tool_has_schemas_and_says_whether_it_writes(client):
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool["inputSchema"]["type"] == "object" and tool["outputSchema"]["type"] == "object"
        assert tool["description"] and '"use"' not in json.dumps(tool)
        assert isinstance(tool["annotations"]["readOnlyHint"], bool)
    assert tools["read_file"]["annotations"]["readOnlyHint"] and tools["check_code"]["annotations"]["readOnlyHint"]
    assert tools["destroy_session"]["annotations"]["destructiveHint"]


def test_what_every_tool_gives_fits_its_schema(client):
    calls = [("create_session", {"session_id": "s"}), ("run_code", {"session_id": "s", "code": "1 / 0"}),
             ("run_code", {"language": "c", "code": "int main(void) { return x; }"}),
             ("run_python_code", {"python_code": "print(a)", "global_variables": {"a": 1}}),
             ("execute_code", {"code": "echo", "language": "bash"}),
             ("check_code", {"code": "import socket", "language": "python"}), ("list_languages", {}),
             ("list_sessions", {}), ("write_file", {"session_id": "s", "path": "f", "content": "x"}),
             ("read_file", {"session_id": "s", "path": "f"}), ("list_files", {"session_id": "s"}), ("get_limits", {}),
             ("history", {"limit": 3}), ("reset_session", {"session_id": "s"}), ("destroy_session", {"session_id": "s"})]
    schemas = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert {name for name, _ in calls} == TOOLS
    for name, arguments in calls:
        jsonschema.Draft202012Validator.check_schema(schemas[name]["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(schemas[name]["outputSchema"])
        jsonschema.Draft202012Validator(schemas[name]["inputSchema"]).validate(arguments)
        jsonschema.Draft202012Validator(schemas[name]["outputSchema"]).validate(client.structured(name, **arguments))


def test_code_runs_and_is_told_for_readers_and_for_programs(client):
    result = client.call("run_code", code="import sys\nprint(sys.argv[1:], input(), open('a/b').read())", language="py",
                         args=["x"], stdin="in\n", files=[{"path": "a/b", "content": "aGk=", "encoding": "base64"}])
    assert not result["isError"] and text_of(result) == "['x'] in hi\n"
    told = result["structuredContent"]
    assert told["status"] == "ok" and told["language"] == "python" and told["session_id"] is None


def test_the_names_that_agents_know_run_too(client):
    told = client.structured("run_python_code", python_code="print(a['b'] + c)\nprint(d)",
                             global_variables={"a": {"b": "é\U0001f600\"'"}, "c": "!", "d": None})
    assert told["stdout"] == "é\U0001f600\"'!\nNone\n"
    failed = client.call("run_python_code", python_code="x = 1\nraise ValueError(v)", global_variables={"v": 7})
    assert failed["isError"] and "line 2" in text_of(failed) and "ValueError: 7" in text_of(failed)
    assert client.call("run_python_code", python_code="", global_variables={"a-b": 1})["isError"]
    assert client.structured("execute_code", code="echo hi", language="sh")["stdout"] == "hi\n"


def test_code_is_checked_without_running(client):
    told = client.structured("check_code", code="import subprocess\n", language="python")
    assert told["risk"] == "high" and told["findings"][0]["line"] == 1 and told["blocked"] is None


def test_languages_limits_and_history_are_told(client):
    names = {one["name"]: one for one in client.structured("list_languages")["languages"]}
    assert names["python"]["session"] == "variables" and names["shell"]["session"] == "files"
    assert client.structured("get_limits", language="python")["limits"]["timeout"] == 30.0
    assert client.structured("history")["runs"] == []  # Those of others are not ours.
    client.call("run_code", code="exit 3", language="bash")
    assert [run["exit_code"] for run in client.structured("history", limit=5, status="error")["runs"]] == [3]


@pytest.mark.parametrize("language,set_it,get_it,value", [
    ("python", "import math\nx = [1]\ndef f(n):\n    return n + 1", "f(len(x)) + math.floor(1.5)", "3\n"),
    ("javascript", "const x = [1]; function f(n) { return n + 1 }", "const x = 5; await Promise.resolve(f(x))", "6\n")])
def test_a_session_keeps_variables_until_it_is_reset(client, language, set_it, get_it, value):
    made = client.structured("create_session", language=language, session_id="s")
    assert made["state"] == "variables" and made["interpreter"] == "stopped"
    assert client.call("run_code", session_id="s", code=set_it)["isError"] is False
    told = client.structured("run_code", session_id="s", code=get_it)
    assert (told["stdout"], told["status"], told["session_id"]) == (value, "ok", "s")
    assert client.structured("list_sessions")["sessions"][0]["interpreter"] == "running"
    assert client.structured("reset_session", session_id="s")["interpreter"] == "stopped"
    lost = client.call("run_code", session_id="s", code="f(1)")
    assert lost["isError"] and lost["structuredContent"]["state_lost"] is False  # It was asked for.
    assert client.structured("destroy_session", session_id="s")["destroyed"]
    assert client.call("run_code", session_id="s", code="1")["isError"]


def test_errors_in_a_session_speak_of_its_own_lines_and_cost_nothing(client):
    client.call("create_session", session_id="s")
    client.call("run_code", session_id="s", code="kept = 1")
    for code, words in (("a = 1\n1 / 0", ["line 2", "ZeroDivisionError", "1 / 0"]), ("def f(:", ["SyntaxError", "line 1"]),
                        ("import sys; sys.exit(3)", ["code 3"]), ("raise KeyboardInterrupt", ["KeyboardInterrupt"])):
        result = client.call("run_code", session_id="s", code=code)
        assert result["isError"] and all(word in text_of(result) for word in words), text_of(result)
        assert "session.py" not in text_of(result) and "/code/" not in text_of(result)
    assert client.structured("run_code", session_id="s", code="kept", args=["x"], stdin="y")["stdout"] == "1\n"


def test_a_task_has_arguments_and_input_of_its_own(client):
    client.call("create_session", session_id="s")
    told = client.structured("run_code", session_id="s", code="import sys; print(sys.argv[1:], input())", args=["x"], stdin="y")
    assert told["stdout"] == "['x'] y\n"


@pytest.mark.parametrize("code,status", [("while True: pass", "timeout"), ("import os; os._exit(4)", "failed"),
                                         ("import os; os.kill(os.getpid(), 11)", "signaled"),
                                         ("x = bytearray(1 << 30)\nx[::4096] = b'x' * len(x[::4096])", None)])
def test_an_interpreter_that_ends_is_told_and_replaced(client, code, status):
    client.call("create_session", session_id="s")
    client.call("run_code", session_id="s", code="kept = 1\nopen('f', 'w').write('x')")
    result = client.call("run_code", session_id="s", code=code, timeout=1 if status == "timeout" else 20)
    told = result["structuredContent"]
    assert result["isError"] and (status is None or (told["status"], told["state_lost"]) == (status, True)), told
    if told["state_lost"]:
        assert "variables are gone" in text_of(result)
        assert client.structured("run_code", session_id="s", code="'kept' in globals()")["stdout"] == "False\n"
    assert client.structured("run_code", session_id="s", code="open('f').read()")["stdout"] == "'x'\n"


def test_the_time_of_a_session_is_counted_for_each_call(sandbox, no_leftovers):
    policy = sandbox.make_file("short.yaml", "version: 1\nlimits: { timeout: 3s, cpu_time: 3s }\n")
    with Client(sandbox, "--policy", policy) as client:
        client.call("create_session", session_id="s")
        for _ in range(3):
            assert client.structured("run_code", session_id="s", code="import time; time.sleep(1.1)")["status"] == "ok"
        assert client.structured("run_code", session_id="s", code="import time; time.sleep(9)", timeout=60)["status"] == "timeout"


def test_a_cancelled_call_costs_the_variables_and_the_next_one_is_told(client):
    client.call("create_session", session_id="s")
    number = client.start_call("run_code", {"session_id": "s", "code": "print('up', flush=True)\nwhile True: pass"},
                               progressToken="t")
    assert client.wait(lambda one: any("up" in note["params"].get("message", "") for note in one.notes))
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    told = client.structured("run_code", session_id="s", code="1")
    assert told["stdout"] == "1\n" and told["state_lost"] and json.dumps(number) not in client.answers


def test_an_idle_interpreter_is_ended(sandbox, no_leftovers):
    with Client(sandbox, "--idle-timeout", "50ms") as client:
        client.call("create_session", session_id="s")
        client.call("run_code", session_id="s", code="x = 1")
        while client.structured("list_sessions")["sessions"][0]["interpreter"] == "running":
            pass
        assert client.structured("run_code", session_id="s", code="'x' in globals()")["state_lost"]


def test_other_languages_keep_files(client):
    client.call("create_session", session_id="s", language="bash")
    result = client.call("run_code", session_id="s", code="mkdir d; echo hi > d/f.txt")
    assert result["structuredContent"]["files"]["created"] == ["d/f.txt"]
    assert {"type": "resource_link", "uri": "sandbox://session/s/d/f.txt", "name": "d/f.txt", "size": 3,
            "mimeType": "text/plain"} in result["content"]
    assert client.structured("run_code", session_id="s", code="cat d/f.txt")["stdout"] == "hi\n"
    assert client.structured("run_code", session_id="s", language="python", code="print(open('d/f.txt').read())")["stdout"] == "hi\n\n"


def test_files_are_written_read_and_listed(client):
    client.call("create_session", session_id="s")
    assert client.structured("write_file", session_id="s", path="a b/ü.txt", content="é")["size"] == 2
    client.call("write_file", session_id="s", path="raw", content=base64.b64encode(b"\xff\0").decode(), encoding="base64")
    assert client.structured("read_file", session_id="s", path="a b/ü.txt")["content"] == "é"
    assert client.structured("read_file", session_id="s", path="a b/ü.txt", max_bytes=1)["truncated"]
    assert base64.b64decode(client.structured("read_file", session_id="s", path="raw")["content"]) == b"\xff\0"
    listed = client.structured("list_files", session_id="s")["files"]
    assert [file["path"] for file in listed] == ["a b/ü.txt", "raw"]
    assert client.structured("run_code", session_id="s", code="open('a b/ü.txt').read()")["stdout"] == "'é'\n"
    resources = client.ask("resources/list")["result"]["resources"]
    assert [one["uri"] for one in resources] == [file["uri"] for file in listed]
    text, raw = (client.ask("resources/read", {"uri": one["uri"]})["result"]["contents"][0] for one in resources)
    assert text["text"] == "é" and base64.b64decode(raw["blob"]) == b"\xff\0"
    assert "sandbox://session/" in client.ask("resources/templates/list")["result"]["resourceTemplates"][0]["uriTemplate"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", ".", "a//b", "out", "out/passwd", "in/fifo", "x" * 2000])
def test_nothing_outside_of_the_workspace_is_reached(client, path):
    client.call("create_session", session_id="s", language="bash")
    client.call("run_code", session_id="s", code="ln -s /etc out; ln -s /etc/passwd p; mkdir in; mkfifo in/fifo")
    assert client.call("read_file", session_id="s", path=path)["isError"]
    if path != "in/fifo":  # A new file takes the place of a pipe.
        assert client.call("write_file", session_id="s", path=path + "/f", content="x")["isError"]
    assert client.call("read_file", session_id="s", path="p")["isError"]
    assert "out" not in json.dumps(client.structured("list_files", session_id="s"))


def test_what_is_too_large_is_refused(sandbox, no_leftovers):
    policy = sandbox.make_file("small.yaml", "version: 1\nlimits: { disk: 64K }\n")
    with Client(sandbox, "--policy", policy) as client:
        client.call("create_session", session_id="s")
        assert "disk" in text_of(client.call("write_file", session_id="s", path="f", content="x" * 70000))
        assert client.call("write_file", session_id="s", path="f", content="no base64!", encoding="base64")["isError"]


@pytest.mark.parametrize("in_session", [False, True])
def test_images_come_back_as_images(client, in_session):
    code = (f"import base64\nopen('p.png', 'wb').write(base64.b64decode({base64.b64encode(png()).decode()!r}))\n"
            f"open('v.svg', 'w').write({SVG!r})\nopen('liar.png', 'w').write('no picture')\nNone")
    if in_session:
        client.call("create_session", session_id="s")
    result = client.call("run_code", code=code, **({"session_id": "s"} if in_session else {"language": "python"}))
    images = {item["mimeType"]: base64.b64decode(item["data"]) for item in result["content"] if item["type"] == "image"}
    assert images == {"image/png": png(), "image/svg+xml": SVG.encode()}


def test_figures_need_no_screen(client):
    told = client.structured("run_code", language="python", code="import os; print(os.environ['MPLBACKEND'])")
    assert told["stdout"] == "Agg\n"


@pytest.mark.parametrize("arguments,words", [
    ({"language": "python", "code": "import socket; socket.create_connection(('192.0.2.1', 80), 5)"}, ["without a network", "write_file"]),
    ({"language": "python", "code": "import no_such_package"}, ["package", "packages"]),
    ({"language": "python", "code": "while True: pass", "timeout": 0.3}, ["wall-clock time", "get_limits"]),
    ({"language": "python", "code": "x = 'x' * (1 << 31)"}, []),
    ({"language": "bash", "code": "echo x > /usr/f"}, ["working directory"]),
    ({"language": "klingon", "code": ""}, ["list_languages"]),
    ({"language": "bash", "code": "", "timeout": 9999}, ["Not run", "timeout"]),
    ({"language": "bash", "code": "", "session_id": "nobody"}, ["create_session"]),
    ({"language": "bash", "code": "", "packages": ["x"]}, ["packages"]),
    ({"language": "python", "code": "", "packages": ["--index-url=http://192.0.2.1"]}, ["no package name"]),
])
def test_a_denial_teaches(client, arguments, words):
    result = client.call("run_code", **arguments)
    assert result["isError"] and all(word in text_of(result) for word in words), text_of(result)
    assert client.call("get_limits")["isError"] is False


def test_denial_under_an_allowlist_names_what_was_refused(sandbox, no_leftovers):
    policy = sandbox.make_file("some.yaml", "version: 1\nnetwork: { allow: ['203.0.113.10:443'] }\n")
    with Client(sandbox, "--policy", policy) as client:
        missing = client.call("run_code", language="bash", code="echo Could not resolve host >&2; exit 1")
        assert "get_limits" in text_of(missing) and "without a network" not in text_of(missing)
        told = text_of(client.call("run_code", language="python", code="import socket; socket.create_connection(('192.0.2.1', 80), 5)"))
        assert "connect 192.0.2.1:80: not allowed" in told and "get_limits" in told and "without a network" not in told
        assert client.structured("get_limits")["network"]["allow"] == ["203.0.113.10:443"]


def test_what_the_policy_forbids_is_not_run_in_a_session_either(sandbox, no_leftovers):
    with Client(sandbox, "--policy", "strict") as client:
        client.call("create_session", session_id="s")
        for extra in ({"language": "python"}, {"session_id": "s"}):
            result = client.call("run_code", code="import subprocess", **extra)
            assert result["structuredContent"]["status"] == "blocked" and "subprocess" in text_of(result)
            assert "check_code" in result["structuredContent"]["explanation"]
        assert client.structured("run_code", session_id="s", code="1 + 1")["stdout"] == "2\n"
        assert "subprocess" in client.structured("check_code", code="import subprocess", language="python")["blocked"]


def test_a_client_can_only_tighten(sandbox, no_leftovers):
    policy = sandbox.make_file("tight.yaml", "version: 1\nlimits: { timeout: 2s }\n")
    with Client(sandbox, "--policy", policy) as client:
        assert client.call("run_code", code="echo", language="bash", timeout=3)["isError"]
        assert client.structured("run_code", code="sleep 9", language="bash", timeout=0.2)["status"] == "timeout"


def test_languages_sessions_and_writing_can_be_restricted(sandbox, place, no_leftovers):
    (place / "old").mkdir()
    (place / "old" / "f.txt").write_text("kept")
    sandbox.own(place / "old")
    sandbox.own(place / "old" / "f.txt")
    with Client(sandbox, "--languages", "py,bash", "--max-sessions", "2", "--read-only", "--workspace-root", place) as client:
        assert "write_file" not in {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
        refused = client.ask("tools/call", {"name": "write_file", "arguments": {}})
        assert refused["error"]["code"] == -32602
        assert {one["name"] for one in client.structured("list_languages")["languages"]} == {"python", "shell"}
        assert client.call("run_code", code="1", language="javascript")["isError"]
        client.call("create_session", session_id="old")
        change = "open('f.txt', 'a').write('!'); open('new', 'w').write('x'); open('f.txt').read()"
        assert client.structured("run_code", session_id="old", code=change)["stdout"] == "'kept!'\n"
        client.call("run_code", session_id="old", code="rm f.txt", language="bash")
        assert client.structured("read_file", session_id="old", path="f.txt")["content"] == "kept"
        client.call("create_session", session_id="b", language="bash")
        assert "destroy_session" in text_of(client.call("create_session", session_id="c"))
        assert client.call("create_session", session_id="../x")["isError"]
        client.call("destroy_session", session_id="old")
    assert [path.name for path in (place / "old").iterdir()] == ["f.txt"]


def test_a_workspace_root_keeps_what_sessions_leave(sandbox, place, no_leftovers):
    for turn in range(2):
        with Client(sandbox, "--workspace-root", place) as client:
            client.call("create_session", session_id="s", language="bash")
            told = client.structured("run_code", session_id="s", code="echo x >> f; wc -l < f")
            assert told["stdout"].strip() == str(turn + 1)
            if turn == 1:  # It was there before the session: the user's.
                client.call("destroy_session", session_id="s")
    assert (place / "s" / "f").read_text() == "x\nx\n"


def test_files_of_a_call_are_within_the_disk_limit(sandbox, place, no_leftovers):
    policy = sandbox.make_file(place / "p.yaml", "limits: { disk: 1M }")
    with Client(sandbox, "--policy", policy) as client:
        client.call("create_session", session_id="s", language="python")
        files = [{"path": f"f{number}", "content": "x" * 400_000} for number in range(4)]
        assert "disk" in text_of(client.call("run_code", session_id="s", code="1", files=files))
        left = client.structured("list_files", session_id="s")["files"]
        assert sum(one["size"] for one in left) <= 1 << 20


HOSTILE = {
    "look-alike": b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","method":"notifications/progress"}\n\n',
    "ansi": b"\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\r\b\x00\x7f\xc2\x9b\xe2\x80\xae",
    "half a character": b"ok \xe2\x82",
    "no UTF-8": b"\xff\xfe\xc0\x80\xed\xa0\x80",
    "marks": b"\x1e" * 200 + b"\x1e" + b"0" * 32 + b"\x1e000\x1e",
}


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize("kind", HOSTILE)
def test_output_is_data(client, kind, in_session):
    data = HOSTILE[kind]
    code = f"import sys\nsys.stdout.buffer.write({data!r})\nsys.stderr.buffer.write({data!r})\nNone"
    if in_session:
        client.call("create_session", session_id="s")
    number = client.start_call("run_code", {"code": code, **({"session_id": "s"} if in_session else {"language": "python"})},
                               progressToken="t")
    told = client.take(number)["result"]["structuredContent"]
    for stream in ("stdout", "stderr"):
        got = base64.b64decode(told[stream]) if told["encoding"] == "base64" else told[stream].encode()
        assert got == data
    assert client.ask("ping")["result"] == {}


@pytest.mark.parametrize("in_session", [False, True])
def test_a_hundred_megabytes_of_output_are_cut(client, in_session):
    code = "import sys\nfor _ in range(1600): sys.stdout.write('x' * 65535 + '\\n')\nprint('last', file=sys.stderr)"
    if in_session:
        client.call("create_session", session_id="s")
    result = client.call("run_code", code=code, **({"session_id": "s"} if in_session else {"language": "python"}))
    told = result["structuredContent"]
    assert told["status"] == "ok" and told["stdout_truncated"] and told["stderr"] == "last\n"
    assert len(told["stdout"]) == 1 << 20 and len(text_of(result)) < 200000 and "cut" in told["explanation"]


def test_a_guest_that_forges_the_end_of_its_task_fools_only_itself(client):
    """It finds the nonce in the memory of its interpreter, as any guest could."""
    client.call("create_session", session_id="s")
    code = ("import gc, os, sys\nframe = sys._getframe()\nwhile frame.f_code.co_name != 'main': frame = frame.f_back\n"
            "nonce = frame.f_locals['words'][0]\nfor fd in (1, 2): os.write(fd, b'\\x1e' + nonce + b'\\x1e042\\x1e')\n"
            "print('{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}')")
    told = client.structured("run_code", session_id="s", code=code)
    assert told["exit_code"] == 42 and told["stdout"] == ""
    assert client.structured("run_code", session_id="s", code="6 * 7", timeout=5)["stdout"].endswith("42\n")


@pytest.mark.parametrize("code", ["import os\nfor fd in range(100):\n    try: os.close(fd)\n    except OSError: pass",
                                  "import sys\nsys.stdout = sys.stderr = None", "import os; os.dup2(os.open('/dev/null', 1), 1)",
                                  "import os\nif os.fork() == 0: print('child')\nelse: os.wait()"])
def test_a_guest_that_breaks_its_streams_breaks_nothing_else(client, code):
    client.call("create_session", session_id="s")
    client.call("run_code", session_id="s", code=code, timeout=2)
    client.call("reset_session", session_id="s")
    assert client.structured("run_code", session_id="s", code="6 * 7")["stdout"] == "42\n"
