"""Speaks to `sandbox mcp` with the official Python client and prints what it got, as JSON.

    python_client.py MODE PROGRAM
"""

import json
import sys

import anyio
from mcp import StdioServerParameters
from mcp.client import Client


EVERY_OTHER_TOOL = [
    ("run_python_code", {"python_code": "1"}), ("execute_code", {"code": "echo", "language": "bash"}),
    ("check_code", {"code": "1", "language": "python"}), ("list_languages", {}), ("list_sessions", {}),
    ("get_limits", {}), ("history", {}),
    ("create_session", {"session_id": "t"}), ("write_file", {"session_id": "t", "path": "g", "content": "x"}),
    ("read_file", {"session_id": "t", "path": "g"}), ("list_files", {"session_id": "t"}), ("reset_session", {"session_id": "t"}), ("destroy_session", {"session_id": "t"}),
]


async def main():
    mode, program = sys.argv[1:]
    told, heard = {}, []

    async def hear(progress, total, message):
        heard.append(message)

    async with Client(StdioServerParameters(command=program, args=["mcp"]), mode=mode) as client:
        told["version"] = client.protocol_version
        told["tools"] = sorted(tool.name for tool in (await client.list_tools()).tools)
        await client.call_tool("create_session", {"session_id": "s"})
        await client.call_tool("run_code", {"session_id": "s", "code": "x = 6\nopen('f.txt', 'w').write('hi')"})
        ran = await client.call_tool("run_code", {"session_id": "s", "code": "print('partial', flush=True)\nx * 7"},
                                     progress_callback=hear)
        told["ran"] = ran.structured_content["stdout"]
        for tool, arguments in EVERY_OTHER_TOOL:  # The client holds each result against the schema.
            assert (await client.call_tool(tool, arguments)).structured_content is not None, tool
        told["error"] = (await client.call_tool("run_code", {"language": "python", "code": "1 / 0"})).is_error
        told["resources"] = [str(one.uri) for one in (await client.list_resources()).resources]
        told["text"] = (await client.read_resource("sandbox://session/s/f.txt")).contents[0].text
        try:
            await client.call_tool("no_such_tool", {})
        except Exception as error:
            told["unknown"] = str(error)
        with anyio.move_on_after(0.5):
            await client.call_tool("run_code", {"language": "bash", "code": "sleep 60"})
        told["after"] = (await client.call_tool("run_code", {"language": "bash", "code": "echo here"})).structured_content["stdout"]
    told["progress"] = [message for message in heard if message]
    print(json.dumps(told))


anyio.run(main)
