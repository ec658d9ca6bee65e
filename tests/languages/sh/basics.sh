# One program, many modes: the first argument says which.
mode=$1
shift
case $mode in
args) printf '[%s]\n' "$@" ;;
stdin)
        count=0 sum=0
        while read -r number; do
                count=$((count + 1)) sum=$((sum + number))
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
        set -u
        echo "${deliberate?deliberate}"
        ;;
forever) while :; do :; done ;;
memory)
        kept=x
        while :; do kept=$kept$kept; done
        ;;
unicode)
        # A POSIX shell may count bytes: the tool that counts characters is wc.
        echo "Grüße, 世界 🌍 $1 $(printf %s "$1" | wc -m)"
        ;;
big)
        line=$(printf 'x%063d' 0 | tr -c x x | cut -c1-63)
        i=0
        while [ $i -lt 40000 ]; do
                echo "$line"
                i=$((i + 1))
        done
        ;;
esac
