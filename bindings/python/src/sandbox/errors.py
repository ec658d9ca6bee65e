"""What can go wrong that is not the program's doing."""

from __future__ import annotations

from typing import Any, Optional

from pydantic import ValidationError


class SandboxError(Exception):
    """The root of all errors of this package."""


class PolicyValidationError(SandboxError, ValueError):
    """A policy that cannot be; the text names each field and what is wrong with it."""

    def __init__(self, message: str, errors: Optional[list[dict[str, Any]]] = None) -> None:
        super().__init__(message)
        self.errors = errors or []

    @classmethod
    def from_pydantic(cls, error: ValidationError) -> PolicyValidationError:
        """One line per field."""
        details: list[dict[str, Any]] = [dict(item) for item in error.errors(include_url=False, include_context=False)]
        lines = [f"{'.'.join(str(part) for part in item['loc']) or 'policy'}: {item['msg']}" for item in details]
        return cls("invalid policy: " + "; ".join(lines), details)


class SandboxExecutionError(SandboxError):
    """Nothing was run, or what ran could not be told: the sandbox failed, not the program."""

    def __init__(self, message: str, hint: Optional[str] = None, code: int = 0) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint
        self.code = code
