"""Which class or package is started, and where an error is told: as the caller wrote the code, not as tools see it."""

import pytest

BODY = '{ public static void main(String[] a) { System.out.println("made"); } }\n'
JAVA = {
    "after an import": "import java.util.*; public class M " + BODY,
    "behind a comment": "/* public class Old\npublic class Older {} */ public class M " + BODY,
    "with other letters": "class Node {}\npublic\nclass Größe " + BODY,
}


@pytest.fixture
def needs(missing_languages):
    def check(name):
        if name in missing_languages:
            pytest.skip(missing_languages[name])
    return check


@pytest.mark.parametrize("code", JAVA.values(), ids=JAVA.keys())
def test_a_public_class_may_have_any_name(sandbox, needs, code):
    needs("java")
    result = sandbox.run_json("-l", "java", "-c", code)
    assert result["stdout"] == "made\n", result


def test_a_java_error_in_a_template_is_in_the_callers_line(sandbox, needs, place):
    needs("java")
    template = place / "main.yaml"
    sandbox.make_file(template, "name: main\nlanguage: java\ncode: |\n  public class Main {\n   public static void main(String[] a) {\n"
                                "    {{code}}\n  }}\n")
    result = sandbox.run_json("--template", str(template), "-c", 'int x = 1;\nint y = "s";\n')
    assert result["status"] == "compile_error" and "/code/Main.java:2:" in result["compile"]["stderr"], result
    assert result["message"].endswith("(line 2)")


def test_a_typescript_error_is_in_the_callers_line(sandbox, needs):
    needs("typescript")
    code = 'interface A {\n  a: number;\n}\n\nfunction fail(x: A): never {\n  throw new Error("boom");\n}\nfail({ a: 1 });\n'
    result = sandbox.run_json("-l", "typescript", "-c", code)
    assert "/code/main.ts:6" in result["stderr"] and "main.js" not in result["stderr"], result["stderr"]


def test_the_package_of_a_go_entry_is_built(sandbox, needs, place):
    needs("go")
    folder = sandbox.make_directory(place / "module")
    sandbox.make_directory(folder / "cmd")
    sandbox.make_directory(folder / "cmd/app")
    sandbox.make_file(folder / "go.mod", "module example.com/x\n\ngo 1.18\n")
    sandbox.make_file(folder / "word.go", 'package x\n\nfunc Word() string { return "made" }\n')
    sandbox.make_file(folder / "cmd/app/main.go", 'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/x"\n)\n\n'
                                                  "func main() { fmt.Println(x.Word()) }\n")
    result = sandbox.run_json(str(folder), "--entry", "./cmd/app/main.go", timeout=300)
    assert result["stdout"] == "made\n", result
