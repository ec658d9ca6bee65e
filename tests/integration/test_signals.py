"""Signals to the program itself: it stops the run, cleans up and says which; SIGKILL leaves nothing either."""

import os
import random
import signal
import subprocess
import time

import pytest

from helpers import leftovers, processes

LONG = "echo started; trap '' TERM; (setsid sleep 60 &) ; sleep 60 & sleep 60"


def started(sandbox, *flags, code=LONG):
    """A long run that has begun: the program has written its first line."""
    process = sandbox.start("run", *flags, "-l", "shell", "-t", "120s", "-c", code)
    assert process.stdout.readline() == b"started\n"
    return process


@pytest.mark.parametrize("number, exit_code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_run_and_cleans_up(sandbox, no_leftovers, number, exit_code):
    process = started(sandbox)
    process.send_signal(number)
    process.communicate(timeout=45)
    assert process.returncode == exit_code


def test_a_signal_to_the_whole_group_does_the_same(sandbox, no_leftovers):
    process = started(sandbox)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=45)
    assert process.returncode == 130


def test_a_cancelled_run_still_gives_its_json(sandbox, no_leftovers, place):
    place.chmod(0o777)
    process = sandbox.start("run", "--json", "-l", "shell", "--workspace", str(place), "-c", "touch started; sleep 60")
    leftovers.wait_until((place / "started").exists, 60, "the program's start")
    process.terminate()
    stdout, stderr = process.communicate(timeout=45)
    assert process.returncode == 143
    assert b'"cancelled"' in stdout, (stdout, stderr)


def test_a_second_signal_while_ending_does_no_harm(sandbox, no_leftovers):
    process = started(sandbox)
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=45)
    assert process.returncode in (130, 143)


def test_a_signal_before_the_start_is_obeyed(sandbox, no_leftovers):
    for _ in range(10):
        process = sandbox.start("run", "-l", "shell", "-c", "sleep 30")
        time.sleep(random.uniform(0, 0.02))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=45)
        assert process.returncode in (143, -signal.SIGTERM)


def test_an_ignored_hangup_stays_ignored(sandbox, no_leftovers):
    process = sandbox.start("run", "-l", "shell", "--stdin", "-", "-c", "echo started; read line; echo end",
                            stdin=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert process.stdout.readline() == b"started\n"
    process.send_signal(signal.SIGHUP)
    stdout, _ = process.communicate(b"go\n", timeout=45)
    assert (process.returncode, stdout) == (0, b"end\n")


def test_a_stopped_and_continued_supervisor_still_ends_the_run(sandbox, no_leftovers):
    process = sandbox.start("run", "-l", "shell", "-t", "3s", "-c", "echo started; sleep 60")
    assert process.stdout.readline() == b"started\n"
    process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=45)
    assert process.returncode == 124


def start_and_stop(sandbox, code, who):
    process = sandbox.start("run", "-l", "shell", "-t", "3s", "-c", code)
    assert process.stdout.readline() == b"started\n"
    processes.signal_all(who(process.pid), signal.SIGSTOP)
    process.communicate(timeout=45)
    return process.returncode


def test_a_run_ends_in_time_though_all_who_watch_over_it_were_stopped(sandbox, no_leftovers):
    assert start_and_stop(sandbox, "echo started; sleep 60", lambda pid: [below for below, _ in processes.descendants(pid)]) == 124


def test_a_run_ends_by_itself_though_its_helper_was_stopped(sandbox, no_leftovers):
    assert start_and_stop(sandbox, "echo started; sleep 0.5", processes.children) == 0


def kill_at_random(sandbox, rounds, kill, *flags):
    """Kills a run at moments from before its first system call to well into the program."""
    chance = random.Random(20)
    for _ in range(rounds):
        process = sandbox.start("run", "-l", "shell", "-t", "120s", "-c", LONG, *flags,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.choice([0, 0.001, 0.003, 0.01, 0.03, 0.1]) * chance.random() * 2)
        kill(process)
        process.wait(45)


def test_sigkill_of_the_supervisor_at_fifty_moments_leaves_nothing(sandbox, no_leftovers):
    kill_at_random(sandbox, 50, lambda process: process.kill())
    sandbox.shell("true")  # What only a sweep can remove, such as control groups, goes with the next run.


def test_sigkill_of_the_supervisor_of_a_local_run_leaves_nothing(sandbox, no_leftovers):
    """Its directory is made by the helper, who removes it, whenever the supervisor dies."""
    kill_at_random(sandbox, 20, lambda process: process.kill(), "--backend", "local")
    sandbox.shell("true")


def test_sigkill_of_the_whole_group_at_fifty_moments_leaves_nothing(sandbox, no_leftovers):
    kill_at_random(sandbox, 50, lambda process: os.killpg(process.pid, signal.SIGKILL))
    sandbox.shell("true")


def test_processes_are_gone_without_a_sweep(sandbox):
    before = leftovers.snapshot()
    process = started(sandbox)
    process.kill()
    process.communicate()
    left = [thing for thing in leftovers.leftovers(before, 5) if not thing.startswith("cgroup")]
    assert not left
    sandbox.shell("true")
    assert not leftovers.leftovers(before, 5)


def test_a_sweep_spares_runs_that_live(sandbox, no_leftovers):
    alive = sandbox.start("run", "-l", "shell", "--stdin", "-", "-c", "echo started; read x; echo end",
                          stdin=subprocess.PIPE)
    assert alive.stdout.readline() == b"started\n"
    dead = started(sandbox)
    dead.kill()
    dead.communicate()
    sandbox.shell("true")
    stdout, _ = alive.communicate(b"go\n", timeout=45)
    assert (alive.returncode, stdout) == (0, b"end\n")


def test_a_signal_ends_a_run_whose_killed_programs_output_nobody_reads(sandbox, no_leftovers):
    """The program is long dead by its time limit; what it wrote waits for a reader."""
    process = sandbox.start("run", "-l", "shell", "-t", "3s", "-c", "trap '' TERM; echo started; yes")
    assert process.stdout.readline() == b"started\n"

    def alive():
        return [pid for pid in processes.below(process.pid) if processes.status(pid, "State")[:1] != ["Z"]]

    try:
        leftovers.wait_until(lambda: len(alive()) <= 1, 20, "the end of the program")  # The helper stays.
        process.terminate()
        assert process.wait(20) == 143
    finally:
        process.kill()
        process.communicate()
