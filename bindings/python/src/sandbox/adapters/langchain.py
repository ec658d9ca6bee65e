"""For LangChain."""

from __future__ import annotations

from typing import Any

from ..tool import run_python_code


def python_tool() -> Any:
    """A StructuredTool."""
    from langchain_core.tools import StructuredTool

    return StructuredTool.from_function(run_python_code, parse_docstring=True)
