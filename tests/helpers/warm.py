"""A keeper for tests of warm starts."""

import json
import os
import pathlib
import re
import time

from helpers.processes import below, descendants, is_busy

ONE_NEST = (5, 24)  # Processes, and descriptors of the keeper's: one more may be ready than before.


class Keeper:
    """`sandbox keeper` of one user, and that user's commands, which borrow from it."""

    def __init__(self, sandbox, place, *flags):
        self.sandbox = sandbox
        self.socket = place / "keeper/keeper.sock"
        self.env = {"SANDBOX_KEEPER": str(self.socket)}
        self.socket.unlink(missing_ok=True)  # That of a keeper that was killed would be taken for this one's.
        self.process = sandbox.start("keeper", "--quiet", *flags, env=self.env)
        deadline = time.monotonic() + 60
        while not self.socket.exists() and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.01)
        if not self.socket.exists():
            self.process.kill()
            raise AssertionError(self.process.communicate())

    def run(self, code, *flags, language="python", after=(), until=None, **options):
        """The result. The flags name the program where `code` is None; with `until` it waits for lines: see `held_events`."""
        words = ["-l", language, *flags, *([] if code is None else ["-c", code]), *after]
        env = {**self.env, **options.pop("env", {})}
        if until:
            return self.sandbox.run_held(*words, until=until, env=env, **options)[-1]["result"]
        return self.sandbox.run_json(*words, env=env, **options)

    def interpreters(self, word="python"):
        """Those that are parked, and their copies that wait for a run."""
        found = [pid for pid, args in descendants(self.process.pid) if word in args]
        copies = [copy for pid in found for copy, _ in descendants(pid)]
        return [pid for pid in found if pid not in copies], copies

    def warm_up(self, *flags, language="python", wanted="fork"):
        """Runs until a run is warm: what was missed is built beside."""
        deadline = time.monotonic() + 120
        while self.run("", *flags, language=language)["metrics"]["warm"] != wanted:
            assert time.monotonic() < deadline, "nothing got warm"
            time.sleep(0.05)
        return self

    def warm(self, code, *flags, wanted="fork", **options):
        """A run that must be warm; a nest that is being built anew is waited for."""
        for _ in range(200):
            result = self.run(code, *flags, **options)
            if result["metrics"]["warm"] == wanted:
                return result
            time.sleep(0.05)
        raise AssertionError(f"never warm: {result}")

    def start_warm(self, code, *flags, word):
        """Starts a run that must be warm and returns it when it has said the word. One that found no interpreter ready is
        ended, and another started."""
        log = self.socket.parents[1] / "start.jsonl"
        for _ in range(200):
            log.unlink(missing_ok=True)
            # Without a buffer, so that nothing is lost to who reads on by other means.
            process = self.sandbox.start("run", "--log", str(log), *flags, "-l", "python", "-c", code, env=self.env, bufsize=0)
            while word not in (line := process.stdout.readline()):
                assert line, process.communicate()
            events = map(json.loads, log.read_bytes().splitlines())
            if any(event["attributes"].get("sandbox.slot") == "interpreter" for event in events):
                return process
            process.terminate()
            process.communicate()
            time.sleep(0.05)
        raise AssertionError("never warm")

    def settle(self):
        """Waits until nothing is built any more: the same processes, several looks long, none of which is at work."""
        seen = []
        deadline = time.monotonic() + 60
        while len(seen) < 10 or len(set(seen[-10:])) > 1:
            assert time.monotonic() < deadline, seen[-10:]
            pids = tuple(sorted(below(self.process.pid)))
            seen = [] if any(map(is_busy, (self.process.pid, *pids))) else [*seen, pids]
            time.sleep(0.02)

    def weigh(self):
        """Resident pages of the keeper and of each process that it keeps, and its descriptors."""
        pids = [self.process.pid, *below(self.process.pid)]
        return {pid: resident_pages(pid) for pid in pids}, len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def check_growth(self, code, *flags, runs=100, **options):
        """Asserts that many runs leave nothing, and that whatever lives through them takes no more memory."""
        for _ in range(20):
            self.run(code, *flags, **options)
        self.settle()
        before, descriptors_before = self.weigh()
        for _ in range(runs):
            self.run(code, *flags, **options)
        self.settle()
        after, descriptors = self.weigh()
        assert len(after) <= len(before) + ONE_NEST[0] and descriptors <= descriptors_before + ONE_NEST[1], (before, after)
        stayed = before.keys() & after.keys()
        assert self.process.pid in stayed
        grown = sum(after[pid] - before[pid] for pid in stayed)
        assert grown < runs, (before, after)  # less than a page a run

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


def lasting_keeper(program, name, kind=Keeper):
    """One for the tests of a file, in a folder of that name that belongs to the program's user."""
    place = program.directory / name
    place.mkdir(exist_ok=True)
    program.own(place)
    return kind(program, place)


def resident_pages(pid):
    """Exact, where statm is off by what each CPU has not told yet; none of a process that has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(re.search(r"^Rss: +(\d+) kB", text, re.M)[1]) // 4
