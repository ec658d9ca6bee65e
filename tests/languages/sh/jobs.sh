# Background jobs, named pipes, traps and here-documents of a POSIX shell.
set -eu

workers=4
limit=2000

say() { printf '%-10s %s\n' "$1" "$2"; }

# ---- primes, counted by jobs that each write a file ----

is_prime() {
        if [ "$1" -lt 2 ]; then return 1; fi
        divisor=2
        while [ $((divisor * divisor)) -le "$1" ]; do
                if [ $(($1 % divisor)) -eq 0 ]; then return 1; fi
                divisor=$((divisor + 1))
        done
}

count_primes() { # FIRST
        number=$1 count=0
        while [ "$number" -lt $limit ]; do
                if is_prime "$number"; then count=$((count + 1)); fi
                number=$((number + workers))
        done
        echo $count
}

by_files() {
        worker=0
        while [ $worker -lt $workers ]; do
                count_primes $worker >"part.$worker" &
                worker=$((worker + 1))
        done
        wait
        total=0
        for part in part.*; do
                read -r count <"$part"
                total=$((total + count))
                rm "$part"
        done
        echo $total
}

# ---- the same through a named pipe ----

by_named_pipe() {
        mkfifo results
        exec 5<>results # held open, so that no writer ends the reading
        worker=0
        while [ $worker -lt $workers ]; do
                count_primes $worker >&5 &
                worker=$((worker + 1))
        done
        total=0
        while [ $worker -gt 0 ]; do
                read -r count <&5
                total=$((total + count))
                worker=$((worker - 1))
        done
        wait
        rm results
        echo $total
}

# ---- exit codes of jobs ----

watch_failures() {
        codes=
        for code in 0 3 7; do
                (exit $code) &
                pid=$!
                if wait $pid; then
                        codes="$codes ok"
                else
                        codes="$codes $?"
                fi
        done
        echo "${codes# }"
}

# ---- recursion, with a stack of its own in the positional parameters ----

hanoi() { # DISCS FROM TO OVER
        if [ "$1" -eq 0 ]; then return; fi
        set -- "$1" "$2" "$3" "$4" $(($1 - 1))
        hanoi "$5" "$2" "$4" "$3"
        moves=$((moves + 1))
        hanoi "$5" "$4" "$3" "$2"
}

# ---- Euclid, and Newton with whole numbers ----

gcd() { # A B
        a=$1 b=$2
        while [ "$b" -ne 0 ]; do
                set -- "$b" $((a % b))
                a=$1 b=$2
        done
        echo "$a"
}

root() { # NUMBER
        guess=$1 next=$((($1 + 1) / 2))
        while [ "$next" -lt "$guess" ]; do
                guess=$next
                next=$(((guess + $1 / guess) / 2))
        done
        echo "$guess"
}

# ---- texts ----

reverse() { # TEXT
        left=$1 out=
        while [ -n "$left" ]; do
                rest=${left#?}
                out=${left%"$rest"}$out
                left=$rest
        done
        echo "$out"
}

# ---- a trap for the end, and one for a signal ----

catch_signals() (
        caught=0
        trap 'caught=$((caught + 1))' USR1
        trap 'echo "$caught and the end"' EXIT
        pid=$(exec sh -c 'echo $PPID')
        kill -USR1 "$pid"
        kill -USR1 "$pid"
)

say files "$(by_files)"
say pipe "$(by_named_pipe)"
say codes "$(watch_failures)"
moves=0
hanoi 8 left right middle
say hanoi $moves
say gcd "$(gcd 1071 462)"
say root "$(root 1000000000000)"
say reverse "$(reverse 'a man, a plan')"
say signals "$(catch_signals)"
