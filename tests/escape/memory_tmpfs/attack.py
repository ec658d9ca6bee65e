block = b"x" * (1 << 20)
say("TRYING")
written = 0
try:
    with open("/tmp/big", "wb", buffering=0) as out:
        while written < 1024:
            written += out.write(block) // len(block) or 1
    say("ESCAPED one GiB of files in memory")
except OSError as error:
    say("REFUSED write", errno.errorcode[error.errno], "after", written, "MiB")
    sys.exit(1)
