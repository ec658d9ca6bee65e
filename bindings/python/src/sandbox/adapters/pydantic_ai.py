"""For Pydantic AI."""

from __future__ import annotations

from typing import Any

from ..tool import arun_python_code


def python_tool() -> Any:
    """A Tool. It holds up no event loop, and cancelling the agent's task ends the program."""
    from pydantic_ai import Tool

    return Tool(arun_python_code, name="run_python_code")
