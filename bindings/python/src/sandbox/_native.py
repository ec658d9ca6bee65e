"""The C library as Python objects: nothing here knows what a policy or a session is.

cffi lets other Python threads run while a call is in the library.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional, cast

from ._ffi import ffi, lib
from .errors import PolicyValidationError, SandboxExecutionError

EventHandler = Callable[[Any], None]
ENCODING = "utf-8"
ERROR = ffi.typeof("sbx_error **")
OUTCOME = ffi.typeof("sandbox_outcome *")


def _failure(error: Any) -> Exception:
    code = lib.sbx_error_code(error)
    message = _text(lib.sbx_error_message(error)) or "the library failed"
    hint = _text(lib.sbx_error_hint(error))
    lib.sbx_error_free(error)
    if code == lib.SBX_EPOLICY:
        return PolicyValidationError(message)
    return SandboxExecutionError(message, hint, code)


def _text(pointer: Any) -> Optional[str]:
    return None if pointer == ffi.NULL else ffi.string(pointer).decode(ENCODING, "replace")


def _bytes(value: str | bytes) -> bytes:
    return value.encode(ENCODING, "surrogateescape") if isinstance(value, str) else bytes(value)


def _on_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _checked(function: Callable[..., int], *arguments: Any) -> None:
    err = ffi.new(ERROR)
    if function(*arguments, err) < 0:
        raise _failure(err[0])


def _made(function: Callable[..., Any], *arguments: Any) -> Any:
    err = ffi.new(ERROR)
    pointer = function(*arguments, err)
    if pointer == ffi.NULL:
        raise _failure(err[0])
    return pointer


def _owned(pointer: Any, free: Callable[[Any], None]) -> Any:
    """Freed with whoever holds it last; a program that runs holds its request."""
    if pointer == ffi.NULL:
        raise MemoryError
    return ffi.gc(pointer, free)


def _json(function: Callable[..., Any], *arguments: Any) -> Any:
    pointer = _made(function, *arguments)
    try:
        return json.loads(ffi.string(pointer))
    finally:
        lib.sbx_string_free(pointer)


def version() -> str:
    """The version of the library."""
    return cast(str, _text(lib.sbx_version()))


class Policy:
    """Layers of policy; the later ones win."""

    def __init__(self) -> None:
        self.pointer = _owned(lib.sbx_policy_new(), lib.sbx_policy_free)

    def load(self, text: str, name: str) -> None:
        """Adds what a YAML text says."""
        data = _bytes(text)
        _checked(lib.sbx_policy_load_text, self.pointer, data, len(data), _bytes(name))


class Request:
    """One run that is asked for."""

    def __init__(self, language: str, code: str | bytes) -> None:
        self.pointer = _owned(lib.sbx_request_new(_bytes(language), ffi.NULL), lib.sbx_request_free)
        self._callbacks = _Callbacks(self.pointer)
        self._handle = ffi.new_handle(self._callbacks)
        self.collects = False  # what it leaves in its workspace
        data = _bytes(code)
        _checked(lib.sbx_request_set_code, self.pointer, data, len(data))

    def set(self, key: str, value: str) -> None:
        """A value of the policy, for this run alone."""
        _checked(lib.sbx_request_set, self.pointer, _bytes(key), _bytes(value))

    def set_policy(self, policy: Policy) -> None:
        """The policy that holds."""
        _checked(lib.sbx_request_set_policy, self.pointer, policy.pointer)

    def add_argument(self, argument: str) -> None:
        """One more word for the program."""
        _checked(lib.sbx_request_add_argument, self.pointer, _bytes(argument))

    def add_mount(self, source: str, target: str, mode: str) -> None:
        """A directory of the host's."""
        _checked(lib.sbx_request_add_mount, self.pointer, _bytes(source), _bytes(target), _bytes(mode))

    def add_input(self, path: str, data: bytes) -> None:
        """A file that lies in the workspace when the program starts."""
        _checked(lib.sbx_request_add_input, self.pointer, _bytes(path), data, len(data))

    def collect(self, directory: int) -> None:
        """What the program leaves in its workspace is copied into a directory, folders and links as they are."""
        _checked(lib.sbx_request_set_collect_all, self.pointer, True)
        _checked(lib.sbx_request_set_collect_fd, self.pointer, directory)

    def set_stdin(self, data: str | bytes) -> None:
        """What the program reads."""
        raw = _bytes(data)
        _checked(lib.sbx_request_set_stdin, self.pointer, raw, len(raw))

    def set_name(self, name: str) -> None:
        """A name for the record of the run."""
        _checked(lib.sbx_request_set_name, self.pointer, _bytes(name))

    def set_trusted(self) -> None:
        """Leaves static analysis out; the result says so."""
        _checked(lib.sbx_request_set_trusted, self.pointer, True)

    def on_event(self, handler: EventHandler, output: bool = True) -> None:
        """Calls `handler` with each sbx_event; without `output` with none of output and usage."""
        self._callbacks.handler = handler
        setter = lib.sbx_request_set_event_handler if output else lib.sbx_request_set_log_handler
        _checked(setter, self.pointer, lib.sandbox_python_on_event, self._handle)

    def hear_signals(self) -> None:
        """On the main thread: signals are heard while it runs. What a handler of theirs raises ends it."""
        _checked(lib.sbx_request_set_wait_handler, self.pointer, lib.sandbox_python_on_wait, self._handle)

    @property
    def interrupt(self) -> Optional[BaseException]:
        """What a signal's handler raised while it ran."""
        return self._callbacks.interrupt

    def cancel(self) -> None:
        """Ends the run, from any thread."""
        lib.sbx_request_cancel(self.pointer)


class _Callbacks:
    """What the library has to tell while it runs a request; the request holds it, it does not hold the request."""

    def __init__(self, pointer: Any) -> None:
        self.handler: Optional[EventHandler] = None
        self.interrupt: Optional[BaseException] = None
        self._pointer = pointer

    def fail(self, error: BaseException) -> None:
        """Our own handlers raise nothing on the main thread: it was a signal's, and whoever waits is to have it."""
        if not _on_main_thread():
            sys.excepthook(type(error), error, error.__traceback__)
            return
        self.interrupt = error
        lib.sbx_request_cancel(self._pointer)


def _failed(kind: Any, error: BaseException, trace: Any) -> None:
    del kind
    ffi.from_handle(trace.tb_frame.f_locals["userdata"]).fail(error)


@ffi.def_extern(onerror=_failed)  # type: ignore[untyped-decorator,unused-ignore]
def sandbox_python_on_event(event: Any, userdata: Any) -> None:
    """What the library calls; an error in a handler is the handler's, and ends nothing."""
    ffi.from_handle(userdata).handler(event)


@ffi.def_extern(onerror=_failed)  # type: ignore[untyped-decorator,unused-ignore]
def sandbox_python_on_wait(userdata: Any) -> None:
    """Python runs handlers of signals between two steps of the main thread. Here are some."""
    for _ in (userdata, userdata):
        pass


def event_bytes(event: Any) -> bytes:
    """The bytes that an output event carries."""
    return bytes(ffi.buffer(event.data, event.length)) if event.length else b""


def event_text(event: Any) -> Optional[str]:
    """The sentence that an event carries."""
    return _text(event.text)


def event_kind(event: Any) -> str:
    """Its name."""
    return cast(str, _text(event.kind))


class Result:
    """What became of a run. What callers want most is at hand; the rest is taken apart when it is wanted."""

    def __init__(self, outcome: Any) -> None:
        if outcome.result == ffi.NULL:
            raise _failure(outcome.error)
        self.pointer = ffi.gc(outcome.result, lib.sbx_result_free)
        self._outcome = outcome

    @property
    def success(self) -> bool:
        """Whether its status is "ok"."""
        return cast(bool, self._outcome.success)

    @property
    def status(self) -> str:
        """What became of it."""
        return cast(str, _text(self._outcome.status))

    @property
    def message(self) -> Optional[str]:
        """A sentence, or nothing."""
        return _text(self._outcome.message)

    @property
    def exit_code(self) -> Optional[int]:
        """None where it did not exit."""
        code = cast(int, self._outcome.exit_code)
        return code if code >= 0 else None

    @property
    def memory_used(self) -> int:
        """Bytes."""
        return cast(int, self._outcome.memory_used)

    @property
    def execution_time(self) -> float:
        """Seconds."""
        return cast(float, self._outcome.execution_time)

    def output(self, stream: int) -> str:
        """What it wrote to standard output (1) or error (2); what is no UTF-8 is replaced."""
        length = self._outcome.lengths[stream - 1]
        if not length:
            return ""
        return cast(str, ffi.unpack(self._outcome.outputs[stream - 1], length).decode(ENCODING, "replace"))

    def whole(self) -> dict[str, Any]:
        """All of it, as the library tells it."""
        return cast("dict[str, Any]", _json(lib.sbx_result_format, self.pointer, b"jsonline", False))


class Engine:
    """What runs requests. It keeps interpreters warm, and is shared by all sandboxes of a process."""

    def __init__(self, warm_slots: int = 2, languages_dir: Optional[str] = None) -> None:
        options = ffi.new("sbx_engine_options *")
        options.size = ffi.sizeof("sbx_engine_options")
        options.warm_slots = warm_slots
        keep = []
        for field, value in (("languages_dir", languages_dir), ("init_path", helper_path())):
            if value:
                keep.append(ffi.new("char[]", _bytes(value)))
                setattr(options, field, keep[-1])
        self.pointer = _made(lib.sbx_engine_new, options)
        self._running: set[object] = set()  # requests that run, and whoever else uses it
        self._closing = False
        self._left = threading.Condition()
        self._owner = os.getpid()

    def _enter(self, who: object) -> None:
        """From now on, until _leave(), the engine is not freed. Whoever closes it looks here after having said so."""
        if self._owner != os.getpid():
            raise SandboxExecutionError("the engine was made before fork()", "make a new one in this process")
        self._running.add(who)
        if self._closing:
            raise SandboxExecutionError("the engine is closed")

    def _leave(self, who: object) -> None:
        """May be called where _enter() has failed."""
        self._running.discard(who)
        if self._closing:
            with self._left:
                self._left.notify_all()

    @contextlib.contextmanager
    def _used(self) -> Iterator[Any]:
        """The engine's pointer, which is not freed meanwhile."""
        who = object()
        try:
            self._enter(who)
            yield self.pointer
        finally:
            self._leave(who)

    def run(self, request: Request) -> Result:
        """Runs a request to its end. On the main thread, signals are heard meanwhile."""
        outcome = ffi.new(OUTCOME)
        try:
            self._enter(request)
            if _on_main_thread():
                request.hear_signals()
            lib.sandbox_run(self.pointer, request.pointer, outcome)
            result = Result(outcome)
        finally:
            self._leave(request)
        if request.interrupt is not None:
            raise request.interrupt
        return result

    def check(self, request: Request) -> dict[str, Any]:
        """Static analysis alone; nothing runs."""
        with self._used() as pointer:
            return cast("dict[str, Any]", _json(lib.sbx_check, pointer, request.pointer))

    def languages(self) -> list[dict[str, Any]]:
        """Every language known, and whether it is installed here."""
        with self._used() as pointer:
            return cast("list[dict[str, Any]]", _json(lib.sbx_languages_json, pointer))

    def stats(self) -> dict[str, int]:
        """What became of warm starts."""
        stats = ffi.new("sbx_stats *")
        stats.size = ffi.sizeof("sbx_stats")
        with self._used() as pointer:
            _checked(lib.sbx_engine_stats, pointer, stats)
        return {name: int(getattr(stats, name)) for name, _ in ffi.typeof("sbx_stats").fields if name != "size"}

    def close(self) -> None:
        """Ends what runs, and what is kept warm."""
        # A copy made by fork() has none of the threads: what it holds is its parent's to end.
        if self._owner != os.getpid():
            return
        with self._left:
            first, self._closing = not self._closing, True
            for request in [who for who in list(self._running) if isinstance(who, Request)]:
                request.cancel()
            ended = self._left.wait_for(lambda: not self._running, timeout=10)
        if first and ended:
            lib.sbx_engine_free(self.pointer)


def helper_path() -> Optional[str]:
    """The helper that a wheel carries; None: the library looks where it was installed."""
    path = Path(__file__).parent / "_helpers" / "sandbox-init"
    return str(path) if path.exists() else os.environ.get("SANDBOX_INIT")


class _Shared:
    """The engine of this process, made when first wanted."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.engine: Optional[Engine] = None

    def get(self) -> Engine:
        with self.lock:
            if self.engine is None:
                self.engine = Engine()
            return self.engine

    def close(self) -> None:
        with self.lock:
            engine, self.engine = self.engine, None
        if engine is not None:
            engine.close()


_shared = _Shared()
shared_engine = _shared.get
close_shared_engine = _shared.close
os.register_at_fork(after_in_child=_shared.forget)
