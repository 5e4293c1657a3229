"""Readers of evaluation data: scored pairs, labelled texts and texts with typed spans, from files of rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.api import DataFormatError
from wordveil_lab.rows import locate, read_rows, thinned


@dataclass(frozen=True, kw_only=True)
class ScoredPair:
    """Two texts or words and a human score."""

    first: str
    second: str
    score: float


@dataclass(frozen=True, kw_only=True)
class LabelledText:
    """A text and its class."""

    text: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Spans:
    """A text with typed character ranges."""

    text: str
    spans: tuple[tuple[str, int, int], ...]  # (type, start, end) of each range, characters, end exclusive


def scored_pairs(name: str | os.PathLike[str], columns: tuple[str, str]) -> list[ScoredPair]:
    """Return the pairs of a file with these two columns and a score."""
    pairs = []
    for row in read_rows(name, (*columns, "score")):
        try:
            value = float(row["score"])
        except (TypeError, ValueError):
            raise DataFormatError(locate(name), "column score must hold numbers.") from None
        pairs.append(ScoredPair(first=str(row[columns[0]]), second=str(row[columns[1]]), score=value))
    return pairs


def read_labelled(
    name: str | os.PathLike[str], *, text: str = "text", label: str = "label", limit: int | None = None
) -> list[LabelledText]:
    """Return labelled texts; a limit takes every k-th row, so that sorted files keep their mixture.

    Columns of text joined by "+" are joined by a space; the label a.b goes into nested values.
    """
    columns = text.split("+")
    rows = list(read_rows(name, (*columns, label.partition(".")[0])))
    texts = [
        LabelledText(text=" ".join(str(row[column]) for column in columns), label=str(_nested(row, label)))
        for row in rows
    ]
    return thinned(texts, limit)


def read_texts(name: str | os.PathLike[str], *, column: str = "text", limit: int | None = None) -> list[str]:
    """Return the texts of a column without their markup; a limit takes every k-th row."""
    return [plain(text) for text in thinned([str(row[column]) for row in read_rows(name, (column,))], limit)]


def plain(text: str) -> str:
    """Return a text without its markup: *br* would be the commonest content word of reviews."""
    return re.sub(r"</?[A-Za-z][^<>]*>", " ", text)


def train_and_test(
    train: str, test: str | None, *, text: str = "text", label: str = "label", limits: tuple[int | None, int | None]
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return training and test texts: of two files, or of one whose texts are split, a fixed fifth for the test.

    Of one file the first of the limits counts for both together.
    """
    own = read_labelled(train, text=text, label=label, limit=limits[0])
    if test is not None:
        return own, read_labelled(test, text=text, label=label, limit=limits[1])
    mixed = [own[i] for i in mixed_order(len(own))]
    return mixed[len(mixed) // 5 :], mixed[: len(mixed) // 5]


def mixed_order(n: int) -> list[int]:
    """Return a fixed public permutation of n rows: files are often sorted or alternate by class."""
    return [int(i) for i in np.random.Generator(np.random.PCG64(0)).permutation(n)]


def _nested(row: Mapping[str, Any], name: str) -> Any:
    value: Any = row
    for part in name.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    return value


def read_spans(name: str | os.PathLike[str]) -> list[Spans]:
    """Return texts with typed character spans (fields text and spans of {type, start, end})."""
    found = []
    for row in read_rows(name, ("text", "spans")):
        text = str(row["text"])
        try:
            spans = tuple((str(s["type"]), int(s["start"]), int(s["end"])) for s in row["spans"])
        except (TypeError, KeyError, ValueError):
            raise DataFormatError(locate(name), "spans must hold type, start and end.") from None
        if any(not 0 <= start < end <= len(text) for _, start, end in spans):
            raise DataFormatError(locate(name), "a span lies outside its text.")
        found.append(Spans(text=text, spans=spans))
    return found
