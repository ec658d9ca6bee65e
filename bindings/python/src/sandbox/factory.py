"""The way in."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

from . import _native
from .base import BaseSandbox
from .errors import SandboxExecutionError
from .logger import SandboxLogger
from .models import ExecutionPolicy, RuntimeType
from .runtimes import JavaScriptSandbox, LanguageSandbox, PythonSandbox

_CLASSES = {RuntimeType.PYTHON.value: PythonSandbox, RuntimeType.JAVASCRIPT.value: JavaScriptSandbox}


def _known(engine: _native.Engine, runtime: str) -> str:
    languages = {language["name"]: language for language in engine.languages()}
    language = languages.get(runtime)
    if language is None:
        raise ValueError(f"unknown runtime '{runtime}'; there are: {', '.join(sorted(languages))}")
    if language["status"] != "ready":
        raise SandboxExecutionError(f"'{runtime}' cannot run here: {language['status']}",
                                    language.get("hint") or "see 'sandbox languages'")
    return runtime


def create_sandbox(runtime: Union[RuntimeType, str] = RuntimeType.PYTHON, policy: Optional[ExecutionPolicy] = None,
                   workspace: Optional[Union[str, os.PathLike[str]]] = None,
                   logger: Optional[Union[SandboxLogger, Any]] = None, backend: str = "auto",
                   session_id: Optional[str] = None, **kwargs: Any) -> BaseSandbox:
    """A sandbox for programs of one language.

    `workspace` is a directory that persists; without it the sandbox has a temporary one, or goes on with that of
    another sandbox of this process whose `session_id` is given. `logger` is a SandboxLogger, or any logger for one.
    Further keywords are fields of ExecutionPolicy.
    """
    policy = policy.model_copy(deep=True) if policy is not None else ExecutionPolicy()
    for field, value in {**({"backend": backend} if backend != "auto" else {}), **kwargs}.items():
        setattr(policy, field, value)
    name = runtime.value if isinstance(runtime, RuntimeType) else str(runtime).lower()
    name = _known(_native.shared_engine(), name)
    if logger is not None and not isinstance(logger, SandboxLogger):
        logger = SandboxLogger(logger)
    options: dict[str, Any] = {"policy": policy, "workspace": workspace, "logger": logger,
                               "session_id": session_id}
    made = _CLASSES.get(name)
    return made(**options) if made is not None else LanguageSandbox(name, **options)
