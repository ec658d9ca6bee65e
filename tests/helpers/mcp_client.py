"""A client of `sandbox mcp` that speaks JSON-RPC by hand, so that it can also speak it wrongly."""

import json
import os
import signal
import subprocess
import threading

from helpers.program import HARD_TIMEOUT

LATEST_HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"


class Client:
    """One server. Answers are kept by id, everything else in `notes`; nothing waits longer than a hung test may."""

    def __init__(self, sandbox, *args, version=LATEST_HANDSHAKE, env=None):
        self.process = sandbox.start("mcp", *args, stdin=subprocess.PIPE, env=env)
        self.answers, self.notes, self.lines, self.ended = {}, [], 0, False
        self.changed = threading.Condition()
        self.last_id = 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        if version:
            self.hello = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                                 "clientInfo": {"name": "test", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def _read(self):
        for line in self.process.stdout:
            assert line.isascii(), line[:200]
            message = json.loads(line)
            with self.changed:
                self.lines += 1
                if isinstance(message, dict) and "id" in message and "method" not in message:
                    self.answers.setdefault(json.dumps(message["id"]), []).append(message)
                else:
                    self.notes.append(message)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self) or self.ended, HARD_TIMEOUT), "hung"
            return condition(self)

    def take(self, number):
        """The answer with this id."""
        key = json.dumps(number)
        assert self.wait(lambda client: client.answers.get(key)), f"the server ended without an answer to {number}"
        with self.changed:
            return self.answers[key].pop(0)

    def start(self, method, params=None):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method,
                   **({} if params is None else {"params": params})})
        return self.last_id

    def ask(self, method, params=None):
        return self.take(self.start(method, params))

    def start_call(self, tool, arguments=None, **meta):
        return self.start("tools/call", {"name": tool, "arguments": arguments or {}, **({"_meta": meta} if meta else {})})

    def call(self, tool, **arguments):
        """The result of a tool, or the error of the protocol as an AssertionError."""
        answer = self.take(self.start_call(tool, arguments))
        assert "result" in answer, answer
        return answer["result"]

    def structured(self, tool, **arguments):
        return self.call(tool, **arguments)["structuredContent"]

    def close(self):
        """Closes the server's input and returns its exit code."""
        if self.process.stdin and not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            code = self.process.wait(HARD_TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise AssertionError("the server did not end") from None
        self.thread.join(HARD_TIMEOUT)
        self.stderr = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def text_of(result):
    """All of the text for a model."""
    return "\n".join(item["text"] for item in result["content"] if item["type"] == "text")
