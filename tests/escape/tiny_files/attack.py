made = 0
try:
    for made in range(200_000):
        os.close(os.open(f"f{made}", os.O_CREAT | os.O_WRONLY))
except OSError as error:
    say("LIMIT", errno.errorcode[error.errno])
say("MADE", made)
