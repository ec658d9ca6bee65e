# A ledger: read, checked, summed and reported with nothing but a POSIX shell and its tools.
set -eu

accounts='cash bank rent food wages'
errors=0

# ---- a small map: variables with a prefix ----

put() { # MAP KEY VALUE
        eval "map_${1}_${2}=\$3"
}

get() { # MAP KEY
        eval "printf '%s' \"\${map_${1}_${2}:-0}\""
}

add() { # MAP KEY NUMBER
        put "$1" "$2" $(($(get "$1" "$2") + $3))
}

# ---- numbers with two places, kept as cents ----

cents() { # TEXT
        case $1 in
        *[!0-9.]* | '' | *.*.*) return 1 ;;
        *.??) printf '%s' "$1" | sed 's/^0*\([0-9]\)/\1/; s/\.//; s/^0*\([0-9]\)/\1/' ;;
        *.*) return 1 ;;
        *) printf '%s00' "$1" ;;
        esac
}

amount() { # CENTS
        sign='' number=$1
        if [ "$number" -lt 0 ]; then
                sign=- number=$((-number))
        fi
        printf '%s%d.%02d' "$sign" $((number / 100)) $((number % 100))
}

# ---- entries: DATE FROM TO AMOUNT WORDS ----

is_account() {
        for account in $accounts; do
                if [ "$account" = "$1" ]; then return 0; fi
        done
        return 1
}

complain() {
        errors=$((errors + 1))
        echo "line $line: $*"
}

enter() { # DATE FROM TO AMOUNT WORDS...
        date=$1 from=$2 to=$3 text=$4
        shift 4
        is_account "$from" || { complain "no account '$from'" && return; }
        is_account "$to" || { complain "no account '$to'" && return; }
        number=$(cents "$text") || { complain "no amount '$text'" && return; }
        add balance "$from" "-$number"
        add balance "$to" "$number"
        add month "${date%-*}" "$number" 2>/dev/null || add month "$(echo "${date%-*}" | tr - _)" "$number"
        entries=$((entries + 1))
        if [ "$number" -gt "$largest" ]; then
                largest=$number largest_words="$*"
        fi
}

read_ledger() {
        line=0 entries=0 largest=0 largest_words=
        while read -r date from to text words; do
                line=$((line + 1))
                case $date in
                '' | '#'*) continue ;;
                ????-??-??) date=$(echo "$date" | sed 's/-\(..\)-/_\1-/') ;;
                *) complain "no date '$date'" && continue ;;
                esac
                # shellcheck disable=SC2086  # the words of the entry, one by one
                enter "$date" "$from" "$to" "$text" $words
        done
}

cat >ledger.txt <<'END'
# date     from  to   amount  what for
2026-01-01 wages bank 2500.00 January
2026-01-02 bank  rent 800.00 flat
2026-01-05 bank  cash 150    from the machine
2026-01-09 cash  food 31.07  market

2026-02-01 wages bank 2500.00 February
2026-02-02 bank  rent 800.00 flat
2026-02-11 cash  food 9.95 bread and "cheese"
2026-02-12 cash  fun 5.00 cinema
2026-02-30x cash food 5.00 never
2026-02-13 cash  food 5.5 odd
END
read_ledger <ledger.txt

sum=0
for account in $accounts; do
        number=$(get balance "$account")
        sum=$((sum + number))
        printf '%-6s %10s\n' "$account" "$(amount "$number")"
done | sort -k2,2n
for month in 2026_01 2026_02; do
        printf 'month %s %s\n' "$(echo $month | tr _ -)" "$(amount "$(get month $month)")"
done
total=0
for account in $accounts; do total=$((total + $(get balance "$account"))); done
printf 'entries %d, errors %d, total %s\n' "$entries" "$errors" "$(amount $total)"
printf 'largest %s: %s\n' "$(amount "$largest")" "$largest_words"
rm ledger.txt
