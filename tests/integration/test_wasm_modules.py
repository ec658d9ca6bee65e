"""Modules of the user's on the wasm backend: what they may import, how they end, what is no module.

Skipped where the engine was not built (`make wasm`).
"""

import random

import pytest

from helpers import wasm
from helpers.program import wasm_parts

pytestmark = pytest.mark.skipif(wasm_parts() is None, reason="the wasm backend is not built: make wasm")


@pytest.fixture
def run(sandbox, place):
    """Runs the bytes as a file NAME.wasm; the backend is found by that alone."""
    def run_bytes(code, *options, arguments=()):
        path = place / "program.wasm"
        path.write_bytes(code)
        return sandbox.run_json(*options, str(path), "--", *arguments)
    return run_bytes


def test_module_prints_and_exits(run):
    result = run(wasm.printing(b"hello\n", code=7))
    assert result["language"] == "wasm" and result["backend"] == "wasm"
    assert result["stdout"] == "hello\n" and result["exit_code"] == 7 and result["status"] == "failed"
    assert result["fuel_consumed"] > 0


def test_fuel_of_a_module_is_the_same_each_time(run):
    assert len({run(wasm.printing(b"x"))["fuel_consumed"] for _ in range(3)}) == 1


def test_endless_module_uses_up_its_fuel(run):
    result = run(wasm.module(wasm.LOOP_FOREVER), "--fuel", "1000000")
    assert result["status"] == "fuel_exhausted" and result["_exit"] == 124


def test_endless_module_meets_the_wall_time(run):
    result = run(wasm.module(wasm.LOOP_FOREVER), "--fuel", "9000000000000000000", "--timeout", "300ms")
    assert result["status"] == "timeout"


def test_trap_is_a_failure_that_says_why(run):
    result = run(wasm.module(wasm.UNREACHABLE))
    assert result["status"] == "failed" and result["exit_code"] == 134
    assert "unreachable" in result["stderr"]


def test_endless_recursion_is_a_trap(run):
    result = run(wasm.module(wasm.call(0)))
    assert result["exit_code"] == 134 and "call stack exhausted" in result["stderr"]


def test_access_beyond_its_memory_is_a_trap(run):
    load = wasm.const(-4) + b"\x28\x02\x00\x1a"
    result = run(wasm.module(load))
    assert result["exit_code"] == 134 and "out of bounds" in result["stderr"]


@pytest.mark.parametrize("module, name", [("env", "system"), (wasm.WASI, "sock_connect"), ("wasi_unstable", "fd_write")])
def test_import_that_is_not_given_is_named(run, module, name):
    result = run(wasm.module(wasm.call(0), imports=[(module, name, [], [])]))
    assert result["status"] == "compile_error" and not result["success"]
    assert module in result["message"] and name in result["message"]


def test_import_of_another_shape_is_named(run):
    result = run(wasm.module(b"", imports=[(wasm.WASI, "fd_write", [wasm.I32], [])]))
    assert result["status"] == "compile_error" and "fd_write" in result["message"]


def test_module_without_a_start(run):
    result = run(wasm.module(b"", entry="helper"))
    assert result["status"] == "compile_error" and "_start" in result["message"]


def test_memory_larger_than_allowed(run):
    result = run(wasm.module(b"", pages=2048), "--memory", "64M")
    assert result["status"] == "memory_limit"


def test_growth_stops_at_the_limit(run):
    """memory.grow answers -1 beyond it; the module exits with that answer's lowest byte."""
    grow = wasm.const(2048) + b"\x40\x00" + wasm.call(0)
    result = run(wasm.module(grow, imports=[wasm.PROC_EXIT]), "--memory", "64M")
    assert result["exit_code"] == 255 and result["memory_used"] == 65536


def test_table_larger_than_allowed(run):
    """Nor does it grow beyond: table.grow answers -1, and the module exits with that answer's lowest byte."""
    made = wasm.sections(b"")
    made[wasm.TABLE] = wasm.vector([b"\x70\0" + wasm.number(1 << 21)])
    assert run(wasm.join(made))["status"] == "compile_error"
    grow = b"\xd0\x70" + wasm.const(1 << 21) + b"\xfc\x0f\x00" + wasm.call(0)
    made = wasm.sections(grow, imports=[wasm.PROC_EXIT])
    made[wasm.TABLE] = wasm.vector([b"\x70\0" + wasm.number(4)])
    assert run(wasm.join(made))["exit_code"] == 255


def test_pointers_outside_of_its_memory_are_errors(run):
    """Every function of WASI with the wildest numbers: an errno, never more."""
    names = ["args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "random_get", "fd_prestat_get",
             "fd_fdstat_get", "fd_filestat_get", "clock_res_get"]
    for name in names:
        for first, second in ((-1, -1), (0x7FFFFFFF, -4), (0, -1), (3, -8), (-1, 0x7FFFFFFF)):
            body = wasm.const(first) + wasm.const(second) + wasm.call(0) + wasm.call(1)
            code = wasm.module(body, imports=[(wasm.WASI, name, [wasm.I32] * 2, [wasm.I32]), wasm.PROC_EXIT])
            result = run(code)
            assert result["status"] in ("ok", "failed") and result["signal"] is None, (name, first, second, result)


def test_lists_outside_of_its_memory_are_errors(run):
    for name in ("fd_write", "fd_read", "poll_oneoff"):
        for numbers in ((1, -8, 1, 0), (0, 0, -1, 0), (1, 65528, 2, 0), (0, 0, 1, -1), (-1, -1, -1, -1)):
            body = b"".join(map(wasm.const, numbers)) + wasm.call(0) + wasm.call(1)
            code = wasm.module(body, imports=[(wasm.WASI, name, [wasm.I32] * 4, [wasm.I32]), wasm.PROC_EXIT])
            result = run(code)
            assert result["status"] in ("ok", "failed") and result["signal"] is None, (name, numbers, result)


def test_flood_of_host_calls_meets_the_time_limit(run):
    flood = b"\x03\x40" + wasm.const(0) + wasm.const(60000) + wasm.call(0) + b"\x1a\x0c\x00\x0b"
    code = wasm.module(flood, imports=[(wasm.WASI, "random_get", [wasm.I32] * 2, [wasm.I32])])
    result = run(code, "--fuel", "9000000000000000000", "--cpu-time", "300ms")
    assert result["status"] == "cpu_limit"


NO_MODULES = {
    "nothing": b"", "text": b"print(1)", "cut magic": b"\0as", "magic alone": b"\0asm",
    "version 2": b"\0asm\2\0\0\0", "component": b"\0asm\x0d\0\1\0", "length beyond the end": b"\0asm\1\0\0\0\1\xff\xff\xff\xff\x0f",
    "section twice": b"\0asm\1\0\0\0" + wasm.section(wasm.TYPE, b"\0") * 2, "unknown section": b"\0asm\1\0\0\0\x63\0",
}


@pytest.mark.parametrize("name", NO_MODULES)
def test_what_is_no_module(run, name):
    result = run(NO_MODULES[name])
    assert result["status"] in ("compile_error", "ok", "failed") and result["status"] != "internal_error"
    assert not result["success"] and result["_exit"] == 1, result["message"]


@pytest.mark.parametrize("kind", wasm.ORDER)
def test_malformed_sections(run, kind):
    """Each kind of section cut, and with bytes of it changed: refused or run, and never more than that."""
    chosen = random.Random(kind)
    made = wasm.every_section(wasm.call(0) + wasm.UNREACHABLE, imports=[(wasm.WASI, "sched_yield", [], [wasm.I32])], data=b"x")
    made[wasm.CODE] = made[wasm.CODE].replace(wasm.call(0), wasm.call(0) + b"\x1a")
    for _ in range(5):
        body = bytearray(made[kind])
        if chosen.random() < 0.3:
            del body[chosen.randrange(len(body)):]
        else:
            body[chosen.randrange(len(body))] = chosen.randrange(256)
        result = run(wasm.join({**made, kind: bytes(body)}), "--fuel", "1000000")
        assert result["status"] in ("compile_error", "failed", "fuel_exhausted", "memory_limit"), (body, result)
        assert result["signal"] is None


def test_module_with_every_section_runs(run):
    """What the malformed ones are made from is well."""
    result = run(wasm.join(wasm.every_section(b"")))
    assert result["status"] == "ok", result


# ---- what a module does before it is called


def test_trap_before_the_call_is_an_end_of_the_program(run):
    result = run(wasm.module(wasm.UNREACHABLE, start=True))
    assert result["status"] == "failed" and result["exit_code"] == 134
    assert "unreachable" in result["stderr"] and result["fuel_consumed"] > 0


def test_fuel_and_exit_before_the_call(run):
    endless = run(wasm.module(wasm.LOOP_FOREVER, start=True), "--fuel", "100000")
    assert endless["status"] == "fuel_exhausted" and endless["fuel_consumed"] == 100000
    left = run(wasm.module(wasm.const(3) + wasm.call(0), imports=[wasm.PROC_EXIT], start=True))
    assert left["status"] == "failed" and left["exit_code"] == 3
