"""What the package adds to the C library's own time: `sb.execute` against the same calls by hand, in turns.

    python bindings/python/bench/overhead.py [PAIRS]

Both run the same program warm, on the same engine, under the same policy. Each pair takes the one and the other, in
changing order, so that what else the machine does meets both; the figures are medians of all pairs. On a busy machine
the CPU time says more: it has no waiting for others in it.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Callable

from sandbox._ffi import ffi, lib

from sandbox import _native, create_sandbox

CODE = b"print(1)"
WARM_UP = 50


def by_hand(engine: _native.Engine, policy: _native.Policy) -> None:
    """The library alone: request, run, output, and all of it freed."""
    err = ffi.new("sbx_error **")
    request = lib.sbx_request_new(b"python", ffi.NULL)
    lib.sbx_request_set_code(request, CODE, len(CODE), err)
    lib.sbx_request_set_policy(request, policy.pointer, err)
    lib.sbx_request_set(request, b"env.PYTHONPATH", b"/workspace:/workspace/site-packages", err)
    result = lib.sbx_run(engine.pointer, request, err)
    length = ffi.new("size_t *")
    assert ffi.string(lib.sbx_result_stdout(result, length)) == b"1\n"
    lib.sbx_result_free(result)
    lib.sbx_request_free(request)


def milliseconds(function: Callable[[], None]) -> tuple[float, float]:
    """How long one call takes, and how much of the CPU this process uses for it."""
    begun, used = time.perf_counter(), time.process_time()
    function()
    return (time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000


def main() -> None:
    """Prints the figures."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with create_sandbox() as sandbox:
        engine, policy = _native.shared_engine(), sandbox._policy()

        def through_package() -> None:
            assert sandbox.execute("print(1)").stdout == "1\n"

        def alone() -> None:
            by_hand(engine, policy)

        for _ in range(WARM_UP):
            through_package()
            alone()
        told, bare = [], []
        for number in range(pairs):
            order = (through_package, alone) if number % 2 else (alone, through_package)
            took = {function: milliseconds(function) for function in order}
            told.append(took[through_package])
            bare.append(took[alone])
    print(f"{pairs} pairs")
    for place, what in enumerate(("time", "CPU time")):
        package, library = ([one[place] for one in all_of] for all_of in (told, bare))
        added = statistics.median(one - other for one, other in zip(package, library))
        print(f"{what}: sb.execute {statistics.median(package):.3f} ms, the library alone "
              f"{statistics.median(library):.3f} ms, added {added:.3f} ms")


if __name__ == "__main__":
    main()
