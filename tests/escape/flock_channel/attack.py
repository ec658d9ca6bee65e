import fcntl

with open(sys.executable, "rb") as shared:
    try:
        fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
        say("CHANNEL flock free")
    except BlockingIOError:
        say("CHANNEL flock held by another")
    except OSError as error:
        say("CHANNEL flock refused", error)
