# bash completion for sandbox and sandbox-run

_sandbox_words() {
        COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_sandbox_files() {
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$cur"))
}

_sandbox_folders() {
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -d -- "$cur"))
}

# The names stand in the first column of the table, below its heading.
_sandbox_languages() {
        _sandbox_words "$("${COMP_WORDS[0]}" languages 2>/dev/null | awk 'NR > 1 && $1 !~ /:$/ { print $1 }')"
}

# A policy is one of those that are built in, or a file.
_sandbox_policies() {
        _sandbox_files
        COMPREPLY+=($(compgen -W "$("${COMP_WORDS[0]}" policy list 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur"))
}

_sandbox_templates() {
        _sandbox_files
        COMPREPLY+=($(compgen -W "$("${COMP_WORDS[0]}" templates 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur"))
}

# Completes the value of the option before the cursor; fails where that takes none.
_sandbox_value() {
        case $1 in
        -l | --lang) _sandbox_languages ;;
        --template) _sandbox_templates ;;
        -f | --file | --deps | --stdin | --input-file | --socket | --cases | --log | --raw) _sandbox_files ;;
        --policy) _sandbox_policies ;;
        --languages | --workspace | --workspace-root | --collect-to | --rules) _sandbox_folders ;;
        -o | --output)
                case ${COMP_WORDS[1]} in
                history) _sandbox_words "table json jsonl csv" ;;
                check) _sandbox_words "text json sarif" ;;
                *) _sandbox_words "raw text json jsonl" ;;
                esac
                ;;
        --fail-on) _sandbox_words "low medium high critical none" ;;
        --status)
                [ "${COMP_WORDS[1]}" != keeper ] || return 1 # where it takes none
                _sandbox_words "error ok failed signaled timeout cpu_limit memory_limit process_limit disk_limit output_limit
                fuel_exhausted compile_error blocked refused cancelled internal_error" ;;
        --network) _sandbox_words "none localhost dns allowlist host" ;;
        --backend) _sandbox_words "auto container local docker wasm" ;;
        --fallback) _sandbox_words "none container local docker wasm" ;;
        --enforcement) _sandbox_words "strict best-effort" ;;
        --check)
                case ${COMP_WORDS[1]} in
                bench) _sandbox_files ;;
                *) _sandbox_words "off warn block" ;;
                esac
                ;;
        --only) _sandbox_words "stream rate burst memory network bare sandbox library bwrap isolate nsjail crun runc firejail podman
                docker go-judge docker-backend docker-warm python-bare python python-keeper python-library python-warm python-bwrap python-isolate python-nsjail python-crun python-runc python-firejail
                python-podman python-docker python-go-judge pandas-bare pandas-warm node-bare node-warm java-bare java-warm typescript-bare typescript-warm wasm-python wasm-python-warm wasm-javascript-warm loop-bare wasm-loop" ;;
        --svg)
                [[ ${COMP_WORDS[1]} == bench ]] || return 1
                _sandbox_files
                ;;
        --text)
                [[ ${COMP_WORDS[1]} == history ]] || return 1
                COMPREPLY=()
                ;;
        -c | --code | --entry | --registry | --collect | -t | --timeout | --cpu-time | -m | --memory | --cpus | --processes | --disk | --open-files | \
                --output-limit | --fuel | --allow | --deny | --volume | -e | --env | --set | --set-file | --jobs | --name | --runs | --idle | --slots | --least | \
                --since | --until | --user | -n | --limit | --older-than | --max-size | --interval | --base | --max-sessions | --idle-timeout)
                COMPREPLY=() ;;
        *) return 1 ;;
        esac
}

_sandbox() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
        local commands="run check languages templates policy history top doctor bench keeper mcp images help"
        local run_options="--lang --code --file --entry --input-file --collect --collect-to --no-cache --deps --registry --stdin --languages --template --set --set-file --cases --jobs --check --rules --trusted
                --timeout --cpu-time --memory --cpus --processes --disk --open-files --output-limit --output-kill
                --fuel --network --allow-dns --allow --deny --volume --workspace --env --backend --fallback --enforcement
                --policy --sealed --no-warm --output --json --text --name --no-record --log --quiet --verbose --help
                -l -c -f -t -m -e -o -q -v -h"

        COMPREPLY=()
        _sandbox_value "$prev" && return
        case ${COMP_WORDS[1]} in
        check)
                if [[ $cur == -* ]]; then
                        _sandbox_words "--lang --code --file --entry --languages --policy --rules --fail-on --output --json --help
                                -l -c -f -o -h"
                else
                        _sandbox_files
                fi
                ;;
        languages) _sandbox_words "--json --languages --help -h" ;;
        templates) _sandbox_words "--json --help -h" ;;
        doctor) _sandbox_words "--json --clean --help -h" ;;
        bench) _sandbox_words "--runs --only --compare --raw --svg --check --json --help -h" ;;
        history)
                if [[ $cur == -* ]]; then
                        _sandbox_words "--lang --status --backend --since --until --user --name --text --limit --output --json --svg
                                --older-than --keep-errors --max-size --dry-run --help -l -n -o -h"
                elif ((COMP_CWORD == 2)); then
                        _sandbox_words "list show code rerun stats follow export verify prune"
                else
                        _sandbox_words "last"
                fi
                ;;
        top) _sandbox_words "--interval --once --json --help -h" ;;
        keeper) _sandbox_words "--idle --slots --least --socket --languages --status --json --stop --log --quiet --help -q -h" ;;
        mcp) _sandbox_words "--policy --sealed --languages --no-packages --workspace-root --max-sessions --idle-timeout --read-only --help -h" ;;
        images) _sandbox_words "build list prune --base --no-packages --all --json --help -h" ;;
        help) _sandbox_words "$commands" ;;
        policy)
                if [[ $cur == -* ]]; then
                        _sandbox_words "--policy --sealed --lang --explain --json --help -l -h"
                elif ((COMP_CWORD == 2)); then
                        _sandbox_words "show list check schema"
                else
                        _sandbox_policies
                fi
                ;;
        *)
                if [[ $cur == -* ]]; then
                        _sandbox_words "$run_options --version"
                else
                        _sandbox_files
                        ((COMP_CWORD == 1)) && COMPREPLY+=($(compgen -W "$commands" -- "$cur"))
                fi
                ;;
        esac
}

complete -F _sandbox sandbox sandbox-run
