"""Projects of several files, each language's usual kind."""

import pytest

GO_MAIN = 'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/x/util"\n)\n\nfunc main() { fmt.Println(util.Word()) }\n'
C_MAIN = "#include <stdio.h>\nconst char *word(void);\nint main(void) { puts(word()); return 0; }\n"
C_UTIL = 'const char *word(void) { return "made"; }\n'
PROJECTS = {
    "rust": {"Cargo.toml": '[package]\nname = "hello-cargo"\nversion = "0.1.0"\nedition = "2021"\n',
             "src/main.rs": 'mod util;\nfn main() { println!("{}", util::word()); }\n',
             "src/util.rs": 'pub fn word() -> &\'static str { "made" }\n'},
    "go": {"go.mod": "module example.com/x\n\ngo 1.18\n", "main.go": GO_MAIN,
           "util/util.go": 'package util\n\nfunc Word() string { return "made" }\n'},
    "javascript": {"package.json": '{"name": "x"}\n', "index.js": 'console.log(require("./util").word)\n',
                   "util.js": 'exports.word = "made"\n'},
    "typescript": {"main.ts": 'import { word } from "./util";\nconsole.log(word);\n',
                   "util.ts": 'export const word: string = "made";\n'},
    "typescript, a Node package": {
        "package.json": '{"name": "x", "type": "module", "main": "dist/index.js"}\n',
        "tsconfig.json": '{"compilerOptions": {"module": "nodenext", "moduleResolution": "nodenext", "skipLibCheck": true}}\n',
        "src/index.ts": 'import { word } from "./util.js";\nimport { basename } from "node:path";\n'
                        "console.log(basename(word));\n",
        "src/util.ts": 'export const word: string = "/usr/made";\n'},
    "typescript, with neither settings nor scripts": {
        "package.json": '{"name": "x"}\n', "index.ts": 'const word: string = "made";\nconsole.log(word);\n'},
    "javascript, with scripts in TypeScript beside": {
        "package.json": '{"name": "x"}\n', "index.js": 'console.log("made")\n', "types.ts": "export type A = string;\n"},
    "javascript, started as package.json says": {
        "package.json": '{"name": "x", "main": "bin/start.js"}\n', "bin/start.js": 'require("./word")\n',
        "bin/word.js": 'console.log("made")\n'},
    "python": {"__main__.py": "from util import word\nprint(word)\n", "util.py": 'word = "made"\n'},
    "java": {"src/Main.java": "public class Main {\n  public static void main(String[] a) "
                              "{ System.out.println(new Util().word()); }\n}\n",
             "src/Util.java": 'class Util { String word() { return "made"; } }\n'},
    "c": {"main.c": C_MAIN, "util.c": C_UTIL},
    "c++": {"main.cpp": '#include <iostream>\n#include "util.h"\nint main() { std::cout << word() << "\\n"; }\n',
            "util.h": "#include <string>\nstd::string word();\n",
            "util.cpp": '#include "util.h"\nstd::string word() { return "made"; }\n'},
    "make": {"Makefile": "hello: main.o util.o\n\t$(CC) -o $@ $^\n", "main.c": C_MAIN, "util.c": C_UTIL},
    "ruby": {"main.rb": 'require_relative "util"\nputs word\n', "util.rb": 'def word = "made"\n'},
    "perl": {"main.pl": 'use lib ".";\nuse Util;\nprint Util::word(), "\\n";\n',
             "Util.pm": 'package Util;\nsub word { "made" }\n1;\n'},
    "lua": {"main.lua": 'print(require("util").word)\n', "util.lua": 'return { word = "made" }\n'},
    "php": {"main.php": "<?php\nrequire 'util.php';\necho word(), \"\\n\";\n",
            "util.php": "<?php\nfunction word() { return 'made'; }\n"},
}


@pytest.mark.parametrize("kind", PROJECTS)
def test_a_project_of_this_language_runs(sandbox, missing_languages, place, kind):
    name = kind.split(",")[0]
    if name in missing_languages:
        pytest.skip(missing_languages[name])
    folder = make_project(place, PROJECTS[kind])
    result = sandbox.run_json(str(folder), timeout=600)
    assert (result["language"], result["status"], result["stdout"]) == (name, "ok", "made\n"), \
        (result["message"], result["stderr"], result["compile"])


JAVA = "public class %s {\n  public static void main(String[] a) { System.out.println(\"%s\"); }\n}\n"
GO = 'package main\n\nfunc main() { println("%s") }\n'
RUST = 'fn main() { println!("%s"); }\n'
CARGO = '[package]\nname = "both"\nversion = "0.1.0"\nedition = "2021"\n'
CALLS = "package x;\nclass Other { void call() { A.main(null); } }\n"
# Files, what an error names, and what --entry then chooses.
SEVERAL = {
    "java": ({"x/A.java": "package x;\n" + JAVA % ("A", "a"), "y/B.java": "package y;\n" + JAVA % ("B", "b")},
             ["x.A", "y.B"], {"x/A.java": "a\n", "y/B.java": "b\n"}),
    "rust": ({"Cargo.toml": CARGO, "src/bin/a.rs": RUST % "a", "src/bin/b/main.rs": RUST % "b"},
             ["src/bin/a.rs", "src/bin/b/main.rs"], {"src/bin/a.rs": "a\n", "src/bin/b/main.rs": "b\n"}),
    "go": ({"go.mod": "module example.com/x\n\ngo 1.18\n", "cmd/a/a.go": GO % "a", "cmd/b/b.go": GO % "b",
            "tools/gen.go": "//go:build ignore\n\n" + GO % "gen"},
           ["cmd/a", "cmd/b"], {"cmd/a/a.go": "a\n", "cmd/b/b.go": "b\n"}),
}
# Files of a project with several programs of which one is meant.
CLEAR = {
    "java, of which the other is called": {"x/A.java": "package x;\n" + JAVA % ("A", "meant"), "x/Other.java": CALLS},
    "java, two of one name": {"Main.java": JAVA % ("Main", "meant"), "a/Main.java": "package a;\n" + JAVA % ("Main", "no")},
    "rust, with a usual entry": {"Cargo.toml": CARGO, "src/main.rs": RUST % "meant", "src/bin/a.rs": RUST % "no"},
    "rust, as it says itself": {"Cargo.toml": CARGO + 'default-run = "a"\n', "src/bin/a.rs": RUST % "meant",
                                "src/bin/b.rs": RUST % "no"},
    "go, the only one": {"go.mod": "module example.com/x\n\ngo 1.18\n", "lib.go": "package x\n",
                         "cmd/a/a.go": GO % "meant"},
}


def make_project(place, files, name="project"):
    folder = place / name
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_programs_none_is_taken_by_chance(sandbox, missing_languages, place, name):
    if name in missing_languages:
        pytest.skip(missing_languages[name])
    files, listed, starts = SEVERAL[name]
    folder = make_project(place, files)
    result = sandbox.run_json("-l", name, str(folder), timeout=600)
    assert result["status"] == "compile_error", result
    assert "--entry" in result["message"] and all(one in result["message"] for one in listed), result["message"]
    assert "tools" not in result["message"]
    for entry, said in starts.items():
        result = sandbox.run_json(str(folder), "--entry", entry, timeout=600)
        assert result["stdout"] + result["stderr"] == said, result


def test_java_classes_that_are_not_public_are_told_apart(sandbox, missing_languages, place):
    """Whether a class has the method is read from what is said of it, which begins without a modifier there."""
    if "java" in missing_languages:
        pytest.skip(missing_languages["java"])
    main = "class {0} {{ public static void main(String[] a) {{ System.out.println(\"{0}\"); }} }}\n"
    caller = "class C { void call() { B.main(null); } }\n"
    one = sandbox.run_json("-l", "java", str(make_project(place / "one", {"B.java": main.format("B"), "C.java": caller})))
    assert (one["status"], one["stdout"]) == ("ok", "B\n"), one
    two = sandbox.run_json("-l", "java", str(make_project(place / "two", {"A.java": main.format("A"), "B.java": main.format("B")})))
    assert two["status"] == "compile_error" and two["message"].endswith("--entry: A B"), two


@pytest.mark.parametrize("kind", CLEAR)
def test_of_several_programs_the_one_that_is_meant_is_taken(sandbox, missing_languages, place, kind):
    name = kind.split(",")[0]
    if name in missing_languages:
        pytest.skip(missing_languages[name])
    result = sandbox.run_json("-l", name, str(make_project(place, CLEAR[kind])), timeout=600)
    assert (result["stdout"] + result["stderr"], result["status"]) == ("meant\n", "ok"), result


PACKAGE = {
    "__init__.py": "where = __name__\n",
    "__main__.py": "import sys\nfrom . import util\nfrom .inner import word\nimport util as neighbour\n"
                   "print(__name__, __package__, util.word, word, neighbour.word, sys.argv[1:])\n",
    "util.py": 'word = "made"\n',
    "tool.py": "from . import where, util\nprint(where, util.word)\n",
    "inner/__init__.py": "from ..util import word\n",
    "inner/__main__.py": "from .. import util, where\nprint(where, __package__, util.word)\n",
    "data.txt": "",
}
# What is asked for as --entry in the package above, and what comes of it.
STARTS = {
    "__main__.py": "__main__ parcel made made made ['a']",
    "parcel": "__main__ parcel made made made ['a']",
    "tool": "parcel made",
    "parcel.tool": "parcel made",
    "inner": "parcel parcel.inner made",
    "parcel.inner": "parcel parcel.inner made",
    "inner/__main__.py": "parcel parcel.inner made",
    "parcel/inner/__main__.py": "parcel parcel.inner made",
    "inner.__main__": "parcel parcel.inner made",
}
STARTS = {None: STARTS["__main__.py"], **STARTS}


def make_package(place):
    return make_project(place, PACKAGE, "parcel")


@pytest.mark.parametrize("entry", STARTS)
def test_a_python_package_knows_its_parts(sandbox, place, entry):
    folder = make_package(place)
    flags = ["--entry", entry] if entry else []
    result = sandbox.run_json(str(folder), *flags, "--", "a")
    assert (result["stdout"], result["files"]["created"]) == (STARTS[entry] + "\n", []), result["stderr"]


def test_a_python_package_beside_a_workspace_that_is_kept(sandbox, place):
    folder = make_package(place)
    (place / "kept").mkdir()
    sandbox.own(place / "kept")
    result = sandbox.run_json("--file", str(folder), "--workspace", str(place / "kept"), "--", "a")
    assert (result["stdout"], list((place / "kept").iterdir())) == (STARTS[None] + "\n", []), result["stderr"]


def test_a_python_package_in_a_project_is_started_by_its_name(sandbox, place):
    folder = place / "project"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg/__init__.py").write_text("")
    (folder / "pkg/__main__.py").write_text("from . import part\nprint(part.word)\n")
    (folder / "pkg/part.py").write_text("word = 'made'\nprint(__name__)\n")
    for entry, said in {"pkg": "pkg.part\nmade\n", "pkg/__main__.py": "pkg.part\nmade\n",
                        "pkg.part": "__main__\n", "pkg/part.py": "__main__\n"}.items():
        result = sandbox.run_json(str(folder), "--entry", entry)
        assert result["stdout"] == said, (entry, result["stderr"])


def test_an_entry_that_is_not_there(sandbox, place):
    folder = make_package(place)
    for entry in ("nothing", "parcel.nothing", "inner.", ".inner", "tool.py.x"):
        result = sandbox.run(str(folder), "--entry", entry)
        assert result.exit_code == 125 and result.stderr.startswith(b"sandbox: "), (entry, result)


def test_the_target_run_of_a_makefile_is_made_with_the_arguments(sandbox, missing_languages, place):
    if "make" in missing_languages:
        pytest.skip(missing_languages["make"])
    folder = place / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("made.txt:\n\techo made >$@\nrun: made.txt\n\t@cat made.txt; echo $(ARGS)\n")
    result = sandbox.run_json(str(folder), "--", "one", "two")
    assert result["stdout"] == "made\none two\n", result
