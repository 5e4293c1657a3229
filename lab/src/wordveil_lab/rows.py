"""Small public files of rows in two plain formats: texts to learn from and to measure with, the caller's own or shared.

    .tsv          one header line, tab-separated, no quoting
    .jsonl[.gz]   one JSON object a line

The files are named by path. A bare name such as "wordsim/men3k.tsv" is looked up in the data folder, which is the
environment variable WORDVEIL_DATA; nothing is downloaded. The data is public: messages may name a file and a line.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
