made = 0
try:
    for made in range(2_000_000):
        os.close(os.open(f"f{made}", os.O_CREAT | os.O_WRONLY))
except OSError as error:
    say("REFUSED create", errno.errorcode[error.errno], made)
refused_if("bounded", made < 1_000_000)
