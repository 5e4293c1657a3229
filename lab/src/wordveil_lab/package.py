"""The laboratory as a package: the clone that it lies in, the extras that it names, the TOML files that it brings."""

from __future__ import annotations

import importlib
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from wordveil.api import MissingExtraError

ROOT = Path(__file__).resolve().parents[3]
"""The folder of the clone; of no use where the laboratory is installed from a wheel."""


def from_extra(module: str, what: str, extra: str, package: str) -> Any:
    """Return a module of a package which an extra of wordveil-lab brings."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_extra(what, package, extra) from error


def missing_extra(what: str, module: str, extra: str) -> MissingExtraError:
    """Return the error of something that needs a package which an extra of wordveil-lab brings."""
    return MissingExtraError(what, module, extra, remedy=f"pip install 'wordveil-lab[{extra}]'")


@cache
def told(place: str) -> dict[str, Any]:
    """Return what such a file says, named from the package's folder as in "papers/about.toml"."""
    return tomllib.loads(files("wordveil_lab").joinpath(place).read_text(encoding="utf-8"))
