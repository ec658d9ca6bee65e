"""What happens while a program runs, as `BaseSandbox.stream` yields it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _native
from .models import SandboxResult


@dataclass(frozen=True)
class Started:
    """The program is about to start."""

    time: float
    language: Optional[str]


@dataclass(frozen=True)
class Output:
    """Bytes that the program wrote; `stream` is "stdout" or "stderr"."""

    time: float
    stream: str
    data: bytes

    @property
    def text(self) -> str:
        """The bytes as text; a character cut in two is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Usage:
    """What the program uses now."""

    time: float
    cpu_time: float
    cpu_percent: float
    memory: int
    memory_peak: int
    processes: int


@dataclass(frozen=True)
class Notice:
    """A warning, a violation, a limit: `kind` is the event's name (docs/EVENTS.md)."""

    time: float
    kind: str
    detail: Optional[str]


@dataclass(frozen=True)
class Completed:
    """The last event: the result."""

    result: SandboxResult


Event = Union[Started, Output, Usage, Notice, Completed]


def from_native(event: Any) -> Optional[Event]:
    """The library's event; None for the end, which comes with the result."""
    kind = _native.event_kind(event)
    if kind in ("stdout", "stderr"):
        return Output(event.time, kind, _native.event_bytes(event))
    if kind == "usage":
        return Usage(event.time, event.cpu_time, event.cpu_percent, event.memory, event.memory_peak, event.processes)
    if kind == "execution.complete":
        return None
    if kind == "execution.start":
        return Started(event.time, _native.event_text(event))
    return Notice(event.time, kind, _native.event_text(event))
