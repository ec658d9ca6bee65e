for name in (b"new\nline", b"\xff\xfe\x80", b"\x1b[31mred", b"quote\"back\\slash", b"-rf", b" ", b"a" * 255, "\u202eevil".encode()):
    open(name, "wb").close()
say("LEFT names")
