# A JSON reader and writer by hand, checked against itself. Values are numbers that index arrays.
set -u

declare -A kind=() text=() size=() child=() key=()
declare -i values=0 at=0
source='' found='' broken=''

fail() { broken=${broken:-$1}; return 1; }

skip_blanks() {
        while [[ ${source:at:1} == [$' \t\r\n'] ]]; do at+=1; done
}

take() { # CHARACTER
        skip_blanks
        [[ ${source:at:1} == "$1" ]] || fail "expected $1 at $at" || return
        at+=1
}

new_value() { # KIND TEXT
        values+=1
        kind[$values]=$1 text[$values]=$2 size[$values]=0
        found=$values
}

read_string() {
        local out='' char code
        take '"' || return
        while :; do
                char=${source:at:1}
                at+=1
                case $char in
                '') fail 'a string does not end' || return ;;
                '"') break ;;
                "\\")
                        char=${source:at:1}
                        at+=1
                        case $char in
                        n) char=$'\n' ;;
                        t) char=$'\t' ;;
                        u)
                                code=${source:at:4}
                                at+=4
                                printf -v char "\\u$code"
                                ;;
                        esac
                        ;;
                esac
                out+=$char
        done
        found=$out
}

read_items() { # KIND OPEN CLOSE
        local all name=''
        new_value "$1" ''
        all=$found
        take "$2" || return
        skip_blanks
        while [[ ${source:at:1} != "$3" ]]; do
                if ((size[$all] > 0)); then take , || return; fi
                if [[ $1 == objects ]]; then
                        read_string || return
                        name=$found
                        take : || return
                fi
                read_value || return
                size[$all]=$((size[$all] + 1))
                child[$all,${size[$all]}]=$found
                key[$all,${size[$all]}]=$name
                skip_blanks
        done
        at+=1
        found=$all
}

read_value() {
        skip_blanks
        case ${source:at:1} in
        '{') read_items objects '{' '}' ;;
        '[') read_items arrays '[' ']' ;;
        '"') read_string && new_value strings "$found" ;;
        *)
                if [[ ${source:at} =~ ^(true|false|null) ]]; then
                        new_value literals "${BASH_REMATCH[0]}"
                elif [[ ${source:at} =~ ^-?[0-9][-+0-9.eE]* ]]; then
                        new_value numbers "${BASH_REMATCH[0]}"
                else
                        fail "no value at $at" || return
                fi
                at+=${#BASH_REMATCH[0]}
                ;;
        esac
}

read_text() { # TEXT
        source=$1 at=0 broken=''
        read_value || return
        skip_blanks
        ((at == ${#source})) || fail 'something follows'
}

quote() { # TEXT
        local words=$1
        words=${words//\\/\\\\}
        words=${words//\"/\\\"}
        words=${words//$'\n'/\\n}
        printf '"%s"' "${words//$'\t'/\\t}"
}

write_value() { # NUMBER
        local -i i
        local mark='' order
        case ${kind[$1]} in
        strings) quote "${text[$1]}" ;;
        arrays)
                printf '['
                for ((i = 1; i <= size[$1]; i++)); do
                        printf '%s' "$mark"
                        write_value "${child[$1,$i]}"
                        mark=,
                done
                printf ']'
                ;;
        objects)
                printf '{'
                order=$(for ((i = 1; i <= size[$1]; i++)); do printf '%s %d\n' "${key[$1,$i]}" "$i"; done | LC_ALL=C sort)
                while read -r _ i; do
                        ((i)) || continue
                        printf '%s' "$mark"
                        quote "${key[$1,$i]}"
                        printf ':'
                        write_value "${child[$1,$i]}"
                        mark=,
                done <<<"$order"
                printf '}'
                ;;
        *) printf '%s' "${text[$1]}" ;;
        esac
}

declare -A totals=([objects]=0 [arrays]=0 [strings]=0 [numbers]=0 [literals]=0 [depth]=0)

count() { # NUMBER DEPTH
        local -i i
        totals[${kind[$1]}]=$((totals[${kind[$1]}] + 1))
        if [[ ${kind[$1]} == [oa]* ]] && ((totals[depth] < $2)); then totals[depth]=$2; fi
        for ((i = 1; i <= size[$1]; i++)); do count "${child[$1,$i]}" $(($2 + 1)); done
}

read_text "$(cat)" || { echo "$broken" >&2; exit 1; }
document=$found
canonical=$(write_value "$document")
count "$document" 1
echo "$canonical"
words=()
for name in objects arrays strings numbers literals depth; do words+=("$name=${totals[$name]}"); done
echo "${words[*]}"
read_text "$canonical" && again=$(write_value "$found")
[[ $again == "$canonical" ]] && echo 'round trip ok' || echo 'round trip broken'
rejected=0
for broken_text in '{' '[1,]' '{"a" 1}'; do read_text "$broken_text" || rejected=$((rejected + 1)); done
echo "rejected $rejected of 3"
