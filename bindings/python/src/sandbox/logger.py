"""Events of executions for whatever logger the application has. Nothing global is touched."""

from __future__ import annotations

import logging
from typing import Any, Optional

from .models import ExecutionPolicy, SandboxResult

PATHS_SHOWN = 20


class SandboxLogger:
    """Wraps a `logging.Logger` or a structlog logger; installs no handler and no formatter.

    Fields are given as `extra` to the one and as keywords to the other. Never code, input or values of
    environment variables.
    """

    def __init__(self, logger: Optional[Any] = None) -> None:
        self.logger = logger if logger is not None else logging.getLogger("sandbox")
        self._standard = isinstance(self.logger, (logging.Logger, logging.LoggerAdapter))

    def is_heard(self, level: int) -> bool:
        """Whether anybody listens. Where a standard logger has no handler, Python would print warnings itself."""
        return not self._standard or bool(self.logger.isEnabledFor(level) and self.logger.hasHandlers())

    def log(self, level: int, event: str, **fields: Any) -> None:
        """One event with its fields."""
        if not self.is_heard(level):
            return
        if self._standard:
            self.logger.log(level, "sandbox.%s", event, extra={"event": event, **fields})
        else:
            name = logging.getLevelName(level).lower()
            getattr(self.logger, name)(f"sandbox.{event}", sandbox_event=event, **fields)

    def log_execution_start(self, runtime: str, policy: ExecutionPolicy, **fields: Any) -> None:
        """Before a program is started."""
        if not self.is_heard(logging.INFO):
            return
        self.log(logging.INFO, "execution.start", runtime=str(runtime), policy=describe(policy), **fields)

    def log_execution_complete(self, result: SandboxResult, runtime: str, **fields: Any) -> None:
        """After it has ended, however it ended."""
        if not self.is_heard(logging.INFO):
            return
        self.log(
            logging.INFO, "execution.complete", runtime=str(runtime), success=result.success, status=result.status,
            exit_code=result.exit_code, duration_ms=result.duration_ms, fuel_consumed=result.fuel_consumed,
            memory_used_bytes=result.memory_used_bytes, backend=result.metadata.get("backend"),
            files_created_count=len(result.files_created), files_created=result.files_created[:PATHS_SHOWN],
            files_modified_count=len(result.files_modified), files_modified=result.files_modified[:PATHS_SHOWN],
            execution_id=result.metadata.get("id"), **fields)

    def log_security_event(self, kind: str, detail: Optional[str], **fields: Any) -> None:
        """An attempt that was refused, code that was blocked, analysis that was left out."""
        event = kind if kind.startswith("security.") else f"security.{kind}"
        self.log(logging.WARNING, event, detail=detail, **fields)


def describe(policy: ExecutionPolicy) -> dict[str, Any]:
    """The policy without what may be secret: of variables the names alone."""
    fields = policy.model_dump(exclude={"env", "argv"})
    return {**fields, "env": sorted(policy.env)}
