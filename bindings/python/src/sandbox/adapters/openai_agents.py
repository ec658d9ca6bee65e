"""For the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from ..tool import run_python_code


def python_tool() -> Any:
    """A FunctionTool."""
    from agents import function_tool

    return function_tool(run_python_code)
