"""Does private text leave by a side door: logs, warnings, standard output, errors, files and their names?

A canary is run through the callable, with texts that are likely to make it fail as well, while everything that
Python lets us watch is watched. Not seen: other processes, network, and writes outside the working folder.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wordveil.auditing.findings import Finding, result
from wordveil.auditing.subjects import TextFunction

PLACES = ("logs", "warnings", "standard output", "errors", "files and file names")


def check_side_doors(function: TextFunction, *, seed: int = 0) -> list[Finding]:
    """Return one finding for each place a canary may turn up in; the function runs in a temporary working folder.

    Not for use while other threads log, print or change the working folder: they would be watched too.
    """
    canary = "zq" + "".join(np.random.default_rng(seed).choice(list("bcdfghjkmnpqrstvwxz"), size=14))
    seen = dict.fromkeys(PLACES, 0)
    texts = [
        canary,
        f"a {canary.upper()} b",
        f"{canary}\x00{canary}",
        f"{canary} \ud800",
        f"{canary}/../{canary}",
        f"{{{canary}}} %s %({canary})s",
        f"\n\n{canary}\r\n\t",
        f"{canary} " * 500,
    ]
    for text in texts:
        for place, content in _watch(function, text).items():
            seen[place] += canary in content.casefold()
    return [
        result(
            check=f"private text in {place}",
            bad=seen[place] > 0,
            observed=f"the canary turned up for {seen[place]} of {len(texts)} texts",
            expected="never",
            alpha=0.0,
        )
        for place in PLACES
    ]


@contextlib.contextmanager
def _logs() -> Iterator[io.StringIO]:
    root, lines = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(lines), root.level
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _watch(function: TextFunction, text: str) -> dict[str, str]:
    printed, errors = io.StringIO(), ""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, _logs() as logged, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                function(text)
        except Exception as problem:  # noqa: BLE001 - whatever it raises is what we look at
            errors = _messages(problem)
        finally:
            os.chdir(home)
        files = _files(Path(folder))
    return {
        "logs": logged.getvalue(),
        "warnings": "\n".join(str(item.message) for item in warned),
        "standard output": printed.getvalue(),
        "errors": errors,
        "files and file names": files,
    }


def _messages(problem: BaseException) -> str:
    """Return the messages of the error, of its causes and its notes, but not source lines."""
    parts: list[str] = []
    current: BaseException | None = problem
    while current is not None:
        parts += [str(current), repr(current), *traceback.format_exception_only(current)]
        current = current.__cause__ or current.__context__
    return "\n".join(parts)


def _files(folder: Path) -> str:
    found = []
    for path in sorted(folder.rglob("*")):
        found.append(str(path.relative_to(folder)))
        if path.is_file():
            found.append(path.read_bytes()[: 1 << 20].decode("utf-8", "replace"))
    return "\n".join(found)
