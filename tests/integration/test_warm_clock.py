"""The clock is set while interpreters wait and programs run: nothing counts by it.

Everybody on a machine has the same clock, so these run where it is nobody else's: in the virtual machine of tests/vm.
"""

import os
import subprocess
import time

import pytest

from helpers.warm import Keeper, lasting_keeper

pytestmark = pytest.mark.skipif(not os.environ.get("SANDBOX_TEST_SETS_CLOCK"), reason="the clock belongs to others, too")

DAY = 86400
JUMPS = {"a day ahead": DAY, "a day back": -DAY, "ten years ahead": 3650 * DAY}


@pytest.fixture
def jump():
    real, monotonic = time.time(), time.monotonic()

    def now(offset):
        time.clock_settime(time.CLOCK_REALTIME, real + (time.monotonic() - monotonic) + offset)

    yield now
    now(0)


@pytest.fixture(scope="module")
def keeper(session_program):
    keeper = lasting_keeper(session_program, "clock")
    yield keeper.warm_up()
    keeper.stop()


def is_sane(result):
    return 0 <= result["execution_time"] < 600 and 0 <= result["cpu_time"] < 600


@pytest.mark.parametrize("name", JUMPS)
def test_what_waits_is_used_after_it(keeper, jump, name):
    keeper.settle()
    jump(JUMPS[name])
    result = keeper.warm("import time; print(int(time.time()))")
    assert result["status"] == "ok" and is_sane(result), result
    assert abs(int(result["stdout"]) - time.time()) < 600, result
    assert keeper.process.poll() is None


@pytest.mark.parametrize("name", JUMPS)
def test_a_program_that_runs_meanwhile_keeps_its_time(keeper, sandbox, jump, name):
    running = sandbox.start("run", "--json", "-l", "python", "-t", "300s", "--stdin", "-", "-c",
                            "import sys; sys.stderr.write('go\\n'); sys.stderr.flush(); print(input())", env=keeper.env,
                            stdin=subprocess.PIPE)
    keeper.warm("1")  # By now it may run, or still be starting: both are well.
    jump(JUMPS[name])
    stdout, stderr = running.communicate(b"end\n", timeout=200)
    assert running.returncode == 0 and b'"stdout": "end\\n"' in stdout, (stdout, stderr)


@pytest.mark.parametrize("name", JUMPS)
def test_a_limit_of_time_holds_all_the_same(keeper, jump, name):
    jump(JUMPS[name])
    result = keeper.warm("import time; time.sleep(500)", "-t", "1s")
    assert result["status"] == "timeout" and is_sane(result), result


@pytest.mark.parametrize("name", JUMPS)
def test_an_idle_keeper_ends_after_its_own_time(sandbox, place, no_leftovers, jump, name):
    keeper = Keeper(sandbox, place, "--idle", "300s")
    try:
        keeper.warm_up()
        jump(JUMPS[name])
        assert keeper.warm("print(1)")["stdout"] == "1\n"
        assert keeper.process.poll() is None
    finally:
        keeper.stop()
