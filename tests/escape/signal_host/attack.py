import signal

victim = int(os.environ["VICTIM_PID"])
own = {1, os.getpid(), os.getppid()}
if victim not in own:
    refused("victim-term", lambda: os.kill(victim, signal.SIGTERM), errno.ESRCH)
    refused("victim-kill", lambda: os.kill(victim, signal.SIGKILL), errno.ESRCH)
    refused("victim-group", lambda: os.killpg(victim, signal.SIGKILL), errno.ESRCH)
    refused("victim-pidfd", lambda: os.pidfd_open(victim), errno.ESRCH, errno.EINVAL)
reached = []
for pid in range(2, 40000):
    if pid not in own:
        try:
            os.kill(pid, signal.SIGKILL)
            reached.append(pid)
        except OSError:
            pass
refused_if(f"all-numbers {reached[:5]}", not reached)
