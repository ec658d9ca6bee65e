"""The C library as Python objects: nothing here knows what a policy or a session is.

cffi lets other Python threads run while a call is in the library.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional, cast

from ._ffi import ffi, lib
from .errors import PolicyValidationError, SandboxExecutionError

EventHandler = Callable[[Any], None]
ENCODING = "utf-8"


def _failure(err: Any) -> Exception:
    error = err[0]
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


def _checked(function: Callable[..., int], *arguments: Any) -> None:
    err = ffi.new("sbx_error **")
    if function(*arguments, err) < 0:
        raise _failure(err)


def _made(function: Callable[..., Any], *arguments: Any) -> Any:
    err = ffi.new("sbx_error **")
    pointer = function(*arguments, err)
    if pointer == ffi.NULL:
        raise _failure(err)
    return pointer


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
        self.pointer = lib.sbx_policy_new()
        if self.pointer == ffi.NULL:
            raise MemoryError
        weakref.finalize(self, lib.sbx_policy_free, self.pointer).atexit = False

    def load(self, text: str, name: str) -> None:
        """Adds what a YAML text says."""
        data = _bytes(text)
        _checked(lib.sbx_policy_load_text, self.pointer, data, len(data), _bytes(name))


class Request:
    """One run that is asked for."""

    def __init__(self, language: str, code: str | bytes) -> None:
        self.pointer = lib.sbx_request_new(_bytes(language), ffi.NULL)
        if self.pointer == ffi.NULL:
            raise MemoryError
        self._handle: Any = None
        self.collects = False  # what it leaves in its workspace
        self._release = weakref.finalize(self, lib.sbx_request_free, self.pointer)
        self._release.atexit = False  # It may be running then.
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
        self._handle = ffi.new_handle(handler)
        setter = lib.sbx_request_set_event_handler if output else lib.sbx_request_set_log_handler
        _checked(setter, self.pointer, lib.sandbox_python_on_event, self._handle)

    def cancel(self) -> None:
        """Ends the run, from any thread."""
        if self._release.alive:
            lib.sbx_request_cancel(self.pointer)


@ffi.def_extern()  # type: ignore[untyped-decorator,unused-ignore]
def sandbox_python_on_event(event: Any, userdata: Any) -> None:
    """What the library calls; an error in a handler is the handler's, and ends nothing."""
    ffi.from_handle(userdata)(event)


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

    def __init__(self, pointer: Any) -> None:
        self.pointer = ffi.gc(pointer, lib.sbx_result_free)

    @property
    def success(self) -> bool:
        """Whether its status is "ok"."""
        return bool(lib.sbx_result_success(self.pointer))

    @property
    def status(self) -> str:
        """What became of it."""
        return cast(str, _text(lib.sbx_result_status(self.pointer)))

    @property
    def message(self) -> Optional[str]:
        """A sentence, or nothing."""
        return _text(lib.sbx_result_message(self.pointer))

    @property
    def exit_code(self) -> Optional[int]:
        """None where it did not exit."""
        code = int(lib.sbx_result_exit_code(self.pointer))
        return code if code >= 0 else None

    @property
    def memory_used(self) -> int:
        """Bytes."""
        return int(lib.sbx_result_memory_used(self.pointer))

    @property
    def execution_time(self) -> float:
        """Seconds."""
        return float(lib.sbx_result_execution_time(self.pointer))

    def output(self, stream: int) -> str:
        """What it wrote to standard output (1) or error (2); what is no UTF-8 is replaced."""
        length = ffi.new("size_t *")
        data = (lib.sbx_result_stdout if stream == 1 else lib.sbx_result_stderr)(self.pointer, length)
        return bytes(ffi.buffer(data, length[0])).decode(ENCODING, "replace") if length[0] else ""

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
        self._running: set[Request] = set()
        self._uses = 0
        self._closing = False
        self._changed = threading.Condition()
        self._owner = os.getpid()

    @contextlib.contextmanager
    def _used(self, request: Optional[Request] = None) -> Iterator[Any]:
        """The engine's pointer, which is not freed meanwhile."""
        if self._owner != os.getpid():
            raise SandboxExecutionError("the engine was made before fork()", "make a new one in this process")
        with self._changed:
            if self._closing:
                raise SandboxExecutionError("the engine is closed")
            self._uses += 1
            if request is not None:
                self._running.add(request)
        try:
            yield self.pointer
        finally:
            with self._changed:
                self._uses -= 1
                if request is not None:
                    self._running.discard(request)
                self._changed.notify_all()

    def run(self, request: Request) -> Result:
        """Runs a request to its end."""
        with self._used(request) as pointer:
            return Result(_made(lib.sbx_run, pointer, request.pointer))

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
        with self._changed:
            first, self._closing = not self._closing, True
            for request in self._running:
                request.cancel()
            ended = self._changed.wait_for(lambda: self._uses == 0, timeout=10)
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
