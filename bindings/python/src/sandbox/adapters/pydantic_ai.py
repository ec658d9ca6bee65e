"""For Pydantic AI."""

from __future__ import annotations

from typing import Any

from ..tool import run_python_code


def python_tool() -> Any:
    """A Tool."""
    from pydantic_ai import Tool

    return Tool(run_python_code)
