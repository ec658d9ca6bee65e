"""One class per language."""

from __future__ import annotations

from typing import Any, Union

from . import _native
from .base import BaseSandbox
from .models import RuntimeType


class PythonSandbox(BaseSandbox):
    """Python programs. Packages that lie in `site-packages` of the workspace can be imported."""

    runtime = RuntimeType.PYTHON.value

    def _setup(self, request: _native.Request) -> None:
        paths = ["/workspace", "/workspace/site-packages"]
        if self.policy.guest_data_path and self.policy.mount_data_dir:
            paths.append(self.policy.guest_data_path.rstrip("/") + "/site-packages")
        request.set("env.PYTHONPATH", self.policy.env.get("PYTHONPATH", ":".join(paths)))


class JavaScriptSandbox(BaseSandbox):
    """JavaScript programs."""

    runtime = RuntimeType.JAVASCRIPT.value


class LanguageSandbox(BaseSandbox):
    """Programs of any language that the library knows, those of the user's own language files too."""

    def __init__(self, runtime: Union[RuntimeType, str], **options: Any) -> None:
        super().__init__(**options)
        self._runtime = str(runtime)

    @property
    def runtime(self) -> str:
        """The language."""
        return self._runtime
