"""Says what the library says of Python parameters in the words of the command line: one line, options by name."""

from __future__ import annotations

import math
import os
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from wordveil.errors import ParameterError, WordveilError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.plugins import mechanism_class


@cache
def _words() -> dict[str, Any]:
    """Return the options that parameters have, and what stands for a Python expression in a message."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def told(error: Exception, options: Mapping[str, str], given: Sequence[str]) -> str:
    """Return what an expected error says, on one line, in the words of the command line."""
    if isinstance(error, ParameterError) and not error.sentence:
        message = _of_parameter(error, options, given)
    elif isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        message = f"{place}{error.strerror}."  # without its number
    else:
        message = str(error)
    for python, words in _words()["phrases"]:
        message = re.sub(python, words, message)
    # A file name may hold anything, and a message of another library several lines.
    return " ".join(message.encode("utf-8", "backslashreplace").decode().split("\n"))


def _parameters(given: Sequence[str]) -> set[str]:
    after = [value for option, value in pairwise(given) if option in ("-m", "--mechanism")]
    try:
        return {field.name for field in fields(mechanism_class(after[-1] if after else DEFAULT_MECHANISM))}
    except WordveilError:
        return set()


def _of_parameter(error: ParameterError, options: Mapping[str, str], given: Sequence[str]) -> str:
    name = options.get(error.name) or _words()["options"].get(error.name, error.name)
    if name == error.name and "settings" in options and error.name in _parameters(given):
        name = f"--set {error.name}"
    value, requirement = error.value, error.requirement
    if isinstance(value, float) and not math.isfinite(value):
        requirement = f"is not a finite number; it {requirement}"
    if value is None or isinstance(value, bool) or value == ():
        return f"{name} {requirement}"
    if isinstance(value, tuple | list):  # as it was typed
        return f"{' '.join(f'{name} {shlex.quote(str(one))}' for one in value)} {requirement}"
    return f"{name}={value!r} {requirement}"
