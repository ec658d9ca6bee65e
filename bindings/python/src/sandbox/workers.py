"""Threads that wait for programs, so that the caller's thread stays free for asyncio and for events."""

from __future__ import annotations

import os
import queue
import threading
from concurrent.futures import Future
from typing import Any, Callable

Task = Callable[[], None]


class _Worker(threading.Thread):
    def __init__(self, on_rest: Callable[[_Worker], None]) -> None:
        super().__init__(name="sandbox-worker", daemon=True)
        self.tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.on_rest = on_rest
        self.start()

    def run(self) -> None:
        while True:
            task = self.tasks.get()
            task()
            del task
            self.on_rest(self)


def _fill(future: Future[Any], function: Callable[[], Any]) -> None:
    try:
        value = function() if future.set_running_or_notify_cancel() else None
    except BaseException as error:
        future.set_exception(error)
    else:
        if not future.cancelled():
            future.set_result(value)


class Workers:
    """As many as there are programs at once; those without one wait for the next."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a copy made by fork() there are no threads."""
        self._idle: list[_Worker] = []
        self._busy = 0
        self._changed = threading.Condition()

    def submit(self, future: Future[Any], function: Callable[[], Any]) -> None:
        """Calls `function` on another thread; `future` gets what it returns."""
        self.start(lambda: _fill(future, function))

    def start(self, task: Task) -> None:
        """Calls `task`, which raises nothing, on another thread."""
        with self._changed:
            self._busy += 1
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = _Worker(self._rest)
        worker.tasks.put(task)

    def drain(self, seconds: float) -> None:
        """Waits until all have nothing to do: a thread that the interpreter's end stops never finishes."""
        with self._changed:
            self._changed.wait_for(lambda: self._busy == 0, timeout=seconds)

    def _rest(self, worker: _Worker) -> None:
        with self._changed:
            self._idle.append(worker)
            self._busy -= 1
            self._changed.notify_all()


workers = Workers()
os.register_at_fork(after_in_child=workers.forget)
