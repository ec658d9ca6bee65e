import time

say("TRYING")
while True:
    time.sleep(3600)
