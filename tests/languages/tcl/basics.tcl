# One program, many modes: the first argument says which.
set words [lassign $argv mode]
fconfigure stdout -encoding utf-8

switch $mode {
    args {
        foreach word $words { puts "\[$word\]" }
    }
    stdin {
        set count 0
        set sum 0
        while {[gets stdin number] >= 0} {
            incr count
            incr sum $number
        }
        puts "$count lines, sum $sum"
    }
    files {
        foreach {how word} {w one a two} {
            set made [open made.txt $how]
            puts $made $word
            close $made
        }
        set made [open made.txt]
        puts -nonewline [read $made]
        close $made
    }
    exit { exit 7 }
    uncaught { error deliberate }
    forever { while 1 {} }
    memory {
        while 1 { lappend kept [string repeat x 1000000][llength [info vars]] }
    }
    unicode {
        set word [encoding convertfrom utf-8 [encoding convertto [encoding system] [lindex $words 0]]]
        puts "Grüße, 世界 🌍 $word [string length $word]"
    }
    big {
        for {set i 0} {$i < 40000} {incr i} { puts [string repeat x 63] }
    }
}
