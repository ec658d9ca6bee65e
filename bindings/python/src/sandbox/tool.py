"""The tool to hand to an agent: code in, a short text out."""

from __future__ import annotations

from .base import BaseSandbox
from .factory import create_sandbox
from .models import ExecutionPolicy, RuntimeType, SandboxResult

TEXT_MAX = 8000  # characters: a model's context is dear
TIMEOUT_MAX = 300  # seconds, whatever the model asks for


def _short(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... {len(text) - most} characters left out ...\n{text[-half:]}"


def describe_result(result: SandboxResult) -> str:
    """A result for a model to read: what was printed, what went wrong, what can be done."""
    parts = []
    if result.stdout:
        parts.append(_short(result.stdout, TEXT_MAX).rstrip("\n"))
    if result.stderr:
        parts.append("stderr:\n" + _short(result.stderr, TEXT_MAX // 2).rstrip("\n"))
    if not result.success:
        parts.append(result.message or f"The program ended with exit code {result.exit_code}.")
    if result.files_created:
        parts.append(_short("files created: " + ", ".join(map(repr, result.files_created[:20])), 1000))
    return "\n".join(parts) or "(no output)"


def _sandbox(timeout: int) -> BaseSandbox:
    return create_sandbox(RuntimeType.PYTHON, ExecutionPolicy(timeout_seconds=min(max(timeout, 1), TIMEOUT_MAX)))


def run_python_code(code: str, timeout: int = 30) -> str:
    """Runs Python code in a sandbox without network and returns what it printed.

    Args:
        code: A whole Python program. Print what you want to see.
        timeout: Seconds after which it is ended, 300 at most.
    """
    with _sandbox(timeout) as sandbox:
        return describe_result(sandbox.execute(code))


async def arun_python_code(code: str, timeout: int = 30) -> str:
    """Runs Python code in a sandbox without network and returns what it printed.

    Args:
        code: A whole Python program. Print what you want to see.
        timeout: Seconds after which it is ended, 300 at most.
    """
    with _sandbox(timeout) as sandbox:
        return describe_result(await sandbox.aexecute(code))
