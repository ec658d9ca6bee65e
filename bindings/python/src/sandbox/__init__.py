"""Run untrusted code, contained: typed, validated, in-process.

>>> from sandbox import create_sandbox, ExecutionPolicy, RuntimeType
>>> sb = create_sandbox(runtime=RuntimeType.PYTHON, policy=ExecutionPolicy(timeout_seconds=5))
>>> sb.execute("print(6 * 7)").stdout
'42\\n'
"""

from ._native import version as library_version
from .base import BaseSandbox
from .errors import PolicyValidationError, SandboxError, SandboxExecutionError
from .events import Completed, Event, Notice, Output, Started, Usage
from .factory import create_sandbox
from .logger import SandboxLogger
from .models import ExecutionPolicy, ReadOnlyMount, RuntimeType, SandboxResult
from .policies import load_policy
from .runtimes import JavaScriptSandbox, LanguageSandbox, PythonSandbox
from .tool import arun_python_code, describe_result, run_python_code
from .workspace import Workspace

__version__ = "0.1.0"
__all__ = [
    "BaseSandbox",
    "Completed",
    "Event",
    "ExecutionPolicy",
    "JavaScriptSandbox",
    "LanguageSandbox",
    "Notice",
    "Output",
    "PolicyValidationError",
    "PythonSandbox",
    "ReadOnlyMount",
    "RuntimeType",
    "SandboxError",
    "SandboxExecutionError",
    "SandboxLogger",
    "SandboxResult",
    "Started",
    "Usage",
    "Workspace",
    "arun_python_code",
    "create_sandbox",
    "describe_result",
    "library_version",
    "load_policy",
    "run_python_code",
]
