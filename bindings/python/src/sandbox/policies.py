"""Policies from files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Union

import yaml

from .errors import PolicyValidationError
from .models import ExecutionPolicy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _parse(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        raise PolicyValidationError(f"{path}: {error}") from error


def load_policy(path: Union[str, os.PathLike[str]] = "policy.toml") -> ExecutionPolicy:
    """The policy of a TOML or YAML file with the fields of ExecutionPolicy.

    A file that is not there gives the defaults; what it says wins over them, and its `env` is added to
    that of the defaults. The fields may stand under a table `policy`.
    """
    place = Path(path)
    if not place.exists():
        return ExecutionPolicy()
    data = _parse(place)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise PolicyValidationError(f"{place}: fields and values expected, not {type(data).__name__}")
    if isinstance(data.get("policy"), dict) and len(data) == 1:
        data = data["policy"]
    defaults = ExecutionPolicy()
    merged = {**data, "env": {**defaults.env, **data["env"]}} if isinstance(data.get("env"), dict) else data
    try:
        return ExecutionPolicy(**{str(key): value for key, value in merged.items()})
    except PolicyValidationError as error:
        raise PolicyValidationError(f"{place}: {error}", error.errors) from None
