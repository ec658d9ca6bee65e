import logging
import threading

import structlog

from sandbox import ExecutionPolicy, SandboxLogger, _native, create_sandbox


def state():
    root, ours = logging.getLogger(), logging.getLogger("sandbox")
    return (list(root.handlers), root.level, list(ours.handlers), ours.level, ours.propagate)


def test_start_and_end_are_told(caplog):
    caplog.set_level(logging.INFO, "app")
    policy = ExecutionPolicy(env={"KEY": "secret-value"})
    with create_sandbox(policy=policy, logger=logging.getLogger("app")) as sandbox:
        result = sandbox.execute("open('made', 'w')")
    start, end = (record for record in caplog.records if record.event.startswith("execution."))
    assert (start.event, start.runtime, start.policy["env"]) == ("execution.start", "python", ["KEY"])
    assert (end.event, end.success, end.exit_code, end.files_created) == ("execution.complete", True, 0, ["made"])
    assert end.execution_id == result.metadata["id"]
    assert "secret-value" not in str([vars(record) for record in caplog.records])


def test_nothing_global_is_touched():
    before = state()
    with create_sandbox(logger=SandboxLogger()) as sandbox:
        sandbox.execute("print(1)")
    assert state() == before


def test_without_a_listener_nothing_is_printed(capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with create_sandbox(timeout_seconds=0.2) as sandbox:
        assert sandbox.execute("while True: pass").status in ("timeout", "cpu_limit")
    assert capfd.readouterr() == ("", "")


def test_security_events_are_warnings(caplog):
    policy = ExecutionPolicy(analysis="block", forbidden_imports=["socket"])
    with create_sandbox(policy=policy) as sandbox:
        result = sandbox.execute("import socket")
    assert result.metadata["blocked_imports"] == ["socket"]
    events = [record for record in caplog.records if record.event.startswith("security.")]
    assert events
    assert {record.levelno for record in events} == {logging.WARNING}


def test_structlog_gets_keywords():
    with structlog.testing.capture_logs() as logs, create_sandbox(logger=structlog.get_logger()) as sandbox:
        sandbox.execute("pass")
        sandbox.logger.log_security_event("violation", "a test")
    assert [entry["sandbox_event"] for entry in logs] == ["execution.start", "execution.complete",
                                                          "security.violation"]
    assert logs[1]["success"] is True


def test_a_logger_that_blocks_holds_up_no_run(monkeypatch):
    """It is let go only when nothing runs any more."""
    class Blocks(logging.Handler):
        def emit(self, record):
            if record.event.startswith("security."):
                gone.append(left.wait(30))

    def leave(who):
        real(who)
        left.set()

    gone, left = [], threading.Event()
    engine = _native.shared_engine()
    real = engine._leave
    monkeypatch.setattr(engine, "_leave", leave)
    logger = logging.Logger("blocks")
    logger.addHandler(Blocks())
    with create_sandbox(logger=logger, analysis="block", forbidden_imports=["socket"]) as sandbox:
        assert sandbox.execute("import socket").status == "blocked"
    assert gone
    assert all(gone)


def test_a_logger_that_fails_costs_no_result():
    class Fails(logging.Handler):
        def emit(self, record):
            if record.event.startswith("security."):
                raise RuntimeError(record.event)

    logger = logging.Logger("fails")
    logger.addHandler(Fails())
    with create_sandbox(logger=logger, analysis="block", forbidden_imports=["socket"]) as sandbox:
        assert sandbox.execute("import socket").status == "blocked"
