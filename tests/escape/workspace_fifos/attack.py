import socket

os.mkfifo("fifo")
os.mkdir("deep")
os.mkfifo("deep/fifo", 0o666)
sock = socket.socket(socket.AF_UNIX)
sock.bind("socket")
open("locked", "w").close()
os.chmod("locked", 0)
os.mkdir("closed")
open("closed/in", "w").close()
os.chmod("closed", 0)
say("LEFT fifos")
