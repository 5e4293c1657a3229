"""What the laboratory is told in TOML files beside its modules: tables, sizes and sentences."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def told(place: str) -> dict[str, Any]:
    """Return what such a file says, named from the package's folder as in "papers/about.toml"."""
    return tomllib.loads(files("wordveil_lab").joinpath(place).read_text(encoding="utf-8"))
