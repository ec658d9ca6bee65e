import asyncio
import doctest
import json

import pytest

import sandbox
from sandbox import SandboxResult, _native, arun_python_code, describe_result, run_python_code


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


def is_running():
    """Whether anything runs on the engine that all sandboxes share."""
    return bool(_native.shared_engine()._running)


async def start_and_cancel(call):
    """The loop stays free while the program runs, and when the task is cancelled the program is gone."""
    task = asyncio.ensure_future(call)
    while not is_running():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running()


FOREVER = {"code": "while True: pass", "timeout": 60}


def test_the_same_for_asyncio():
    assert asyncio.run(arun_python_code("print(6 * 7)")) == "42"
    asyncio.run(start_and_cancel(arun_python_code(**FOREVER)))


def test_langchain():
    pytest.importorskip("langchain_core")
    from sandbox.adapters.langchain import python_tool
    tool = python_tool()
    assert asyncio.run(tool.ainvoke({"code": "print(1 + 1)"})) == "2"
    asyncio.run(start_and_cancel(tool.ainvoke(FOREVER)))
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
    assert tool.name == "run_python_code"
    assert asyncio.run(tool.on_invoke_tool(context, arguments)) == "2"
    forever = json.dumps(FOREVER)
    context = ToolContext(context=None, tool_name=tool.name, tool_call_id="2", tool_arguments=forever)
    asyncio.run(start_and_cancel(tool.on_invoke_tool(context, forever)))


def test_pydantic_ai():
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from sandbox.adapters.pydantic_ai import python_tool
    agent = Agent(TestModel(), tools=[python_tool()])
    answer = agent.run_sync("compute").output
    assert "run_python_code" in answer
    asyncio.run(start_and_cancel(python_tool().function(**FOREVER)))
