# The solar system, a spectral norm, and primes found by coroutines in an event loop.
package require Tcl 8.6

namespace path {::tcl::mathop ::tcl::mathfunc}

set pi [expr {acos(-1)}]
set solar_mass [expr {4 * $pi * $pi}]
set days 365.24

oo::class create Body {
    variable position velocity mass

    constructor {from speed weight} {
        set position $from
        set velocity [lmap part $speed { expr {$part * $::days} }]
        set mass [expr {$weight * $::solar_mass}]
    }

    method position {} { return $position }
    method velocity {} { return $velocity }
    method mass {} { return $mass }

    method push {direction factor} {
        set velocity [lmap part $velocity way $direction { expr {$part + $way * $factor} }]
    }

    method stop {momentum} {
        set velocity [lmap part $momentum { expr {-$part / $::solar_mass} }]
    }

    method move {step} {
        set position [lmap part $position speed $velocity { expr {$part + $step * $speed} }]
    }

    method away_from {other} {
        return [lmap a $position b [$other position] { expr {$a - $b} }]
    }
}

proc dot {a b} {
    set sum 0.0
    foreach x $a y $b { set sum [expr {$sum + $x * $y}] }
    return $sum
}

proc solar_system {} {
    return [list \
        [Body new {0 0 0} {0 0 0} 1] \
        [Body new {4.84143144246472090 -1.16032004402742839 -0.103622044471123109} \
            {0.00166007664274403694 0.00769901118419740425 -0.0000690460016972063023} \
            0.000954791938424326609] \
        [Body new {8.34336671824457987 4.12479856412430479 -0.403523417114321381} \
            {-0.00276742510726411 0.00499852801234917238 0.0000230417297573763929} \
            0.000285885980666130812] \
        [Body new {12.8943695621391310 -15.1111514016986312 -0.223307578892655734} \
            {0.00296460137564761618 0.00237847173959480950 -0.0000296589568540237556} \
            0.0000436624404335156298] \
        [Body new {15.3796971148509165 -25.9193146099879641 0.179258772950371181} \
            {0.00268067772490389322 0.00162824170038242295 -0.0000951592254519715870} \
            0.0000515138902046611451]]
}

proc offset_momentum {bodies} {
    set momentum {0 0 0}
    foreach body $bodies {
        set momentum [lmap sum $momentum part [$body velocity] { expr {$sum + $part * [$body mass]} }]
    }
    [lindex $bodies 0] stop $momentum
}

# Runs the script for each pair of bodies.
proc each_pair {one other bodies script} {
    upvar 1 $one first $other second
    for {set i 0} {$i < [llength $bodies]} {incr i} {
        set first [lindex $bodies $i]
        foreach second [lrange $bodies $i+1 end] { uplevel 1 $script }
    }
}

proc energy {bodies} {
    set total 0
    foreach body $bodies {
        set total [expr {$total + 0.5 * [$body mass] * [dot [$body velocity] [$body velocity]]}]
    }
    each_pair a b $bodies {
        set away [$a away_from $b]
        set total [expr {$total - [$a mass] * [$b mass] / sqrt([dot $away $away])}]
    }
    return $total
}

proc advance {bodies step} {
    each_pair a b $bodies {
        set away [$a away_from $b]
        set magnitude [expr {$step / [dot $away $away] ** 1.5}]
        $a push $away [expr {-[$b mass] * $magnitude}]
        $b push $away [expr {[$a mass] * $magnitude}]
    }
    foreach body $bodies { $body move $step }
}

proc multiply {vector turned} {
    set i 0
    return [lmap _ $vector {
        set sum 0.0
        set j 0
        foreach part $vector {
            set row [expr {$turned ? $j : $i}]
            set sum [expr {$sum + $part / (($i + $j) * ($i + $j + 1) / 2 + $row + 1)}]
            incr j
        }
        incr i
        set sum
    }]
}

proc spectral_norm {size} {
    set u [lrepeat $size 1.0]
    for {set i 0} {$i < 10} {incr i} {
        set v [multiply [multiply $u 0] 1]
        set u [multiply [multiply $v 0] 1]
    }
    return [expr {sqrt([dot $u $v] / [dot $v $v])}]
}

proc is_prime {number} {
    for {set divisor 2} {$divisor * $divisor <= $number} {incr divisor} {
        if {$number % $divisor == 0} { return 0 }
    }
    return [expr {$number > 1}]
}

# Workers take turns in the event loop: each gives way after a hundred numbers.
proc work {start} {
    for {set number $start} {$number < 20000} {incr number 4} {
        incr ::found [is_prime $number]
        if {$number % 100 == 0} {
            after 0 [info coroutine]
            yield
        }
    }
    incr ::ended
}

set bodies [solar_system]
offset_momentum $bodies
puts [format %.9f [energy $bodies]]
for {set i 0} {$i < 1000} {incr i} { advance $bodies 0.01 }
puts [format %.9f\n%.9f [energy $bodies] [spectral_norm 100]]
set found 0
set ended 0
for {set worker 0} {$worker < 4} {incr worker} { coroutine worker$worker work $worker }
while {$ended < 4} { vwait ended }
puts $found
