"""The help, the man page and both completions name the same options."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SANDBOX_BIN", str(ROOT / "build/src/cli/sandbox"))
COMMANDS = ["run", "check", "languages", "templates", "policy", "history", "top", "doctor", "bench", "keeper",
            "mcp", "images"]
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])")


def help_options(command):
    """Every option at the beginning of a line of the help, long and short."""
    text = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True,
                          timeout=10).stdout
    lines = [line for line in text.splitlines() if re.match(r"  +(-[a-z], )?--", line)]
    assert lines, f"no options in the help of {command}"
    return {name for line in lines for name in OPTION.findall(line[:28])}


def man_section(title):
    text = (ROOT / "docs/man/sandbox.1").read_text()
    found = re.search(rf'^\.SH {title}\n(.*?)(?=^\.SH )', text, re.M | re.S)
    assert found, f"no section {title} in the man page"
    return found.group(1).replace("\\-", "-")


def man_options(title):
    """The options that head a paragraph: the line after .TP."""
    heads = re.findall(r"^\.TP\n(.*)$", man_section(title), re.M)
    return {name for head in heads for name in OPTION.findall(head.replace("\\ ", " "))}


def bash_run_options():
    text = (ROOT / "data/completions/sandbox.bash").read_text()
    found = re.search(r'run_options="(.*?)"', text, re.S)
    return set(found.group(1).split())


def zsh_run_options():
    text = (ROOT / "data/completions/_sandbox").read_text()
    body = re.search(r"^_sandbox_run\(\) \{\n(.*?)^\}", text, re.M | re.S).group(1)
    names = set()
    for line in body.splitlines():
        # '(-l --lang)'{-l,--lang}'[...]', '*--set[...]', '--json[...]': what stands before the text.
        spec = line.strip().split("[")[0]
        spec = re.sub(r"\([^)]*\)", " ", spec)
        names |= set(OPTION.findall(re.sub(r"[{},'*]", " ", spec)))
    return names - {"-S"}


def test_every_option_of_run_is_in_the_man_page_and_no_other():
    assert man_options("OPTIONS OF RUN") == help_options("run")


def test_every_option_of_run_is_in_the_bash_completion_and_no_other():
    assert bash_run_options() == help_options("run")


def test_every_option_of_run_is_in_the_zsh_completion_and_no_other():
    assert zsh_run_options() == help_options("run")


def test_the_options_of_the_other_commands_are_in_the_man_page_and_no_others():
    others = set().union(*(help_options(command) for command in COMMANDS if command != "run"))
    assert man_options("OPTIONS OF THE OTHER COMMANDS") == others - {"-h", "--help"}


@pytest.mark.parametrize("path", ["data/completions/sandbox.bash", "data/completions/_sandbox"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_completions_know_every_option_of_a_command(path, command):
    words = OPTION.findall(re.sub(r"[\[{},']", " ", (ROOT / path).read_text()))
    assert help_options(command) <= set(words)


def test_the_completions_know_every_command_and_no_other():
    bash = (ROOT / "data/completions/sandbox.bash").read_text()
    zsh = (ROOT / "data/completions/_sandbox").read_text()
    assert re.search(r'commands="(.*?)"', bash).group(1).split() == COMMANDS + ["help"]
    assert re.findall(r"^ +'([a-z]+):", zsh, re.M) == COMMANDS + ["help"]


def test_the_help_lists_the_commands_of_the_man_page():
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True,
                          timeout=10).stdout
    listed = re.search(r"^Commands:\n(.*?)\n\n", text, re.M | re.S).group(1)
    assert [line.split()[0] for line in listed.splitlines()] == COMMANDS
    man = man_section("COMMANDS")
    for command in COMMANDS:
        assert re.search(rf"^\.BI? \"?{command}\b", man, re.M), command


def test_the_bash_completion_is_valid_and_completes_an_option():
    script = (f"source {ROOT}/data/completions/sandbox.bash; COMP_WORDS=({PROGRAM} run --time); COMP_CWORD=2; "
              "_sandbox; echo ${COMPREPLY[@]}")
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=10)
    assert (run.stdout.strip(), run.stderr) == ("--timeout", "")


def takes_value(command):
    """Every name of an option, and whether the help shows a value after it."""
    text = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True, timeout=10).stdout
    found = {}
    for line in text.splitlines():
        if match := re.match(r"  +(?:(-[a-z]), )?(--[a-z-]+)( [^ ])?", line):
            found |= {name: match.group(3) is not None for name in match.group(1, 2) if name}
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_the_bash_completion_knows_which_options_take_a_value(command):
    options = takes_value(command)
    assert set(options) == help_options(command)
    script = (f"compopt() {{ :; }}; source {ROOT}/data/completions/sandbox.bash; cur=; COMP_WORDS=({PROGRAM} {command}); "
              f"for name in {' '.join(options)}; do _sandbox_value $name && printf '%s\\n' $name; done; true")
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert (set(run.stdout.split()), run.stderr) == ({name for name, takes in options.items() if takes}, "")


@pytest.mark.parametrize("path, words", [("data/completions/sandbox.bash", r'--only\) _sandbox_words "(.*?)"'),
                                         ("data/completions/_sandbox", r"--only\[.*?\]:rows:\((.*?)\)")])
def test_the_completions_know_the_rows_of_the_bench(path, words):
    refusal = subprocess.run([PROGRAM, "bench", "--only", "nothing"], capture_output=True, text=True, timeout=10)
    rows = re.search(r"the rows are (\S+)", refusal.stderr).group(1).split(",")
    assert re.search(words, (ROOT / path).read_text(), re.S).group(1).split() == rows


def test_the_synopsis_of_the_man_page_has_every_command():
    assert set(COMMANDS) <= set(re.findall(r"^\.B sandbox ([a-z]+)", man_section("SYNOPSIS"), re.M))
