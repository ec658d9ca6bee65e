import socket

refused_if("hostname", socket.gethostname() == "sandbox" and os.uname().nodename == "sandbox")
users = [line.split(":")[0] for line in open("/etc/passwd")]
refused_if("users " + ",".join(users), "sandbox" in users and len(users) <= 3)
refused_if("uid", os.getuid() == 1000 and os.getgid() == 1000)
refused_if("groups " + str(os.getgroups()), set(os.getgroups()) <= {1000})
