"""Small public files of rows in two plain formats: texts to learn from and to measure with, the caller's own or shared.

    .tsv          one header line, tab-separated, no quoting
    .jsonl[.gz]   one JSON object a line

The files are named by path. A bare name such as "wordsim/men3k.tsv" is looked up in the data folder, which is the
environment variable WORDVEIL_DATA; nothing is downloaded. The data is public: messages may name a file and a line.

Read from them are scored pairs, labelled texts and texts with typed spans.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordveil.api import DataFormatError, ParameterError

DATA_VARIABLE = "WORDVEIL_DATA"


def data_folder() -> Path | None:
    """Return the folder named by WORDVEIL_DATA, or None."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def locate(name: str | os.PathLike[str]) -> Path:
    """Return the file of a path, or of a name inside the data folder."""
    folder = data_folder()
    for candidate in (Path(name), *([folder / name] if folder else [])):
        if candidate.is_file():
            return candidate
    raise ParameterError("data", str(name), f"must be a file, or a file inside the folder named by {DATA_VARIABLE}.")


def file_digest(name: str | os.PathLike[str], algorithm: str = "sha256") -> str:
    """Return the SHA-256 of a file's bytes, or another checksum: what a cached result depends on."""
    with locate(name).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def read_rows(name: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a .tsv or .jsonl[.gz] file as mappings that hold at least these columns."""
    path = locate(name)
    readers = {".tsv": _tsv, ".jsonl": _jsonl}
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in readers:
        raise DataFormatError(path, "must end in .tsv or .jsonl (and optionally .gz).")
    for line, row in readers[suffix](path):
        missing = [column for column in columns if column not in row]
        if missing:
            raise DataFormatError(path, f"lacks {', '.join(missing)}.", line=line)
        yield row


def _lines(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield line.rstrip("\n")


def _tsv(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    lines = (line.split("\t") for line in _lines(path))
    header = next(lines, [])
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            raise DataFormatError(path, f"has {len(cells)} cells where the header has {len(header)}.", line=number)
        yield number, dict(zip(header, cells, strict=True))


def _jsonl(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(_lines(path), start=1):
        try:
            row = json.loads(line)
        except ValueError:
            raise DataFormatError(path, "is not JSON.", line=number) from None
        if not isinstance(row, dict):
            raise DataFormatError(path, "must be a JSON object.", line=number)
        yield number, row


def thinned(items: list[Any], limit: int | None) -> list[Any]:
    """Return at most `limit` items, spread evenly over the list."""
    if limit is None or len(items) <= limit:
        return items
    return [items[(i * len(items)) // limit] for i in range(limit)]


class ScoredPair(NamedTuple):
    """Two texts or words and a human score."""

    first: str
    second: str
    score: float


class LabelledText(NamedTuple):
    """A text and its class."""

    text: str
    label: str


class Spans(NamedTuple):
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
    rows = read_rows(name, (*columns, label.partition(".")[0]))
    texts = [LabelledText(" ".join(str(row[part]) for part in columns), str(_nested(row, label))) for row in rows]
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
