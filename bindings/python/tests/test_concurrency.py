import asyncio
import contextlib
import gc
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandbox import SandboxLogger, create_sandbox
from sandbox._native import Engine, shared_engine

FOREVER = "import time\nprint('up', flush=True)\nwhile True: time.sleep(1)"


async def test_asyncio_runs_many_at_once(python):
    results = await asyncio.gather(*(python.aexecute(f"print({i})") for i in range(8)))
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(8)]


async def test_cancelling_the_task_ends_the_program(python):
    task = asyncio.create_task(python.aexecute(FOREVER))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not shared_engine()._running


def test_threads_run_at_once(python):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: python.execute(f"print({i})").stdout, range(16)))
    assert results == [f"{i}\n" for i in range(16)]


def test_other_threads_go_on_meanwhile(python):
    counted = threading.Event()
    threading.Thread(target=counted.set).start()
    assert python.execute("import time; time.sleep(0.2)").success
    assert counted.is_set()


def in_another(code, **options):
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **options)


@contextlib.contextmanager
def ended(process):
    """Whatever becomes of the test, the process does not stay."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_interrupt_ends_the_program_and_reaches_the_caller():
    code = ("import os, signal, sandbox, logging\n"
            "class Stop(sandbox.SandboxLogger):\n"
            "    def log_execution_start(self, *a, **k): print('started', flush=True)\n"
            "sb = sandbox.create_sandbox(logger=Stop())\n"
            f"try: sb.execute({FOREVER!r})\n"
            "except KeyboardInterrupt: print('interrupted', len(sandbox._native.shared_engine()._running))\n"
            "print(sb.execute('print(1)').stdout)\n")
    with ended(in_another(code)) as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out.startswith("interrupted 0\n"), err
    assert "1\n" in out


def test_a_handler_that_raises_nothing_is_heard_and_ends_nothing():
    code = ("import signal, sandbox\n"
            "class Tell(sandbox.SandboxLogger):\n"
            "    def log_execution_start(self, *a, **k): print('started', flush=True)\n"
            "signal.signal(signal.SIGUSR1, lambda *a: print('heard', flush=True))\n"
            "sb = sandbox.create_sandbox(logger=Tell())\n"
            f"try: sb.execute({FOREVER!r})\n"
            "except KeyboardInterrupt: print('interrupted')\n")
    with ended(in_another(code)) as process:
        assert process.stdout.readline() == "started\n"
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.readline() == "heard\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "interrupted\n", err


@pytest.mark.parametrize("heard", [False, True])
def test_what_a_signals_handler_raises_reaches_the_caller(heard):
    """Whether events are heard on the way or not."""
    class Late(Exception):
        pass

    def late(number, frame):
        raise Late

    logger = logging.Logger("heard")
    if heard:
        logger.addHandler(logging.NullHandler())
    before = signal.signal(signal.SIGALRM, late)
    try:
        with create_sandbox(logger=SandboxLogger(logger)) as sandbox:
            with pytest.raises(Late):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                sandbox.execute(FOREVER)
            assert not shared_engine()._running
            assert sandbox.execute("print(1)").stdout == "1\n"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def open_files():
    return sum(1 for _ in pathlib.Path("/proc/self/fd").iterdir())


def test_nothing_waits_for_the_garbage_collector(python):
    python.execute("print(1)")
    before, runs = open_files(), 30
    gc.disable()
    try:
        for _ in range(runs):
            python.execute("print(1)")
        assert open_files() < before + runs
    finally:
        gc.enable()


def test_the_interpreter_can_end_while_a_program_runs():
    code = ("import threading, sandbox\n"
            "sb = sandbox.create_sandbox()\n"
            "it = sb.stream(" + repr(FOREVER) + ")\n"
            "while not isinstance(next(it), sandbox.Output): pass\n"
            "print('leaving')\n")
    with ended(in_another(code)) as process:
        out, err = process.communicate(timeout=60)
    assert out == "leaving\n", err


def test_a_copy_made_by_fork_has_an_engine_of_its_own(python):
    python.execute("print(1)")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        text = b"failed"
        try:
            with create_sandbox() as sandbox:
                text = sandbox.execute("print('child')").stdout.encode()
        finally:
            os.write(write, text)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"child\n"
    os.waitpid(child, 0)
    assert python.execute("print(2)").stdout == "2\n"


def test_a_closed_engine_runs_nothing():
    engine = Engine(warm_slots=0)
    engine.close()
    from sandbox import PythonSandbox, SandboxExecutionError
    with pytest.raises(SandboxExecutionError, match="engine is closed"):
        PythonSandbox(engine=engine).execute("print(1)")


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_does_not_grow(python):
    for _ in range(20):
        python.execute("print(1)")
    before = resident()
    for _ in range(150):
        python.execute("print(1)")
    assert resident() - before < 4 << 20
