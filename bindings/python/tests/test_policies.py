import pytest

from sandbox import ExecutionPolicy, PolicyValidationError, load_policy

TOML = 'memory_bytes = 64000000\n[env]\nA = "1"\n'
YAML = "memory_bytes: 64000000\nenv: {A: '1'}\n"


@pytest.mark.parametrize(("name", "text"), [("p.toml", TOML), ("p.yaml", YAML),
                                            ("p.toml", "[policy]\n" + TOML.replace("[env]", "[policy.env]"))])
def test_a_file_wins_over_the_defaults(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert load_policy(tmp_path / name) == ExecutionPolicy(memory_bytes=64_000_000, env={"A": "1"})


def test_no_file_and_an_empty_one_give_the_defaults(tmp_path, monkeypatch):
    (tmp_path / "e.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert load_policy() == load_policy(str(tmp_path / "e.yaml")) == ExecutionPolicy()
    with pytest.raises(PolicyValidationError, match="no such file"):
        load_policy("strict.toml")


@pytest.mark.parametrize(("name", "text", "words"), [
    ("p.toml", "memory_bytes = ", "p.toml"), ("p.yaml", "a: [", "p.yaml"), ("p.yaml", "- 1", "fields and values"),
    ("p.toml", "memory_bytes = 0", "p.toml: invalid policy: memory_bytes"), ("p.toml", "x = 1", "x: Extra"),
    ("p.yaml", "env: 3", "env")])
def test_a_bad_file_names_itself_and_the_field(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(PolicyValidationError, match=words):
        load_policy(tmp_path / name)
