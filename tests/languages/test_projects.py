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
    folder = place / "project"
    for path, text in PROJECTS[kind].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    result = sandbox.run_json(str(folder), timeout=600)
    assert (result["language"], result["status"], result["stdout"]) == (name, "ok", "made\n"), \
        (result["message"], result["stderr"], result["compile"])


def test_the_target_run_of_a_makefile_is_made_with_the_arguments(sandbox, missing_languages, place):
    if "make" in missing_languages:
        pytest.skip(missing_languages["make"])
    folder = place / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("made.txt:\n\techo made >$@\nrun: made.txt\n\t@cat made.txt; echo $(ARGS)\n")
    result = sandbox.run_json(str(folder), "--", "one", "two")
    assert result["stdout"] == "made\none two\n", result
