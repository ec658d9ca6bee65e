"""A JSON reader and writer by hand, checked against itself and the standard library."""
import json
import sys


class Wrong(Exception):
    pass


class Reader:
    LITERALS = {"true": True, "false": False, "null": None}
    ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}

    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self, wanted):
        if self.peek() != wanted:
            raise Wrong(f"expected {wanted!r} at {self.at}")
        self.at += 1

    def value(self):
        first = self.peek()
        if first == "{":
            return self.members()
        if first == "[":
            return self.items()
        if first == '"':
            return self.string()
        for word, meaning in self.LITERALS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return meaning
        return self.number()

    def members(self):
        found = {}
        self.take("{")
        while self.peek() != "}":
            if found:
                self.take(",")
            self.peek()
            key = self.string()
            self.take(":")
            found[key] = self.value()
        self.take("}")
        return found

    def items(self):
        found = []
        self.take("[")
        while self.peek() != "]":
            if found:
                self.take(",")
            found.append(self.value())
        self.take("]")
        return found

    def string(self):
        self.take('"')
        out = []
        while True:
            if self.at >= len(self.text):
                raise Wrong("a string does not end")
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(out)
            if char != "\\":
                out.append(char)
                continue
            escape = self.text[self.at]
            self.at += 1
            if escape == "u":
                out.append(chr(int(self.text[self.at:self.at + 4], 16)))
                self.at += 4
            else:
                out.append(self.ESCAPES[escape])

    def number(self):
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "+-0123456789.eE":
            self.at += 1
        word = self.text[start:self.at]
        try:
            return float(word) if "." in word else int(word)
        except ValueError:
            raise Wrong(f"no value at {start}") from None


def read(text):
    reader = Reader(text)
    value = reader.value()
    if reader.peek():
        raise Wrong("something follows")
    return value


def quote(text):
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def write(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{write(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    if isinstance(value, str):
        return quote(value)
    return {True: "true", False: "false", None: "null"}[value] if value is None or value is True or value is False else str(value)


def count(value, counts, depth):
    kind = ("literals" if value is None or isinstance(value, bool) else
            {dict: "objects", list: "arrays", str: "strings"}.get(type(value), "numbers"))
    counts[kind] += 1
    if kind in ("objects", "arrays"):
        counts["depth"] = max(counts["depth"], depth)
        for item in value.values() if kind == "objects" else value:
            count(item, counts, depth + 1)


def is_rejected(text):
    try:
        read(text)
    except Wrong:
        return True
    return False


source = sys.stdin.read()
document = read(source)
assert document == json.loads(source)
canonical = write(document)
totals = dict.fromkeys(("objects", "arrays", "strings", "numbers", "literals", "depth"), 0)
count(document, totals, 1)
print(canonical)
print(*(f"{name}={number}" for name, number in totals.items()))
print("round trip", "ok" if write(read(canonical)) == canonical else "broken")
print("rejected", sum(map(is_rejected, ("{", "[1,]", '{"a" 1}'))), "of 3")
