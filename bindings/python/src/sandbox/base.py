"""What every sandbox can do, whatever the language."""

from __future__ import annotations

import asyncio
import atexit
import copy
import json
import logging
import os
import queue
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Optional, Union

from . import _native, events
from .errors import SandboxExecutionError
from .logger import SandboxLogger
from .models import ExecutionPolicy, SandboxResult
from .workers import workers
from .workspace import Workspace, is_empty, sessions

Data = Union[str, bytes]
OWN_NAMES = ("/app", "/workspace")  # of the workspace, in every container


class BaseSandbox(ABC):
    """Runs programs of one language under one policy. Subclasses say which language."""

    def __init__(self, policy: Optional[ExecutionPolicy] = None,
                 workspace: Optional[Union[str, os.PathLike[str]]] = None,
                 logger: Optional[SandboxLogger] = None, engine: Optional[_native.Engine] = None,
                 session_id: Optional[str] = None) -> None:
        self.policy = policy if policy is not None else ExecutionPolicy()
        self.logger = logger if logger is not None else SandboxLogger()
        self._place = workspace if workspace is not None else self.policy.mount_host_dir
        self._workspace: Optional[Workspace] = Workspace(self._place) if self._place is not None else None
        if self._workspace is None and session_id is not None:
            self._workspace = sessions.get(session_id)
        self._engine = engine
        self._native_policy: Optional[tuple[Any, _native.Policy]] = None
        self._lock = threading.Lock()
        self._closed = False
        self._collecting = False

    @property
    @abstractmethod
    def runtime(self) -> str:
        """The language, as the library calls it."""

    # ---- running

    def execute(self, code: Data, inject_setup: bool = True, *, stdin: Optional[Data] = None,
                args: Sequence[str] = (), files: Optional[Mapping[str, Data]] = None) -> SandboxResult:
        """Runs a program to its end. What it does wrong is in the result; Ctrl-C ends it."""
        return self._run(self._request(code, inject_setup, stdin, args, files))

    async def aexecute(self, code: Data, inject_setup: bool = True, *, stdin: Optional[Data] = None,
                       args: Sequence[str] = (), files: Optional[Mapping[str, Data]] = None) -> SandboxResult:
        """The same for asyncio. Cancelling the task ends the program."""
        request = self._request(code, inject_setup, stdin, args, files)
        future: Future[SandboxResult] = Future()
        workers.submit(future, lambda: self._run(request))
        ended = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            request.cancel()
            await asyncio.wait([ended])
            raise

    def stream(self, code: Data, inject_setup: bool = True, *, stdin: Optional[Data] = None,
               args: Sequence[str] = (), files: Optional[Mapping[str, Data]] = None) -> Iterator[events.Event]:
        """Yields what happens, as it happens; the last event is `Completed`. Closing it ends the program."""
        request = self._request(code, inject_setup, stdin, args, files)
        happened: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def hear(native: Any) -> None:
            event = events.from_native(native)
            if event is not None:
                happened.put(event)

        def run() -> None:
            try:
                happened.put(events.Completed(self._run(request, hear)))
            except BaseException as error:
                happened.put(error)

        future: Future[None] = Future()
        try:
            workers.submit(future, run)
            while True:
                event = happened.get()
                if isinstance(event, BaseException):
                    raise event
                yield event
                if isinstance(event, events.Completed):
                    return
        finally:
            _end(request, future)

    def validate_code(self, code: Data) -> bool:
        """Whether the code has no syntax error, and the policy would let it start. Nothing is executed."""
        report = self.check_code(code)
        return not report["syntax_errors"] and report.get("blocked") is None

    def check_code(self, code: Data) -> dict[str, Any]:
        """The report of static analysis (docs/ANALYSIS.md). Nothing is executed."""
        request = _native.Request(self.runtime, code)
        request.set_policy(self._policy())
        return self._get_engine().check(request)

    # ---- the session's files

    @property
    def workspace(self) -> Workspace:
        """The files that executions of this sandbox share."""
        if self._workspace is not None:
            return self._workspace
        with self._lock:
            if self._workspace is None:
                self._workspace = Workspace()
            return self._workspace

    @property
    def session_id(self) -> str:
        """The name by which `create_sandbox(session_id=...)` goes on with the same files, in this process."""
        return sessions.add(self.workspace)

    @property
    def workspace_path(self) -> Path:
        """Where they are on this machine."""
        return self.workspace.path

    def list_files(self) -> list[str]:
        """Every file of the session, relative to its workspace."""
        return self.workspace.list_files()

    def read_file(self, name: Union[str, os.PathLike[str]]) -> bytes:
        """The bytes of a file of the session."""
        return self.workspace.read_file(name)

    def write_file(self, name: Union[str, os.PathLike[str]], data: Data) -> None:
        """Makes or replaces a file of the session."""
        self.workspace.write_file(name, data)

    def delete(self, name: Union[str, os.PathLike[str]]) -> None:
        """Removes a file of the session."""
        self.workspace.delete(name)

    # ---- life

    def close(self) -> None:
        """Removes a temporary workspace. A closed sandbox runs nothing more."""
        self._closed = True
        if self._workspace is not None:
            self._workspace.close()

    def __enter__(self) -> BaseSandbox:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # ---- within

    def _get_engine(self) -> _native.Engine:
        return self._engine if self._engine is not None else _native.shared_engine()

    def _policy(self) -> _native.Policy:
        """Made anew when the policy's fields were changed."""
        fields = (self.policy.__dict__, self.policy.model_fields_set)
        if self._native_policy is None or self._native_policy[0] != fields:
            policy = _native.Policy()
            policy.load(json.dumps(self.policy.to_native(), ensure_ascii=False), "ExecutionPolicy")
            self._native_policy = (copy.deepcopy(fields), policy)
        return self._native_policy[1]

    def _setup(self, request: _native.Request) -> None:
        """What `inject_setup` adds; nothing, for most languages."""
        del request

    def _request(self, code: Data, inject_setup: bool, stdin: Optional[Data], args: Sequence[str],
                 files: Optional[Mapping[str, Data]]) -> _native.Request:
        if self._closed:
            raise SandboxExecutionError("the sandbox is closed", "make a new one with create_sandbox()")
        request = _native.Request(self.runtime, code)
        request.set_policy(self._policy())
        for word in [*self.policy.argv, *args]:
            request.add_argument(word)
        if stdin is not None:
            request.set_stdin(stdin)
        for name, data in (files or {}).items():
            self.workspace.write_file(name, data)
        self._add_mounts(request)
        if inject_setup:
            self._setup(request)
        return request

    def _add_mounts(self, request: _native.Request) -> None:
        policy = self.policy
        if policy.mount_data_dir and policy.guest_data_path:
            request.add_mount(policy.mount_data_dir, policy.guest_data_path, "ro")
        for mount in policy.additional_readonly_mounts:
            request.add_mount(mount.source, mount.target, "ro")
        if not self._collects(request):
            request.set("filesystem.workspace", str(self.workspace.path))
        if policy.guest_mount_path not in OWN_NAMES:
            request.add_mount(str(self.workspace.path), policy.guest_mount_path, "rw")

    def _collects(self, request: _native.Request) -> bool:
        """An empty workspace of ours need not be mounted, which would cost the warm start: what the first
        program leaves is copied into it afterwards. Those that come meanwhile get it mounted."""
        if self._place is not None or self.policy.guest_mount_path not in OWN_NAMES:
            return False
        with self.workspace.directory() as directory:
            if not is_empty(directory):
                return False
            with self._lock:
                request.collects, self._collecting = not self._collecting, True
            if request.collects:
                request.collect(directory)
        return request.collects

    def _run(self, request: _native.Request, hear: Optional[Callable[[Any], None]] = None) -> SandboxResult:
        self.logger.log_execution_start(self.runtime, self.policy)
        heard: Optional[_Security] = None
        if hear is not None or self.logger.is_heard(logging.WARNING):
            heard = _Security(self.logger, hear)
            request.on_event(heard, output=hear is not None)
        try:
            ran = self._get_engine().run(request)
        finally:
            if heard is not None:
                heard.close()
            if request.collects:
                self._collecting = False
        result = SandboxResult.from_run(ran, self.workspace.path)
        self.logger.log_execution_complete(result, self.runtime)
        return result


def _end(request: _native.Request, future: Future[Any]) -> None:
    """Ends a run, and waits until everything of it is gone. One that has not begun never does."""
    request.cancel()
    if not future.cancel():
        future.exception()


class _Security:
    """Passes events on, and those of security to the logger too.

    Events come on the thread that watches the program and keeps its limits, which must not wait: the logger, whose
    handlers may do what they like, is called on another one.
    """

    def __init__(self, logger: SandboxLogger, hear: Optional[Callable[[Any], None]]) -> None:
        self.logger = logger
        self.hear = hear
        self._untold: queue.SimpleQueue[Optional[tuple[str, Optional[str]]]] = queue.SimpleQueue()
        self._told: Optional[Future[None]] = None

    def __call__(self, event: Any) -> None:
        kind = _native.event_kind(event)
        if kind.startswith("security."):
            self._untold.put((kind, _native.event_text(event)))
            if self._told is None:
                self._told = Future()
                workers.submit(self._told, self._tell)
        if self.hear is not None:
            self.hear(event)

    def _tell(self) -> None:
        for kind, text in iter(self._untold.get, None):
            self.logger.log_security_event(kind, text)

    def close(self) -> None:
        """Waits until all is told; what a handler raised is its own matter, and ends nothing."""
        if self._told is not None:
            self._untold.put(None)
            self._told.exception()


def _leave() -> None:
    """What runs is ended and gone before workspaces are removed and the interpreter stops its threads."""
    _native.close_shared_engine()
    workers.drain(10)


weakref.finalize(workers, int)  # Its own handler, which removes workspaces, has to come after ours: last in, first out.
atexit.register(_leave)
