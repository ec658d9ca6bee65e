"""Policies from files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Optional, Union

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


DEFAULT = "policy.toml"


def load_policy(path: Optional[Union[str, os.PathLike[str]]] = None) -> ExecutionPolicy:
    """The policy of a TOML or YAML file with the fields of ExecutionPolicy.

    What it says wins over the defaults, and its `env` is added to theirs. The fields may stand under a
    table `policy`. Without a path it is `policy.toml` here, if there is one; a file that was named and is
    not there is an error: its limits would not hold.
    """
    place = Path(path if path is not None else DEFAULT)
    if path is None and not place.exists():
        return ExecutionPolicy()
    if not place.is_file():
        raise PolicyValidationError(f"{place}: no such file")
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
