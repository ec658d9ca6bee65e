# Put in front of every attack in Python; says the same words as attack.h.
import errno
import os
import sys

REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.ENOENT)


def say(*words):
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode("utf-8", "replace"))


def refused(what, action, *more):
    """Says how the kernel answered an action that must be refused."""
    try:
        result = action()
    except OSError as error:
        known = error.errno in REFUSALS or error.errno in more
        say("REFUSED" if known else "UNEXPECTED", what, errno.errorcode.get(error.errno, error))
    else:
        say("ESCAPED", f"{what}:", repr(result)[:200])


def hidden(what, path):
    """A file that must not be there, must not open, or must be empty."""
    try:
        found = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(64)
    except OSError as error:
        say("REFUSED", what, errno.errorcode.get(error.errno, error))
    else:
        say("ESCAPED" if found else "REFUSED", what, repr(found)[:200])


def refused_if(what, condition):
    say("REFUSED" if condition else "ESCAPED", what)


