"""The Model Context Protocol server, message by message: revisions, wrong messages, cancellation, batches."""

import json
import os
import select
import signal
import subprocess

import pytest

from helpers.program import REPOSITORY
from helpers.mcp_client import LATEST_HANDSHAKE, MODERN, Client, text_of

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION, NO_RESOURCE = -32022, -32002
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def client(sandbox, no_leftovers):
    with Client(sandbox) as made:
        yield made


@pytest.fixture
def silent(sandbox, no_leftovers):
    """A connection on which nothing was said yet."""
    with Client(sandbox, version=None) as made:
        yield made


def initialize(version):
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@pytest.mark.parametrize("asked,given", [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"),
                                         ("2025-03-26", "2025-03-26"), ("2024-11-05", "2024-11-05"),
                                         ("1999-01-01", LATEST_HANDSHAKE), (MODERN, LATEST_HANDSHAKE)])
def test_the_handshake_agrees_on_a_revision(silent, asked, given):
    result = silent.ask("initialize", initialize(asked))["result"]
    assert result["protocolVersion"] == given
    assert result["serverInfo"]["name"] == "sandbox" and "tools" in result["capabilities"]


def test_a_newer_client_needs_no_handshake(silent):
    found = silent.ask("server/discover", {"_meta": ENVELOPE})["result"]
    assert MODERN in found["supportedVersions"] and found["resultType"] == "complete"
    listed = silent.ask("tools/list", {"_meta": ENVELOPE})["result"]
    assert listed["resultType"] == "complete" and listed["ttlMs"] == 0 and listed["cacheScope"] == "private"
    ran = silent.ask("tools/call", {"name": "run_code", "arguments": {"code": "echo hi", "language": "bash"},
                                    "_meta": ENVELOPE})["result"]
    assert ran["structuredContent"]["stdout"] == "hi\n" and ran["resultType"] == "complete"
    assert silent.ask("ping", {"_meta": ENVELOPE})["error"]["code"] == METHOD_NOT_FOUND
    refused = silent.ask("initialize", initialize(LATEST_HANDSHAKE))["error"]
    assert refused["code"] == UNSUPPORTED_VERSION and refused["data"]["supported"] == [MODERN]


@pytest.mark.parametrize("meta,code", [
    ({**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}, UNSUPPORTED_VERSION),
    ({**ENVELOPE, "io.modelcontextprotocol/protocolVersion": 7}, INVALID_PARAMS),
    ({"io.modelcontextprotocol/protocolVersion": MODERN}, INVALID_PARAMS)])
def test_a_wrong_envelope_is_refused(silent, meta, code):
    assert silent.ask("tools/list", {"_meta": meta})["error"]["code"] == code


def test_the_two_ways_are_not_mixed(client):
    assert client.ask("tools/list", {"_meta": ENVELOPE})["error"]["code"] == INVALID_REQUEST
    assert client.ask("initialize", initialize(LATEST_HANDSHAKE))["error"]["code"] == INVALID_REQUEST


def test_before_the_handshake_only_ping_is_answered(silent):
    assert silent.ask("tools/list")["error"]["code"] == INVALID_REQUEST
    assert silent.ask("tools/call", {"name": "get_limits"})["error"]["code"] == INVALID_REQUEST
    assert silent.ask("ping")["result"] == {}


@pytest.mark.parametrize("line,code,number", [
    (b"hello", PARSE_ERROR, None), (b"{", PARSE_ERROR, None), (b'{"jsonrpc": "2.0", \xff}', PARSE_ERROR, None),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', PARSE_ERROR, None),
    (b"7", INVALID_REQUEST, None), (b'"ping"', INVALID_REQUEST, None), (b"null", INVALID_REQUEST, None),
    (b"[]", INVALID_REQUEST, None), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST, None),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', INVALID_REQUEST, 5),
    (b'{"id":5,"method":"ping"}', INVALID_REQUEST, 5),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","id":5,"method":7}', INVALID_REQUEST, 5),
    (b'{"jsonrpc":"2.0","id":5}', INVALID_REQUEST, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}', INVALID_REQUEST, 5),
    (b'{"jsonrpc":"2.0","id":"x","method":"no/such"}', METHOD_NOT_FOUND, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"ping\\u0000"}', INVALID_REQUEST, "x"),
    (b'{"jsonrpc":"2.0","id":5,"method":"prompts/list"}', METHOD_NOT_FOUND, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"tools/call"}', INVALID_PARAMS, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}', INVALID_PARAMS, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"no_tool"}}', INVALID_PARAMS, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":7}}', INVALID_PARAMS, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', NO_RESOURCE, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"sandbox://session/x/../y"}}', NO_RESOURCE, 5),
])
def test_a_wrong_message_gets_the_code_of_the_specification(client, line, code, number):
    client.write(line + b"\n")
    error = client.take(number)["error"]
    assert error["code"] == code and error["message"]
    assert client.ask("ping")["result"] == {}


def test_many_wrong_messages_leave_the_connection_whole(client):
    deep = b"[" * 100000 + b"\n"
    for line in (b"\n", b"\r\n", deep, b'{"jsonrpc":"2.0","method":"notifications/unknown"}\n',
                 b'{"jsonrpc":"2.0","id":9,"result":{}}\n', b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n',
                 b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}\n'):
        client.write(line)
    assert client.ask("ping")["result"] == {}


def test_a_message_may_come_in_pieces(client):
    for byte in b'{"jsonrpc":"2.0","id":"slow","method":"ping"}\n':
        client.write(bytes([byte]))
    assert client.take("slow")["result"] == {}


def test_a_line_that_is_too_long_is_passed_over(client):
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
    for _ in range(50):
        client.write(b"x" * (1 << 20))
    client.write(b'"}}\n')
    assert client.take(None)["error"]["code"] == PARSE_ERROR
    assert client.ask("ping")["result"] == {}


def test_a_line_without_an_end_is_no_message(sandbox, no_leftovers):
    client = Client(sandbox)
    client.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    assert client.close() == 0
    assert '"last"' not in client.answers and client.stderr == b""


@pytest.mark.parametrize("version,is_error", [("2025-06-18", False), ("2025-11-25", True)])
def test_arguments_that_do_not_fit_are_told_as_the_revision_wants(sandbox, version, is_error):
    with Client(sandbox, version=version) as client:
        for arguments in ({}, {"code": 7, "language": "bash"}, {"code": "", "language": "bash", "other": 1},
                          {"code": "", "language": "bash", "timeout": 0}, {"code": "", "language": "bash", "args": [1]}):
            answer = client.ask("tools/call", {"name": "run_code", "arguments": arguments})
            if is_error:
                assert answer["result"]["isError"] and "do not fit" in text_of(answer["result"])
            else:
                assert answer["error"]["code"] == INVALID_PARAMS


def test_a_batch_of_the_revision_that_has_them_is_answered_by_one(sandbox, no_leftovers):
    with Client(sandbox, version="2025-03-26") as client:
        client.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"},
                     {"jsonrpc": "2.0", "method": "notifications/unknown"},
                     {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
                      "params": {"name": "run_code", "arguments": {"code": "echo 1", "language": "bash"}}},
                     {"jsonrpc": "2.0", "id": "c", "method": "no/such"}, 7])
        assert client.wait(lambda one: one.notes)
        answers = {json.dumps(item["id"]): item for item in client.notes[0]}
        assert set(answers) == {'"a"', '"b"', '"c"', "null"}
        assert "structuredContent" not in answers['"b"']["result"]  # The revision does not know it.


def test_a_batch_that_is_too_long_is_refused_whole(sandbox, no_leftovers):
    with Client(sandbox, version="2025-03-26") as client:
        client.send([{"jsonrpc": "2.0", "id": f"n{number}", "method": "ping"} for number in range(101)])
        assert client.take(None)["error"]["code"] == INVALID_REQUEST
        assert client.ask("ping")["result"] == {} and not client.notes


def test_a_message_of_too_many_values_is_not_taken_apart(client):
    """Each value takes dozens of bytes: a line that may be long must not be all of them."""
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[' + b"{}," * 200_000 + b"{}]}}\n")
    assert client.take(None)["error"]["code"] == INVALID_REQUEST
    client.write(json.dumps({"jsonrpc": "2.0", "id": "s", "method": "ping", "params": {"x": "[{,\\\"" * 200_000}}).encode() + b"\n")
    assert client.take("s")["result"] == {}


def test_an_id_in_flight_is_not_used_twice(client):
    call = {"name": "run_code", "arguments": {"code": "sleep 1", "language": "bash"}}
    messages = [{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": call},
                {"jsonrpc": "2.0", "id": "x", "method": "ping"}]
    client.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))  # At once: it must not end between.
    assert client.take("x")["error"]["code"] == INVALID_REQUEST
    assert client.take("x")["result"]["structuredContent"]["status"] == "ok"


def test_a_cancelled_call_ends_and_is_not_answered(client):
    number = client.start_call("run_code", {"code": "echo up; sleep 60", "language": "bash"}, progressToken="t")
    assert client.wait(lambda one: any("up" in note["params"].get("message", "") for note in one.notes))
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    runs = client.structured("history", status="cancelled")["runs"]
    while not runs:  # The record is written when everything of the run is gone.
        runs = client.structured("history", status="cancelled")["runs"]
    assert runs[0]["execution_time"] < 30 and json.dumps(number) not in client.answers


def test_progress_has_the_output_as_it_comes(client):
    code = "import time\nfor i in range(6):\n    print('line', i, flush=True)\n    time.sleep(0.12)\n"
    number = client.start_call("run_code", {"code": code, "language": "python"}, progressToken=77)
    result = client.take(number)["result"]
    told = [note["params"] for note in client.notes if note["method"] == "notifications/progress"]
    assert result["structuredContent"]["stdout"].count("line") == 6
    assert len(told) >= 2 and all(one["progressToken"] == 77 for one in told)
    values = [one["progress"] for one in told]
    assert values == sorted(set(values))
    # On a slow machine a second may pass before the first line.
    assert "line 0" in next(one["message"] for one in told if "message" in one)


def test_a_call_that_prints_nothing_is_told_of_after_a_second(client):
    number = client.start_call("run_code", {"code": "sleep 60", "language": "bash"}, progressToken="t")
    assert client.wait(lambda one: one.notes)
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    assert client.notes[0]["params"]["progress"] >= 1 and "message" not in client.notes[0]["params"]


def test_without_a_token_there_is_no_progress(client):
    client.call("run_code", code="echo 1; sleep 0.3; echo 2", language="bash")
    assert client.notes == []


@pytest.mark.parametrize("how", ["closed", "SIGTERM", "SIGINT"])
def test_everything_ends_with_the_connection(sandbox, no_leftovers, how):
    client = Client(sandbox)
    client.call("create_session", session_id="s", language="python")
    client.start_call("run_code", {"code": "print('up', flush=True)\nimport time; time.sleep(60)", "session_id": "s"},
                      progressToken=1)
    client.start_call("run_code", {"code": "echo up; sleep 60", "language": "bash"}, progressToken=2)
    up = lambda token: lambda one: any(note["params"]["progressToken"] == token for note in one.notes)
    assert client.wait(up(1)) and client.wait(up(2))
    if how != "closed":
        os.kill(client.process.pid, getattr(signal, how))
    assert client.close() == 0 and client.stderr == b""


def test_a_client_that_reads_nothing_is_not_in_the_way_of_a_signal(sandbox, no_leftovers):
    """Requests are taken until too many answers are unread."""
    process = sandbox.start("mcp", stdin=subprocess.PIPE)
    os.set_blocking(process.stdin.fileno(), False)
    while select.select([], [process.stdin], [], 1)[1]:
        os.write(process.stdin.fileno(), b"x\n" * 2048)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    process.communicate()


def test_calls_run_beside_each_other(client):
    """Each waits for a file that another call writes: one after the other they would never end."""
    client.call("create_session", session_id="s", language="bash")
    wait = "until [ -e {} ]; do sleep 0.01; done; echo seen"
    numbers = [client.start_call("run_code", {"code": "echo", "language": "bash"}) for _ in range(3)]
    slow = [client.start_call("run_code", {"code": "sleep 30", "language": "bash"}) for _ in range(4)]
    quick = client.start_call("run_code", {"code": "echo quick", "language": "bash"})
    assert client.take(quick)["result"]["structuredContent"]["stdout"] == "quick\n"
    assert not any(json.dumps(number) in client.answers for number in slow), wait
    for number in slow:
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    assert all(client.take(number)["result"]["isError"] is False for number in numbers)


def test_a_thousand_calls(client):
    numbers = []
    for index in range(1000):
        if index % 100 == 0:
            numbers.append((index, client.start_call("run_code", {"code": f"echo {index}", "language": "bash"})))
        else:
            tool = ("get_limits", "list_sessions", "list_languages")[index % 3]
            numbers.append((None, client.start_call(tool)))
    for index, number in numbers:
        result = client.take(number)["result"]
        assert index is None or result["structuredContent"]["stdout"] == f"{index}\n"


def test_wrong_options_are_refused_before_a_word_of_the_protocol(sandbox):
    for words, told in ((["--max-sessions", "0"], "max-sessions"), (["--languages", "klingon"], "klingon"),
                        (["--workspace-root", "/no/such"], "/no/such"), (["--policy", "/no/such.yaml"], "/no/such.yaml"),
                        (["--idle-timeout", "soon"], "idle-timeout"), (["word"], "word")):
        outcome = sandbox.call("mcp", *words)
        assert outcome.exit_code == 125 and outcome.stdout == b"" and told in outcome.error, outcome
        assert outcome.error.startswith("sandbox: ")


def fits(wanted, got):
    """Whether a value is what the transcript has, where "..." stands for any."""
    if wanted == "...":
        return True
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(fits(value, got[key]) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(fits, wanted, got))
    return wanted == got


def test_the_transcript_in_the_documentation_is_true(silent):
    text = (REPOSITORY / "docs/MCP.md").read_text().split("```transcript\n")[1].split("```")[0]
    lines = [(line[0], json.loads(line[2:])) for line in text.splitlines()]
    assert len([1 for mark, _ in lines if mark == "<"]) == 7
    for mark, message in lines:
        if mark == ">":
            silent.send(message)
        else:
            got = silent.take(message["id"])
            assert fits(message, got), got
