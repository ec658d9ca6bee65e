# A pool of workers: jobs, named pipes, a co-process, traps, and what pipes are for.
set -euo pipefail

readonly workers=4 limit=2000
log=()

note() { log+=("$*"); }

# ---- primes by background jobs that write into a named pipe ----

is_prime() {
        local -i number=$1 divisor
        ((number > 1)) || return 1
        for ((divisor = 2; divisor * divisor <= number; divisor++)); do
                ((number % divisor)) || return 1
        done
}

count_primes() { # FIRST
        local -i number count=0
        for ((number = $1; number < limit; number += workers)); do
                if is_prime "$number"; then count+=1; fi
        done
        echo "$count"
}

by_named_pipe() {
        local -i total=0 part i
        mkfifo results
        exec 5<>results
        for ((i = 0; i < workers; i++)); do count_primes "$i" >&5 & done
        wait
        for ((i = 0; i < workers; i++)); do
                read -r part <&5
                total+=part
        done
        exec 5>&-
        rm results
        echo "$total"
}

by_files() {
        local -i total=0 i
        for ((i = 0; i < workers; i++)); do count_primes "$i" >"part.$i" & done
        wait
        for ((i = 0; i < workers; i++)); do total+=$(<"part.$i"); done
        rm part.*
        echo "$total"
}

# ---- a co-process that is asked many times ----

coproc squares { while read -r number; do echo $((number * number)); done; }

sum_of_squares() { # UPTO
        local -i total=0 square i
        for ((i = 1; i <= $1; i++)); do
                echo "$i" >&"${squares[1]}"
                read -r square <&"${squares[0]}"
                total+=square
        done
        echo "$total"
}

# ---- failures of jobs are seen ----

watch_failures() {
        local pids=() codes=() code
        for code in 0 3 7; do
                (exit "$code") &
                pids+=("$!")
        done
        for pid in "${pids[@]}"; do
                code=0
                wait "$pid" || code=$?
                codes+=("$code")
        done
        echo "${codes[*]}"
}

# ---- signals ----

catch_signals() (
        caught=0
        trap 'caught=$((caught + 1))' USR1
        for _ in 1 2 3; do kill -USR1 "$BASHPID"; done
        echo "$caught"
)

# ---- words, counted by a pipe of tools ----

count_words() {
        tr -cs '[:alpha:]' '\n' <<'END' | tr '[:upper:]' '[:lower:]' | LC_ALL=C sort | uniq -c |
The sea is calm tonight, the tide is full, the moon lies fair
upon the straits; on the French coast the light gleams and is gone.
END
                awk '$1 > 1 { print $2 "=" $1 }' | paste -sd ' '
}

# ---- a table, sorted by two keys ----

sort_people() {
        local people=('Ada 1815 London' 'Grace 1906 New' 'Alan 1912 London' 'Edsger 1930 Rotterdam')
        printf '%s\n' "${people[@]}" | LC_ALL=C sort -k3,3 -k2,2nr | awk '{ printf "%s%s", (NR > 1 ? "," : ""), $1 } END { print "" }'
}


# ---- the temporary directory goes with the shell that made it ----

use_temporary() (
        directory=$(mktemp -d)
        trap 'rm -rf "$directory"' EXIT
        for i in {1..5}; do echo "$i" >"$directory/$i"; done
        sum=$(paste -sd+ <(cat "$directory"/*))
        echo "$sum=$((sum))"
)

note "pipe $(by_named_pipe)"
note "files $(by_files)"
note "squares $(sum_of_squares 20)"
note "codes $(watch_failures)"
note "signals $(catch_signals)"
note "words $(count_words)"
note "people $(sort_people)"
note "temporary $(use_temporary)"
printf '%s\n' "${log[@]}"
printf 'array %s\n' "${#log[@]}" "${log[0]^^}" "${log[@]: -1:1}"
