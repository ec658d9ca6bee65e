"""A keeper that is killed at any moment takes its runs along, leaves nothing, and the next call works."""

import random
import signal
import time

from helpers import leftovers
from helpers.warm import Keeper
from helpers.program import SLOWNESS

ROUNDS = 25  # for each user
DEADLINE = 40 * SLOWNESS
STAYS = "import os, time\nif os.fork() == 0: os.setsid()\nopen('file', 'w').write('x' * 4096); time.sleep(300)"
PASSES = "print(6 * 7)"
LONGEST_LIFE = 0.4  # Seconds after the commands have started: past their end, for those that end.


def test_a_keeper_killed_at_any_moment_is_missed_by_nobody(sandbox, place, no_leftovers):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(ROUNDS):
        before = leftovers.snapshot()
        keeper = Keeper(sandbox, place)
        if number % 5:  # the others are killed while everything is still being built
            keeper.warm_up()
        stays = [sandbox.start("run", "-l", "python", "-c", STAYS, env=keeper.env) for _ in range(2)]
        passes = [sandbox.start("run", "-l", "python", "-c", PASSES, env=keeper.env) for _ in range(3)]
        time.sleep(chance.uniform(0, LONGEST_LIFE))
        keeper.process.kill()
        keeper.stop()
        for process in passes:
            out, err = process.communicate(timeout=DEADLINE)
            told = (process.returncode, out, err)
            assert told[:2] == (0, b"42\n") or (told[0] == 125 and b"ended from outside" in err), (seed, number, told)
        for process in stays:  # those that had not got a nest yet run by themselves
            process.terminate()
            out, err = process.communicate(timeout=DEADLINE)
            # A signal that comes when all is over, and only the report is left to write, ends it as it would others.
            assert process.returncode in (125, 143, -signal.SIGTERM), (seed, number, process.returncode, err)
        assert keeper.run(PASSES)["stdout"] == "42\n", (seed, number)
        left = leftovers.leftovers(before)
        assert not left, (seed, number, left)
