os.write(1, b"BEGIN \x1b]0;owned\x07 \x1b[2J \x1b[31m \x9b31m \x1bP$q\x1b\\ \x1b[6n \r hidden \x08\x08 END\n")
os.write(2, b"\x1b[31mERR\x1b[0m\n")
