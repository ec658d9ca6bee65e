# Put in front of every attack in shell; says the same words as attack.h.
refused() { # refused WHAT COMMAND...: the command must fail
        local what=$1
        shift
        if "$@" >/dev/null 2>&1; then echo "ESCAPED $what"; else echo "REFUSED $what $?"; fi
}

