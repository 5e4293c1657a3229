"""What a report needs to be evidence: which file it speaks of, how that was made, and what its promise comes to.

Nothing here is private: names as the user gave them, choices, digests of released files, sentences on public words.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordveil.documents import DocumentSettings
from wordveil.runs import RunReport
from wordveil.sanitizer import Sanitizer

__all__ = ["ALWAYS_ASSUMED", "Evidence", "ReleasedFile", "differences", "released_files"]

BLOCK = 1 << 20  # bytes hashed at a time

ALWAYS_ASSUMED = (
    "vocabulary, mechanism, parameters and word lists are public, and were not chosen by looking at these texts",
    "this is the only release of these texts: losses of several add up, and a choice among several voids the promise",
    "the key of the run was read by nobody; wordveil removes it when the run has succeeded",
)
"""What every release assumes, besides what its guarantee says."""


@dataclass(frozen=True, kw_only=True)
class ReleasedFile:
    """One file that left.

    Attributes:
        name: Its name, in a directory its path from there.
        bytes: Its size.
        sha256: Its digest, hexadecimal.
    """

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a report says beside what the run itself reports.

    Attributes:
        input: Name of the input, as given.
        output: Name of the output, as given.
        files: The released files; empty where they went to standard output or a device.
        options: Every choice by name, those around the mechanism and those of reading.
        in_words: What the promise comes to, one sentence each.
        notes: Choices made for the user, and words never output.
        assumptions: What every release assumes.
    """

    input: str
    output: str
    files: tuple[ReleasedFile, ...]
    options: dict[str, Any]
    in_words: tuple[str, ...]
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ALWAYS_ASSUMED

    @classmethod
    def of_run(
        cls,
        names: tuple[str, str],
        settings: DocumentSettings,
        sanitizer: Sanitizer,
        report: RunReport,
        notes: Sequence[str] = (),
    ) -> Evidence:
        """Gather it after a run.

        Args:
            names: Input and output, as given.
            settings: How the documents were read.
            sanitizer: What sanitized them.
            report: What the run reported.
            notes: Choices made for the user.
        """
        source, output = names
        words = sanitizer.in_words
        mean = max(1, round(report.tokens / max(1, report.documents)))
        said = [f"In one sentence: {words.sentence}.", *sanitizer.explained(mean).examples]
        options = asdict(sanitizer.options) | {"public_words": f"{len(sanitizer.options.public_words):,} words"}
        reading = {name.removeprefix("documents."): value for name, value in settings.fingerprint().items()}
        return cls(
            input=_shown(source, "standard input"),
            output=_shown(output, "standard output"),
            files=released_files(output),
            options=options | reading.pop("details") | reading,
            in_words=tuple(said),
            notes=tuple(notes),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return asdict(self)


def released_files(output: str | os.PathLike[str]) -> tuple[ReleasedFile, ...]:
    """Return the files of an output with their digests; none for "-" and devices."""
    path = Path(output)
    if os.fspath(output) == "-" or not (path.is_file() or path.is_dir()):
        return ()
    if path.is_file():
        return (_digested(path, path.name),)
    inside = sorted(entry for entry in path.rglob("*") if entry.is_file() and not entry.name.startswith("."))
    return tuple(_digested(entry, _printable(str(entry.relative_to(path)))) for entry in inside)


def differences(said: Sequence[ReleasedFile], found: Sequence[ReleasedFile]) -> list[str]:
    """Return in what files differ from what a report says of them, one sentence each; names of a single file may."""
    if len(said) == len(found) == 1:
        return [] if said[0].sha256 == found[0].sha256 else [f"{found[0].name}: other bytes than the report says"]
    before, now = {file.name: file.sha256 for file in said}, {file.name: file.sha256 for file in found}
    told = [f"{name}: is missing" for name in sorted(before.keys() - now.keys())]
    told += [f"{name}: is not in the report" for name in sorted(now.keys() - before.keys())]
    changed = (name for name in sorted(before.keys() & now.keys()) if before[name] != now[name])
    return told + [f"{name}: other bytes than the report says" for name in changed]


def _digested(path: Path, name: str) -> ReleasedFile:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return ReleasedFile(name=name, bytes=path.stat().st_size, sha256=digest.hexdigest())


def _shown(name: str, stream: str) -> str:
    return stream if name == "-" else _printable(name)


def _printable(name: str) -> str:
    """Return a file name as text: the bytes of one that is not UTF-8 as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
