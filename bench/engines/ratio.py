#!/usr/bin/env python3
"""What a run of the backend docker costs beside `docker run --rm` of the same image and command.

    DOCKER_HOST=unix:///var/run/docker.sock bench/engines/ratio.py IMAGE [ROUNDS]

Both run `true` in turn, round after round, each when the engine has removed what was before; the medians and their
ratio are printed. The image needs a shell.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

SANDBOX = pathlib.Path(__file__).resolve().parents[2] / "build/src/cli/sandbox"


def is_busy(env):
    return subprocess.run(["docker", "ps", "-aq"], env=env, stdout=subprocess.PIPE, check=True).stdout != b""


def main():
    if len(sys.argv) < 2 or not shutil.which("docker"):
        sys.exit(__doc__)
    image, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    env = {**os.environ, "DOCKER_IMAGE": image}
    commands = {
        "sandbox": [SANDBOX, "run", "--check", "off", "--backend", "docker", "-q", "-l", "sh", "-c", "true"],
        "docker run": ["docker", "run", "--rm", "--network", "none", image, "/bin/sh", "-c", "true"],
    }
    samples = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            begin = time.monotonic()
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            samples[name].append(time.monotonic() - begin)
            while is_busy(env):
                pass
    medians = {name: statistics.median(times) for name, times in samples.items()}
    for name, median in medians.items():
        print(f"{name:12} {median * 1000:8.1f} ms")
    print(f"{'ratio':12} {medians['sandbox'] / medians['docker run']:8.2f}")


if __name__ == "__main__":
    main()
