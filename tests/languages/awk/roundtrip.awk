# A JSON reader and writer by hand, checked against itself. AWK has no nested values: a document is
# kept as kind[n], text[n] and, for arrays and objects, size[n], child[n, i] and key[n, i].

function fail(why)
{
        broken = why
        return 0
}

function peek()
{
        while (at <= length(source) && substr(source, at, 1) ~ /[ \t\r\n]/)
                at++
        return substr(source, at, 1)
}

function take(wanted)
{
        if (broken == "" && peek() != wanted)
                fail("expected " wanted " at " at)
        at++
}

function new_value(of, words)
{
        kind[++values] = of
        text[values] = words
        size[values] = 0
        return values
}

function read_value(    first, word)
{
        if (broken != "")
                return 0
        first = peek()
        if (first == "{")
                return read_items("objects", "{", "}")
        if (first == "[")
                return read_items("arrays", "[", "]")
        if (first == "\"")
                return new_value("strings", read_string())
        if (match(substr(source, at), /^(true|false|null)/))
                word = "literals"
        else if (match(substr(source, at), /^-?[0-9][-+0-9.eE]*/))
                word = "numbers"
        else
                return fail("no value at " at)
        at += RLENGTH
        return new_value(word, substr(source, at - RLENGTH, RLENGTH))
}

function read_items(of, open, close_,    all, name, item)
{
        all = new_value(of, "")
        take(open)
        while (broken == "" && peek() != close_) {
                if (size[all] > 0)
                        take(",")
                if (of == "objects") {
                        name = read_string()
                        take(":")
                }
                item = read_value()
                size[all]++
                child[all, size[all]] = item
                key[all, size[all]] = name
        }
        take(close_)
        return all
}

function read_string(    out, char)
{
        take("\"")
        while (broken == "") {
                char = substr(source, at++, 1)
                if (char == "")
                        fail("a string does not end")
                if (char == "\"")
                        return out
                if (char == "\\") {
                        char = substr(source, at++, 1)
                        if (char == "u") {
                                char = character(hexadecimal(substr(source, at, 4)))
                                at += 4
                        } else if (char in escapes) {
                                char = escapes[char]
                        }
                }
                out = out char
        }
        return out
}

function hexadecimal(digits,    i, number)
{
        for (i = 1; i <= length(digits); i++)
                number = number * 16 + index("0123456789abcdef", tolower(substr(digits, i, 1))) - 1
        return number
}

# In a UTF-8 locale gawk makes the character; others get its bytes.
function character(code)
{
        if (length("é") == 1)
                return sprintf("%c", code)
        if (code < 2048)
                return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
        return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
}

function read_text(words,    found)
{
        source = words
        at = 1
        broken = ""
        found = read_value()
        if (broken == "" && peek() != "")
                fail("something follows")
        return broken == "" ? found : 0
}

function quote(words)
{
        gsub(/\\/, "\\\\", words)
        gsub(/"/, "\\\"", words)
        gsub(/\n/, "\\n", words)
        gsub(/\t/, "\\t", words)
        return "\"" words "\""
}

function write_value(n,    i, j, order, swap, out)
{
        if (kind[n] == "strings")
                return quote(text[n])
        if (kind[n] != "objects" && kind[n] != "arrays")
                return text[n]
        for (i = 1; i <= size[n]; i++) {
                order[i] = i
                for (j = i; j > 1 && kind[n] == "objects" && key[n, order[j]] < key[n, order[j - 1]]; j--) {
                        swap = order[j]
                        order[j] = order[j - 1]
                        order[j - 1] = swap
                }
        }
        for (i = 1; i <= size[n]; i++)
                out = out (i > 1 ? "," : "") (kind[n] == "objects" ? quote(key[n, order[i]]) ":" : "") \
                        write_value(child[n, order[i]])
        return kind[n] == "objects" ? "{" out "}" : "[" out "]"
}

function count(n, deep,    i)
{
        totals[kind[n]]++
        if ((kind[n] == "objects" || kind[n] == "arrays") && deep > totals["depth"])
                totals["depth"] = deep
        for (i = 1; i <= size[n]; i++)
                count(child[n, i], deep + 1)
}

BEGIN {
        escapes["n"] = "\n"
        escapes["t"] = "\t"
}

{ all = all $0 "\n" }

END {
        document = read_text(all)
        canonical = write_value(document)
        count(document, 1)
        print canonical
        total = split("objects arrays strings numbers literals depth", names, " ")
        for (i = 1; i <= total; i++)
                printf "%s%s=%d", (i > 1 ? " " : ""), names[i], totals[names[i]]
        print "\nround trip " (write_value(read_text(canonical)) == canonical ? "ok" : "broken")
        rejected = (read_text("{") == 0) + (read_text("[1,]") == 0) + (read_text("{\"a\" 1}") == 0)
        print "rejected " rejected " of 3"
}
