"""For LangChain."""

from __future__ import annotations

from typing import Any

from ..tool import arun_python_code, run_python_code


def python_tool() -> Any:
    """A StructuredTool; `ainvoke` holds up no event loop, and cancelling it ends the program."""
    from langchain_core.tools import StructuredTool

    return StructuredTool.from_function(run_python_code, coroutine=arun_python_code, parse_docstring=True)
