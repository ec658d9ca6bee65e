"""Many runs on the wasm backend: ended at random moments, and one after another without growth.

`make test-wasm` ends a thousand; `make soak` has ten thousand warm runs.
"""

import os
import random

import pytest

from helpers.program import wasm_parts
from helpers.warm import Keeper

pytestmark = pytest.mark.skipif(wasm_parts() is None, reason="the wasm backend is not built: make wasm")

ROUNDS = 500 if os.environ.get("SANDBOX_WASM_ALL") else 20  # each as root and as an ordinary user

BUSY = """
import time, os
while True:
    open("file", "w").write("x" * 1000)
    os.unlink("file")
    sum(range(1000))
    time.sleep(0.0001)
    print("line")
"""


def test_ended_at_random_moments(sandbox, no_leftovers):
    """Always a timeout, and nothing is left."""
    chosen = random.Random(7)
    for _ in range(ROUNDS):
        result = sandbox.run_json("--backend", "wasm", "-l", "python", "--timeout", f"{chosen.randrange(1, 120)}ms", "--fuel",
                                  "999999999999999", "-c", BUSY)
        assert result["status"] == "timeout", result


def test_many_runs_use_the_same(sandbox, no_leftovers):
    seen = {(result["fuel_consumed"], result["memory_used"], result["stdout"])
            for result in (sandbox.run_json("--backend", "wasm", "-l", "python", "-c", "print(sum(range(1000)))")
                           for _ in range(ROUNDS // 2))}
    assert len(seen) == 1


def test_many_warm_runs_leave_nothing_and_take_no_more_memory(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place).warm_up("--backend", "wasm")
    try:
        keeper.check_growth("print(1)", "--backend", "wasm", runs=60)
    finally:
        keeper.stop()
