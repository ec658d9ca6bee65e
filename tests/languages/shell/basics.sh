# One program, many modes: the first argument says which.
mode=$1
shift
case $mode in
args) printf '[%s]\n' "$@" ;;
stdin)
        count=0 sum=0
        while read -r number; do
                ((count += 1, sum += number))
        done
        echo "$count lines, sum $sum"
        ;;
files)
        echo one >made.txt
        echo two >>made.txt
        cat made.txt
        ;;
exit) exit 7 ;;
uncaught)
        set -eu
        echo "${deliberate?deliberate}"
        ;;
forever) while :; do :; done ;;
memory)
        kept=x
        while :; do kept=$kept$kept; done
        ;;
unicode)
        echo "Grüße, 世界 🌍 $1 ${#1}"
        ;;
big)
        line=$(printf 'x%.0s' {1..63})
        for ((i = 0; i < 40000; i++)); do echo "$line"; done
        ;;
esac
