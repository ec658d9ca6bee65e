"""For the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from ..tool import arun_python_code


def python_tool() -> Any:
    """A FunctionTool. It holds up no event loop, and cancelling the agent's task ends the program."""
    from agents import function_tool

    return function_tool(arun_python_code, name_override="run_python_code")
