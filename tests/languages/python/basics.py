"""One program, many modes: the first argument says which."""
import sys


def args():
    for word in sys.argv[2:]:
        print(f"[{word}]")


def stdin():
    numbers = [int(line) for line in sys.stdin]
    print(f"{len(numbers)} lines, sum {sum(numbers)}")


def files():
    with open("made.txt", "w") as made:
        made.write("one\n")
    with open("made.txt", "a") as made:
        made.write("two\n")
    with open("made.txt") as made:
        print(made.read(), end="")


def uncaught():
    raise RuntimeError("deliberate")


def forever():
    while True:
        pass


def memory():
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def unicode():
    print("Grüße, 世界 🌍", sys.argv[2], len(sys.argv[2]))


def big():
    for _ in range(40000):
        print("x" * 63)


if sys.argv[1] == "exit":
    sys.exit(7)
{f.__name__: f for f in (args, stdin, files, uncaught, forever, memory, unicode, big)}[sys.argv[1]]()
