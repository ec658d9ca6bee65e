import asyncio
import doctest
import json

import pytest

import sandbox
from sandbox import SandboxResult, describe_result, run_python_code


def test_it_prints_what_the_program_printed():
    assert run_python_code("print(6 * 7)") == "42"
    assert run_python_code("pass") == "(no output)"


def test_what_went_wrong_is_a_sentence():
    assert "ZeroDivisionError" in run_python_code("1/0")
    assert run_python_code("while True: pass", timeout=1) == "Code execution timed out after 1s"
    assert "files created: 'a'" in run_python_code("open('a', 'w')")


def test_long_output_is_cut_in_the_middle():
    text = describe_result(SandboxResult(success=True, status="ok", stdout="a" * 50_000 + "end"))
    assert len(text) < 9000
    assert "left out" in text
    assert text.endswith("end")


def test_the_package_documents_itself():
    assert doctest.testmod(sandbox).failed == 0
    assert set(sandbox.__all__) <= set(dir(sandbox))
    assert sandbox.library_version().count(".") == 2


def test_langchain():
    pytest.importorskip("langchain_core")
    from sandbox.adapters.langchain import python_tool
    tool = python_tool()
    assert tool.name == "run_python_code"
    assert "code" in tool.args
    assert tool.invoke({"code": "print(1 + 1)"}) == "2"


def test_openai_agents():
    pytest.importorskip("agents")
    from agents.tool_context import ToolContext

    from sandbox.adapters.openai_agents import python_tool
    tool = python_tool()
    assert set(tool.params_json_schema["properties"]) == {"code", "timeout"}
    arguments = json.dumps({"code": "print(1 + 1)", "timeout": 10})
    context = ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=arguments)
    assert asyncio.run(tool.on_invoke_tool(context, arguments)) == "2"


def test_pydantic_ai():
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from sandbox.adapters.pydantic_ai import python_tool
    agent = Agent(TestModel(), tools=[python_tool()])
    answer = agent.run_sync("compute").output
    assert "run_python_code" in answer
