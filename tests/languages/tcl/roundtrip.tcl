# A JSON reader and writer by hand, checked against itself. A value is a list of its kind and its
# content, for in Tcl every value is a text.
package require Tcl 8.6
fconfigure stdin -encoding utf-8
fconfigure stdout -encoding utf-8

oo::class create Reader {
    variable text at

    constructor {words} {
        set text $words
        set at 0
    }

    method wrong {why} {
        throw WRONG "$why at $at"
    }

    method peek {} {
        regexp -indices -start $at {\A[ \t\r\n]*} $text blanks
        set at [expr {[lindex $blanks 1] + 1}]
        return [string index $text $at]
    }

    method take {wanted} {
        if {[my peek] ne $wanted} {
            my wrong "expected $wanted"
        }
        incr at
    }

    method whole {} {
        set found [my value]
        if {[my peek] ne ""} {
            my wrong "something follows"
        }
        return $found
    }

    method value {} {
        switch [my peek] {
            "\{" { return [list objects [my members]] }
            "\[" { return [list arrays [my items]] }
            "\"" { return [list strings [my string]] }
        }
        foreach {kind pattern} {literals {\A(?:true|false|null)} numbers {\A-?[0-9][-+0-9.eE]*}} {
            if {[regexp -start $at $pattern $text word]} {
                incr at [string length $word]
                return [list $kind $word]
            }
        }
        my wrong "no value"
    }

    method members {} {
        set found {}
        my take "\{"
        while {[my peek] ne "\}"} {
            if {[dict size $found] > 0} { my take "," }
            set key [my string]
            my take ":"
            dict set found $key [my value]
        }
        my take "\}"
        return $found
    }

    method items {} {
        set found {}
        my take "\["
        while {[my peek] ne "\]"} {
            if {[llength $found] > 0} { my take "," }
            lappend found [my value]
        }
        my take "\]"
        return $found
    }

    method next {} {
        if {$at >= [string length $text]} {
            my wrong "a string does not end"
        }
        set char [string index $text $at]
        incr at
        return $char
    }

    method string {} {
        set out ""
        my take "\""
        while {[set char [my next]] ne "\""} {
            if {$char eq "\\"} {
                set char [my next]
                switch $char {
                    n { set char "\n" }
                    t { set char "\t" }
                    u {
                        scan [string range $text $at $at+3] %x code
                        set char [format %c $code]
                        incr at 4
                    }
                }
            }
            append out $char
        }
        return $out
    }
}

proc read_text {words} {
    set reader [Reader new $words]
    try {
        return [$reader whole]
    } finally {
        $reader destroy
    }
}

proc quote {words} {
    return "\"[string map {\\ \\\\ \" \\\" \n \\n \t \\t} $words]\""
}

proc write {value} {
    lassign $value kind content
    set parts {}
    switch $kind {
        objects {
            foreach key [lsort [dict keys $content]] {
                lappend parts "[quote $key]:[write [dict get $content $key]]"
            }
            return "{[join $parts ,]}"
        }
        arrays { return "\[[join [lmap item $content { write $item }] ,]\]" }
        strings { return [quote $content] }
        default { return $content }
    }
}

proc count {value depth} {
    global totals
    lassign $value kind content
    incr totals($kind)
    if {$kind ni {objects arrays}} return
    set totals(depth) [expr {max($totals(depth), $depth)}]
    foreach item [expr {$kind eq "objects" ? [dict values $content] : $content}] {
        count $item [expr {$depth + 1}]
    }
}

proc is_rejected {words} {
    try {
        read_text $words
    } trap WRONG {} {
        return 1
    }
    return 0
}

set names {objects arrays strings numbers literals depth}
foreach name $names { set totals($name) 0 }
set document [read_text [read stdin]]
set canonical [write $document]
count $document 1
puts $canonical
puts [join [lmap name $names { string cat $name = $totals($name) }]]
puts "round trip [expr {[write [read_text $canonical]] eq $canonical ? "ok" : "broken"}]"
puts "rejected [::tcl::mathop::+ {*}[lmap words [list "\{" {[1,]} {{"a" 1}}] { is_rejected $words }]] of 3"
