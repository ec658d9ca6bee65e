for name, size in (("big", 1 << 40), ("huge", 1 << 62)):
    try:
        with open(name, "wb") as out:
            out.truncate(size)
        say("SPARSE", name)
    except OSError as error:
        say("REFUSED", name, errno.errorcode[error.errno])
say("DONE")
