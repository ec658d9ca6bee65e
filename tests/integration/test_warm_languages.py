"""Languages that are kept warm: the same program gives the same warm and cold, and one run sees nothing of another."""

import contextlib
import json
import os
import pathlib
import re

import pytest

from helpers.processes import descendants
from helpers.warm import Keeper, lasting_keeper

# Programs by language; each is run warm and cold, with the same arguments, input and environment.
PROGRAMS = {
    "perl": {
        "hello": 'print "hello\\n";',
        "arguments": 'print "$0|", __FILE__, "|", join("|", @ARGV), "\\n";',
        "environment": 'print join(",", map { "$_=$ENV{$_}" } sort keys %ENV), "\\n"; system "env | sort";',
        "input": "print scalar <STDIN>; print while <STDIN>;",
        "strict": "use strict; use warnings; my $x; print $x . 1, \"\\n\";",
        "no strict": '$undeclared = 5; print "$undeclared ", join(",", sort keys %INC), "\\n";',
        "die": 'sub f { die "broken" } print "before\\n"; f();',
        "die in eval": 'eval { die { code => 3 } }; print $@->{code}, "\\n"; exit 7;',
        "syntax error": "print 1;\nprint (;\n",
        "data": "print <DATA>;\n__DATA__\nline one\nline two\n",
        "end block": 'END { print "end $?\\n"; } print "main\\n"; exit 4;',
        "begin block": 'BEGIN { print "first @ARGV\\n"; } print "second\\n";',
        "warn": 'warn "careful"; print STDERR "err\\n"; print "out\\n";',
        "caller": 'print defined(caller) ? "called" : "top", " ", __LINE__, " ", __PACKAGE__, "\\n";',
        "shebang": "#!/usr/bin/perl -w\nmy $x; print 1 + $x;\n",
        "identity": 'print $$ > 1, " $< $( ", umask, "\\n"; use Cwd; print getcwd, "\\n";',
        "fork": 'my $pid = fork; if (!$pid) { print "child\\n"; exit 3; } waitpid $pid, 0; print $? >> 8, "\\n";',
        "signal": 'kill "TERM", $$;',
        "handler": '$SIG{USR1} = sub { print "got\\n" }; kill "USR1", $$; print join(",", grep { $SIG{$_} } sort keys %SIG), "\\n";',
        "file": 'open my $f, ">", "out.txt"; print $f "kept";',
        "descriptors": 'opendir my $d, "/proc/self/fd"; print scalar(grep { /^\\d/ } readdir $d), "\\n";',
        "time": 'print time - $^T < 2 ? "now" : "old", "\\n"; print 0 + $!, "\\n";',
        "modules": "use List::Util qw(sum); use POSIX; use Data::Dumper; $Data::Dumper::Sortkeys = 1; print sum(1..10), POSIX::floor(2.5), Dumper({a => 1});",
        "unicode": 'use utf8; binmode STDOUT, ":utf8"; print "h\u00e9llo \u4e16\u754c\\n", length("\u4e16\u754c");',
    },
    "ruby": {
        "hello": 'puts "hello"',
        "arguments": "p $0, __FILE__, __dir__, ARGV, $PROGRAM_NAME == __FILE__",
        "environment": 'p ENV.to_h; ENV["X"] = "y"; system("env | sort")',
        "input": "p gets, $stdin.read",
        "raise": 'def f(x) = raise(ArgumentError, x)\nputs "before"\nf("bad")',
        "nested": "begin; Integer('x'); rescue => e; raise 'other'; end",
        "no method": "nil.upcase",
        "exit": "at_exit { puts 'bye' }\nputs 'main'\nexit 5",
        "abort": "abort 'a reason'",
        "exit in handler": "at_exit { exit 9 }\nraise 'x'",
        "syntax error": "puts 1\nputs (",
        "data": "puts DATA.read\n__END__\nline one\nline two\n",
        "main file": "if __FILE__ == $0 then puts 'main' end; def m = :private; p self.private_methods(false).include?(:m), self.to_s",
        "frames": "def f = caller\np f, caller.size, __method__.inspect",
        "thread": "t = Thread.new { sleep 0.01; puts 'thread' }; t.join; p Thread.list.size, Thread.main == Thread.current",
        "fork": "pid = fork { puts 'child'; exit 3 }; Process.wait pid; p $?.exitstatus",
        "spawn": "p `echo spawned`, $?.success?",
        "signal": "Process.kill('TERM', $$); sleep",
        "handler": "trap('USR1') { puts 'got' }; Process.kill('USR1', $$); sleep 0.01",
        "interrupt": "raise Interrupt",
        "identity": "p $$ > 1, Process.uid, Process.gid, File.umask, Dir.pwd, Process.getsid == $$",
        "descriptors": "p Dir.children('/proc/self/fd').size",
        "file": "File.open('out.txt', 'w').write('kept')",
        "modules": "require 'json'; require 'set'; require 'digest'; puts JSON.generate(a: Set[1].to_a), Digest::SHA256.hexdigest('')",
        "encoding": "p Encoding.default_external, __ENCODING__, 'h\u00e9llo'.length",
        "timeout": "require 'timeout'; begin; Timeout.timeout(0.01) { sleep }; rescue Timeout::Error; puts 'late'; end",
        "frozen": "# frozen_string_literal: true\nbegin; 'a' << 'b'; rescue FrozenError => e; puts e.class; end",
        "return": "puts 1\nreturn\nputs 2",
        "features": "p $LOADED_FEATURES.size, $LOAD_PATH.size",
    },
    "lua": {
        "hello": 'print("hello")',
        "arguments": "print(#arg, arg[-2], arg[-1], arg[0], arg[1], arg[2], ...)",
        "environment": 'print(os.getenv("EXTRA"), os.getenv("PATH"), os.getenv("HOME")); os.execute("env | sort")',
        "input": 'print(io.read("l"), io.read("a"))',
        "error": 'local function f() error("bad") end print("before") f()',
        "error object": "error({})",
        "exit": "os.exit(5)",
        "exit closing": 'setmetatable({}, {__gc = function() print("gone") end}) os.exit(true, true)',
        "syntax error": "print(1)\nprint(",
        "shebang": "#!/usr/bin/lua\nprint(1)",
        "globals": "local n = {} for k in pairs(_G) do n[#n + 1] = k end table.sort(n) print(table.concat(n, ','))",
        "path": "print(package.path)",
        "file": 'local f = io.open("out.txt", "w") f:write("kept")',
        "traceback": "print(debug.traceback('here'))",
        "coroutine": "print(coroutine.resume(coroutine.create(function(...) return select('#', ...) end), 1, 2), coroutine.isyieldable())",
        "collect": "print(collectgarbage('isrunning'), collectgarbage('incremental'))",
    },
    "php": {
        "hello": '<?php echo "hello\\n";',
        "plain": "no tags\n",
        "environment": '<?php ksort($_ENV); $e = getenv(); ksort($e); echo json_encode([$_ENV, $e]), "\\n"; system("env | sort");',
        "server": '<?php $s = $_SERVER; unset($s["REQUEST_TIME"], $s["REQUEST_TIME_FLOAT"]); ksort($s); echo json_encode($s); echo time() - $_SERVER["REQUEST_TIME"] < 2;',
        "files": '<?php echo json_encode([__FILE__, __DIR__, get_included_files(), PHP_SAPI, getcwd(), ini_get("memory_limit")]);',
        "arguments": "<?php var_dump($argc, $argv);",
        "input": '<?php echo fgets(STDIN), stream_get_contents(STDIN), "|", file_get_contents("php://stdin");',
        "exception": '<?php function f() { throw new RuntimeException("bad"); } echo "before\\n"; f();',
        "warning": "<?php echo $undefined; echo 1;",
        "exit": '<?php register_shutdown_function(function () { echo "bye\\n"; }); echo "main\\n"; exit(5);',
        "exit text": '<?php exit("a reason");',
        "parse error": "<?php echo 1;\necho (;\n",
        "shebang": "#!/usr/bin/php\n<?php echo 1;",
        "destructor": '<?php class C { function __destruct() { echo "gone\\n"; } } $c = new C;',
        "file": '<?php fwrite(fopen("out.txt", "w"), "kept");',
        "identity": '<?php echo getmypid() > 1, " ", umask(), " ", getmyuid(), "\\n";',
        "descriptors": '<?php echo count(scandir("/proc/self/fd")), "\\n";',
        "memory": '<?php ini_set("memory_limit", "8M"); $x = str_repeat("x", 100 << 20);',
        "constants": '<?php echo json_encode(array_keys(get_defined_vars())), count(get_defined_functions()["user"]);',
    },
    "shell": {
        "hello": "echo hello",
        "arguments": 'echo "$0|$#|$1|$2|$*|$_"; printf "<%s>" "$@"; shift; echo "$1"',
        "variables": "declare -p | grep -v -e SECONDS -e RANDOM -e EPOCH -e BASHPID -e BASH_ARG -e LINENO -e PIPESTATUS -e 'declare -- _='",
        "environment": "env | sort; export A=b; env | grep ^A=",
        "input": 'read -r line; echo "$line"; cat',
        "identity": 'echo $(($$ > 1)) $PPID $UID $EUID ${GROUPS[@]} $HOSTNAME $SHLVL $PWD $OLDPWD; umask; pwd; id -u; echo ~',
        "options": 'echo $-; set -o; shopt',
        "false": "set -e; echo before; false; echo after",
        "unset": "set -u; echo $nothing",
        "exit": "trap 'echo bye $?' EXIT; echo main; exit 5",
        "syntax error": "echo 1\nif true; then",
        "not found": "no_such_command; echo $?",
        "functions": "declare -F; f() { echo \"$FUNCNAME ${BASH_SOURCE[0]} $LINENO\"; local x=1; caller; }; f; echo ${BASH_SOURCE[@]}",
        "subshell": '(exit 3); echo $?; x=$(echo sub); echo "$x" $BASH_SUBSHELL; echo a | while read -r y; do echo "$y"; done',
        "background": "sleep 0.01 & wait $!; echo $?; jobs",
        "signal": "kill -TERM $$; sleep 5",
        "handler": "trap 'echo got' USR1; kill -USR1 $$; trap",
        "arrays": 'a=(1 2 3); declare -A m=([k]=v); echo "${a[@]}" "${m[k]}"; mapfile -t l < <(printf "x\\ny\\n"); echo "${#l[@]}"',
        "here": "cat <<END\n$0 text\nEND\ncat <<<word",
        "file": "echo kept > out.txt; ls",
        "descriptors": "ls /proc/self/fd | wc -l",
        "seconds": "echo $SECONDS",
        "source": "echo 'echo sourced $1 $#' > s; . ./s; . ./s one; echo $1",
        "limits": "ulimit -n -c -f",
        "exec": "exec echo replaced",
        "quoting": "printf '%q ' \"$EXTRA\" 'a b'; echo \"${EXTRA@Q}\"",
        "ifs": 'IFS=:; set -- a:b; for x in $1; do echo "$x"; done',
    },
}
FIELDS = ("status", "exit_code", "signal", "stdout", "stderr", "message", "files")


@pytest.fixture(scope="module")
def keeper(session_program):
    keeper = lasting_keeper(session_program, "warm-languages")
    yield keeper
    keeper.stop()


def comparable(value):
    """Without addresses, which differ in any two runs."""
    return re.sub(r"0x[0-9a-f]+", "0x", json.dumps(value))


def differences(keeper, sandbox, language, code):
    flags = ["--stdin", "/etc/passwd", "-e", "EXTRA=a 'b' c=d", "-e", "SPACE= ", "-t", "20s"]
    arguments = [] if language == "php" else ["--", "one two", "", "*"]
    warm = keeper.warm(code, *flags, language=language, after=arguments)
    cold = sandbox.run_json("-l", language, *flags, "-c", code, *arguments)
    return [(key, warm[key], cold[key]) for key in FIELDS if comparable(warm[key]) != comparable(cold[key])]


@pytest.mark.parametrize("language", PROGRAMS)
def test_warm_and_cold_give_the_same(keeper, sandbox, language):
    names = list(PROGRAMS[language])
    # What differs for an ordinary user is the same for all programs: a few are enough.
    names = names if sandbox.user == "root" else names[::5]
    found = {}
    for name in names:
        for _ in range(3 if name == "seconds" else 1):  # One may turn over in one of the two.
            found[name] = differences(keeper, sandbox, language, PROGRAMS[language][name])
            if not found[name]:
                break
    assert not any(found.values()), {name: what for name, what in found.items() if what}


# ---- one run never sees another ----

# What a run leaves, and what the next prints that must not find it.
TRACES = {
    "perl": {
        "a global": ("$main::left = 1; $INC{'left.pm'} = 1;", "print defined $main::left, exists $INC{'left.pm'}, 'none'", "none"),
        "a patched module": ("require POSIX; no warnings; *POSIX::floor = sub { 'patched' }; *CORE::GLOBAL::time = sub { 1 };",
                             "require POSIX; print POSIX::floor(2.5), time > 1", "21"),
        "the environment": ("$ENV{LEFT} = 1;", "print exists $ENV{LEFT} ? 1 : 0", "0"),
        "the directory": ("chdir '/tmp'; umask 0777;", "require Cwd; print Cwd::getcwd(), umask", "/workspace18"),
        "a handler": ("$SIG{USR1} = 'IGNORE';", "print $SIG{USR1} // 'none'", "none"),
        "a descriptor": ("open my $f, '>', '/tmp/x'; open(F, '>&', $f); $^F = 100; sleep 0;",
                         "opendir my $d, '/proc/self/fd'; print scalar grep { /\\d/ } readdir $d", "4"),
        "a process": ("if (!fork) { sleep 60 }", "opendir my $d, '/proc'; print scalar grep { /^\\d/ } readdir $d", "2"),
        "a file": ("open F, '>', 'left'; open F, '>', '/tmp/left';", "print grep { -e } 'left', '/tmp/left'; print 'none'", "none"),
    },
    "ruby": {
        "a global": ("$left = 1; Left = 1", "p $left, defined?(Left)", "nil\nnil"),
        "a patched module": ("class String; def upcase = 'patched'; end; module Kernel; def left = 1; end",
                             "p 'a'.upcase, respond_to?(:left, true)", '"A"\nfalse'),
        "the environment": ("ENV['LEFT'] = '1'", "p ENV['LEFT']", "nil"),
        "the directory": ("Dir.chdir('/tmp'); File.umask(0)", "p Dir.pwd, File.umask", '"/workspace"\n18'),
        "a handler": ("trap('USR1', 'IGNORE')", "p trap('USR1', 'DEFAULT')", '"DEFAULT"'),
        "a descriptor": ("IO.for_fd(1, autoclose: false).dup", "p Dir.children('/proc/self/fd').map(&:to_i).max < 7", "true"),
        "a process": ("fork { sleep 60 }", "p Dir.children('/proc').grep(/^\\d/).size", "2"),
        "a thread": ("Thread.new { sleep }; at_exit { 1 }", "p Thread.list.size", "1"),
        "a file": ("File.write('left', ''); File.write('/tmp/left', '')", "p File.exist?('left'), File.exist?('/tmp/left')", "false\nfalse"),
    },
    "lua": {
        "a global": ("left = 1 package.loaded.left = 1 string.upper = nil", "print(left, package.loaded.left, ('a'):upper())", "nil\tnil\tA"),
        "a metatable": ("getmetatable('').__index = function() return 'patched' end", "print(('a').x)", "nil"),
        "a locale": ("os.setlocale('C')", "print(os.setlocale())", "C"),
        "a file": ("io.open('left', 'w') io.open('/tmp/left', 'w')", "print(io.open('left'), io.open('/tmp/left'))", None),
        "a process": ("os.execute('sleep 60 &')", "for l in io.popen('ls -d /proc/[0-9]* | wc -l'):lines() do print(tonumber(l) < 6) end", "true"),
    },
    "php": {
        "a global": ("<?php $GLOBALS['left'] = 1; define('LEFT', 1); function left() {} ini_set('precision', 3);",
                     "<?php var_dump(isset($left), defined('LEFT'), function_exists('left'), ini_get('precision'));",
                     'bool(false)\nbool(false)\nbool(false)\nstring(2) "14"'),
        "the environment": ("<?php putenv('LEFT=1');", "<?php var_dump(getenv('LEFT'));", "bool(false)"),
        "the directory": ("<?php chdir('/tmp'); umask(0);", "<?php echo getcwd(), umask();", "/workspace18"),
        "a descriptor": ("<?php $f = fopen('/tmp/x', 'w');", "<?php echo max(array_map('intval', scandir('/proc/self/fd'))) < 6;", "1"),
        "a process": ("<?php exec('sleep 60 >/dev/null 2>&1 &');", "<?php echo count(preg_grep('/^\\d/', scandir('/proc')));", "2"),
        "a file": ("<?php touch('left'); touch('/tmp/left');", "<?php var_dump(file_exists('left'), file_exists('/tmp/left'));", "bool(false)\nbool(false)"),
    },
    "shell": {
        "a variable": ("left=1; export LEFT=1; PATH=/nowhere", "echo ${left-none} ${LEFT-none} $PATH", "none none /usr/local/bin:/usr/bin:/bin"),
        "a function": ("echo() { builtin echo patched; }; export -f echo; alias ls=left; shopt -s expand_aliases", "echo fine; alias; shopt expand_aliases",
                       "fine\nexpand_aliases \toff"),
        "an option": ("set -o noglob; shopt -s nullglob; ulimit -n 20", "echo $-; ulimit -n", "hB\n256"),
        "the directory": ("cd /tmp; umask 0", "pwd; umask; echo ${OLDPWD-none}", "/workspace\n0022\nnone"),
        "a trap": ("trap 'echo left' EXIT; trap '' USR1", "trap; echo none", "none"),
        "a descriptor": ("exec 7>/tmp/x", "[ -e /proc/self/fd/7 ] || echo none", "none"),
        "a process": ("sleep 60 & disown", "set -- /proc/[0-9]*; echo $#", "2"),
        "a file": ("touch left /tmp/left /dev/shm/left", "ls left /tmp/left /dev/shm/left 2>/dev/null || echo none", "none"),
    },
}
PAIRS = [(language, name) for language, traces in TRACES.items() for name in traces]


@pytest.mark.parametrize("language,name", PAIRS, ids=[f"{language} {name}" for language, name in PAIRS])
def test_nothing_of_a_run_is_in_the_next(keeper, language, name):
    before, after, expected = TRACES[language][name]
    keeper.warm(before, "-t", "20s", language=language)
    for _ in range(4):  # Containers take turns: one of these is in that of the first.
        result = keeper.warm(after, language=language)
        if expected is None:
            assert "No such file" in result["stdout"], result
        else:
            assert result["stdout"].strip() == expected, result


RANDOM = [
    ("perl", "print rand"),
    ("perl", "srand; print rand"),
    ("perl", "use File::Temp; print File::Temp::tempnam('/tmp', 'x')"),
    ("ruby", "p rand"),
    ("ruby", "p Random.seed"),
    ("ruby", "p [*1..50].shuffle"),
    ("ruby", "require 'securerandom'; p SecureRandom.hex, Random.urandom(4)"),
    ("lua", "print(math.random(1 << 40))"),
    ("php", "<?php echo mt_rand();"),
    ("php", "<?php echo rand(), lcg_value();"),
    ("php", "<?php echo random_int(0, PHP_INT_MAX), uniqid('', true);"),
    ("php", "<?php $a = range(1, 50); shuffle($a); echo join(',', $a);"),
    ("shell", "echo $RANDOM $RANDOM $RANDOM"),
    ("shell", "echo $SRANDOM"),
    ("shell", "mktemp -u"),
]


@pytest.mark.parametrize("language,code", RANDOM)
def test_randomness_differs_between_runs(keeper, language, code):
    results = [keeper.warm(code, language=language) for _ in range(4)]
    assert all(result["stdout"] for result in results), results
    assert len({result["stdout"] for result in results}) == 4


COLD = [("perl", "PERL5OPT=-w"), ("perl", "PERL_HASH_SEED=0"), ("ruby", "RUBYOPT=-w"), ("ruby", "GEM_PATH=/x"), ("lua", "LUA_INIT=x=1"),
        ("php", "PHPRC=/tmp"), ("shell", "BASH_ENV=/tmp/x"), ("shell", "SHELLOPTS=noglob"), ("shell", "LD_PRELOAD=/tmp/x")]
EMPTY = {"php": "<?php", "shell": ":"}


@pytest.mark.parametrize("language,variable", COLD)
def test_variables_that_change_how_a_language_starts_are_for_executed_ones(keeper, language, variable):
    code = EMPTY.get(language, "")
    keeper.warm(code, language=language)
    for _ in range(2):
        assert keeper.run(code, "-e", variable, language=language)["metrics"]["warm"] == "none"


def test_php_with_arguments_is_executed(keeper):
    for _ in range(2):
        result = keeper.run("<?php echo join('|', $argv);", language="php", after=["--", "a", "b"])
        assert (result["stdout"], result["metrics"]["warm"]) == ("/code/main.php|a|b", "none")


def test_the_locale_is_each_runs_own(keeper):
    code = 'print(os.setlocale("", "ctype"))'
    assert keeper.warm(code, language="lua")["stdout"] == "C.UTF-8\n"
    assert keeper.warm(code, "-e", "LC_ALL=C", language="lua")["stdout"] == "C\n"
    assert keeper.warm("date +%H", "-e", "TZ=UTC-5", language="shell")["stdout"] != keeper.warm("date +%H", language="shell")["stdout"]


@pytest.mark.parametrize("language", TRACES)
def test_every_protection_of_a_cold_run_holds_in_a_warm_one(keeper, sandbox, language):
    code = EMPTY.get(language, "")
    states = [{p["name"]: p["state"] for p in result["protections"]}
              for result in (keeper.warm(code, language=language), sandbox.run_json("-l", language, "-c", code))]
    assert states[0] == states[1]


def interpreters(pid):
    """The environments of all processes below that are none of ours; one that ended meanwhile has none."""
    for child, _ in descendants(pid):
        with contextlib.suppress(OSError):
            if not os.readlink(f"/proc/{child}/exe").rpartition("/")[2].startswith("sandbox"):
                yield pathlib.Path(f"/proc/{child}/environ").read_bytes()


@pytest.mark.parametrize("language", ["python", *(name for name in PROGRAMS if name != "lua")])  # It loads nothing by itself.
def test_a_parked_interpreter_looks_for_nothing_in_a_workspace(sandbox, place, language):
    """On the host a directory of that name is anybody's: what lies there must not be loaded uncontained."""
    keeper = Keeper(sandbox, place).warm_up(language=language)
    try:
        keeper.settle()
        parked = list(interpreters(keeper.process.pid))
        assert parked and not any(b"=/workspace" in environment for environment in parked), parked
    finally:
        keeper.stop()
