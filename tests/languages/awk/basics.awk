# One program, many modes: the first argument says which.
function repeat(text, times,    all, i)
{
        for (i = 0; i < times; i++)
                all = all text
        return all
}

BEGIN {
        mode = ARGV[1]
        if (mode == "args")
                for (i = 2; i < ARGC; i++)
                        printf "[%s]\n", ARGV[i]
        if (mode == "stdin") {
                while ((getline number < "-") > 0) {
                        count++
                        sum += number
                }
                print count " lines, sum " sum
        }
        if (mode == "files") {
                print "one" > "made.txt"
                close("made.txt")
                print "two" >> "made.txt"
                close("made.txt")
                while ((getline line < "made.txt") > 0)
                        print line
        }
        if (mode == "exit")
                exit 7
        if (mode == "uncaught") # what there is instead of an exception: a fatal error
                getline line < ("/deliberate/" 1 / (mode - mode))
        if (mode == "forever")
                while (1)
                        ;
        if (mode == "memory")
                for (text = repeat("x", 1024); ; i++)
                        kept[i] = repeat(text, 64) i
        if (mode == "unicode")
                print "Grüße, 世界 🌍 " ARGV[2] " " length(ARGV[2])
        if (mode == "big")
                for (line = repeat("x", 63); i < 40000; i++)
                        print line
}
