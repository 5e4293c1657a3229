"""Says what the library says of Python parameters in the words of the command line: one line, options by name."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise

from wordveil.errors import ParameterError, WordveilError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.plugins import mechanism_class

_OPTIONS = {
    "destination": "--output",
    "source": "IN",
    "columns": "--column",
    "max_nats": "--max-nats-per-user",
    "user": "--user-column",
    "over": "--over-budget",
    "candidate_rule": "--candidates",
    "every_output": "--exclude-outputs",
    "block_characters": "--block-tokens",
    "labels": "--label",
    "model_directory": "--model",
}
"""Parameter of the library -> option, where the name alone does not say it."""

_PHRASES = (
    (r"\bover='drop' or 'truncate'", "--over-budget drop or truncate"),
    (r"(?<!-)\b(calibration|numbers)='([\w-]+)'", r"--\1 \2"),
    (r"at least one grid, and a grid requires", "at least one --grid, and --grid requires"),
    (r"pass allow_refuted=True", "add --allow-refuted"),
    (r"\b(again|resume)=True", r"--\1"),
    (r"\balso in keep\b", "also in --keep"),
    (r"\ballow_refuted=True", "--allow-refuted"),
    (r"pass gamma explicitly", "give it with --set gamma=VALUE"),
    (r"; make one for these inputs with certify\(\)", ""),
    (r"pass certify\(mechanism, embeddings\)", "make one with wordveil certify"),
    (
        r"keep=\[\.\.\.\] copies those it names, keep_others=True copies all, drop_others=True leaves them out",
        "--keep NAME copies one, --keep-others copies all, --drop-others leaves them out",
    ),
    (r"\b(keep|drop)_others\b(=True)?", r"--\1-others"),
    (r"in \(0, inf\)", "greater than 0"),
    (r"in \[0, inf\)", "0 or greater"),
    (r"in \(0, 1\)", "greater than 0 and less than 1"),
    (r"in \[0, 1\)", "0 or greater and less than 1"),
    (r"or None for all\.", "or 0 for all."),
    (r",? or None (for|to|where) ", r"; leave it out \1 "),
    (r",? or None\b", ""),
)
"""What stands for a Python expression in a message."""


def told(error: Exception, options: Mapping[str, str], given: Sequence[str]) -> str:
    """Return what an expected error says, on one line, in the words of the command line."""
    if isinstance(error, ParameterError) and not error.sentence:
        message = _of_parameter(error, options, given)
    elif isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        message = f"{place}{error.strerror}."  # without its number
    else:
        message = str(error)
    for python, words in _PHRASES:
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
    name = options.get(error.name) or _OPTIONS.get(error.name, error.name)
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
