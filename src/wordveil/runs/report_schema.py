"""The form of a report that travels: its schema, its canonical bytes and their checksum, and how it is read again.

A report is a JSON object. As HTML it stands in a data block of its page, from which the whole page can be written anew.
`schema` is "MAJOR.MINOR": a newer minor version adds fields, a newer major one changes what fields mean. A reader
refuses both: what it does not know, it could not hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.errors import DataFormatError, ParameterError
from wordveil.promises.number_grids import NumberGrid
from wordveil.promises.release import Provenance, TextOptions
from wordveil.runs.digests import FileDigest

SCHEMA, FIRST = "1.0", (1, 0)
_APART = ("checksum", "signature")  # of the other facts
_OPENING, _CLOSING = '<script type="application/json" id="wordveil-report">', "</script>"


@dataclass(frozen=True, kw_only=True)
class StoredReport:
    """A report as it lies in a file."""

    path: Path
    facts: Mapping[str, Any]
    text: str
    html: bool

    def check_version(self) -> None:
        """Raise `DataFormatError` where another version of wordveil wrote it, whose wording it may have."""
        version = self.facts["provenance"].get("version")
        if version != __version__:
            problem = f"was written by wordveil {version}, whose wording is not this version's: it cannot be checked."
            raise DataFormatError(self.path, problem, remedy=f"Check it with wordveil {version}.")

    @property
    def outputs(self) -> tuple[FileDigest, ...]:
        """The released files; none where the release went to standard output."""
        return tuple(FileDigest(**file) for file in self.facts.get("outputs", ()))

    @property
    def provenance(self) -> Provenance:
        return Provenance(**self.facts["provenance"])

    @property
    def options(self) -> TextOptions:
        options = dict(self.facts["options"])
        try:
            grids = tuple(NumberGrid(**grid) for grid in options.pop("grids", ()))
            return TextOptions(**{**options, "grids": grids})
        except ParameterError as problem:
            raise TypeError from problem


def canonical(facts: Mapping[str, Any]) -> bytes:
    """Return the bytes that stand for a report: all its facts, whatever their order, but checksum and signature."""
    facts = {name: fact for name, fact in facts.items() if name not in _APART}
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def checksum(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical bytes."""
    return hashlib.sha256(canonical(facts)).hexdigest()


def sealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts with their checksum, and without a signature of other facts."""
    return {**{name: fact for name, fact in facts.items() if name not in _APART}, "checksum": checksum(facts)}


def data_block(facts: Mapping[str, Any]) -> str:
    """Return the element of a page that holds a report; no text of it can end the element."""
    return f"{_OPENING}{json.dumps(facts, ensure_ascii=True).replace('<', chr(92) + 'u003c')}{_CLOSING}"


def read_report(path: str | os.PathLike[str]) -> StoredReport:
    """Read a report, JSON or HTML, of this version's schema or an older one.

    Raises:
        DataFormatError: If it is no report, names no schema, or its schema is newer.
    """
    place = Path(path)
    try:
        text = place.read_bytes().decode("utf-8")  # line ends as they are: a page is compared byte for byte
        html = place.suffix.lower() in (".html", ".htm")
        if html != text.lstrip().startswith("<") or not (html or place.suffix.lower() == ".json"):
            raise ValueError  # a window may draw as a page what programs read as JSON
        facts = json.loads(_data_of(text) if html else text, object_pairs_hook=_once)
        stored = StoredReport(path=place, facts=facts, text=text, html=html)
        if not {"guarantee", "provenance", "schema"} <= set(facts):
            raise ValueError
        schema = _version(facts["schema"])
        newer = schema > _version(SCHEMA)
        if schema < FIRST:
            raise ValueError
    except (ValueError, TypeError, AttributeError, RecursionError):
        problem = "is no report of `wordveil sanitize` or another command, in JSON or HTML."
        raise DataFormatError(place, problem) from None
    if newer:
        problem = f"is a report of schema {facts['schema']}, which this version cannot read; it reads {SCHEMA}."
        raise DataFormatError(place, problem, remedy="Install a newer wordveil.")
    return stored


def _version(schema: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", schema)
    if numbers is None:
        raise ValueError
    return int(numbers[1]), int(numbers[2])


def _data_of(page: str) -> str:
    _, opening, rest = page.partition(_OPENING)
    block, closing, rest = rest.partition(_CLOSING)
    if not (opening and closing) or _OPENING in rest:
        raise ValueError
    return block


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a name that stands twice, or that looks like a path, would be read in two ways."""
    if len(dict(pairs)) < len(pairs) or any(set(name) & set(".[]") for name, _ in pairs):
        raise ValueError
    return dict(pairs)
