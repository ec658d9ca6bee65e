for number, target in enumerate((os.environ["CANARY_TMP"], os.environ["CANARY_HOME"], "/etc/shadow", "/", "..", "loop")):
    os.symlink(target, f"link{number}")
os.symlink("loop", "loop")
os.mkdir("dir")
os.symlink("/", "dir/root")
os.symlink(os.path.dirname(os.environ["CANARY_TMP"]), "dir/up")
say("LEFT links")
