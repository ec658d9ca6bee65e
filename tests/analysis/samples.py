"""The samples of tests/analysis/samples: what analysis must find in them, and nothing else."""

import pathlib

import yaml

FOLDER = pathlib.Path(__file__).parent / "samples"

# How a policy file calls the lists that samples name shortly.
LISTS = {name: f"forbidden_{name}" for name in ("imports", "functions", "commands", "patterns")}


def load():
    """Yields language and sample, in the order of the files."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for sample in yaml.safe_load(path.read_text(encoding="utf-8")):
            yield path.stem, sample


def policy_text(language, sample):
    """The policy file of a sample, or None where it has none."""
    if "policy" not in sample:
        return None
    lists = {LISTS[name]: items for name, items in sample["policy"].items()}
    return yaml.safe_dump({"analysis": {language: lists}})


def findings_of(report):
    """The findings as the samples write them: rule:line, "~" for a guess."""
    return sorted(f"{finding['rule']}:{finding['line']}{'~' if finding['guess'] else ''}"
                  for finding in report["findings"])
